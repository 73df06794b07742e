import type { CallContext } from "../gen/toolbatch/v1/tool_pb.js";
import type { JsonNumber } from "../json/index.js";
import { present } from "../results.js";

/** How far a call is, as its tool tells. */
export interface Progress {
  readonly progress: number;
  readonly total: number;
  readonly message: string;
}

/** What is asked of a tool's function, beside the args. */
export interface CallOrigin {
  readonly call: CallContext;
  readonly argsJson: string;
  readonly headers: { get(name: string): string | null };
  readonly signal: AbortSignal;
}

/** Where a call belongs, and what its function can tell while it runs. */
export class ToolContext {
  /** The task: the scope of keys and variables. */
  readonly taskId: string;
  /** The agent that the call is made for. */
  readonly agentId: string;
  /** The call's key in its task, where it has one. */
  readonly key: string | undefined;
  /** The batch, where it is not a direct step. */
  readonly batchId: string | undefined;
  /** The step that records the call. */
  readonly stepId: string;
  /** The call's place in its batch, from 0. */
  readonly index: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** The same for every attempt of one logical call: a tool that keeps it never acts twice. */
  readonly idempotencyKey: string;
  /** An earlier attempt was cut off: it may have taken effect. */
  readonly inDoubt: boolean;
  /** The arguments as JSON text, byte for byte as the client wrote them. */
  readonly argsJson: string;
  /** Aborted when nobody waits for the answer any more: the call's timeout, a cancelled batch, the end of the grace period. */
  readonly signal: AbortSignal;
  readonly #headers: CallOrigin["headers"];
  readonly #usage = new Map<string, number>();
  readonly #report: (progress: Progress) => void;

  constructor(origin: CallOrigin, report: (progress: Progress) => void) {
    const { call } = origin;
    this.taskId = call.taskId;
    this.agentId = call.agentId;
    this.key = present(call.key);
    this.batchId = present(call.batchId);
    this.stepId = call.stepId;
    this.index = call.index;
    this.attempt = call.attempt;
    this.idempotencyKey = call.idempotencyKey;
    this.inDoubt = call.inDoubt;
    this.argsJson = origin.argsJson;
    this.signal = origin.signal;
    this.#headers = origin.headers;
    this.#report = report;
  }

  /** A value of the call's metadata, such as `traceparent` or a credential. */
  metadata(name: string): string | undefined {
    return this.#headers.get(name) ?? undefined;
  }

  /**
   * Tells how far the call is. Heard only from a tool that is declared with `reportsProgress`.
   *
   * @param progress how much is done, in the tool's own unit.
   * @param total how much there is to do; 0: not known.
   * @param message for people.
   */
  progress(progress: number | bigint | JsonNumber, total: number | bigint | JsonNumber = 0, message = ""): void {
    this.#report({ progress: Number(progress), total: Number(total), message });
  }

  /**
   * Adds to what the call used. A call that adds nothing counts as one unit of `calls`.
   *
   * @param unit such as `pages` or `tokens`.
   * @throws RangeError for a quantity that is not finite or below 0.
   */
  usage(unit: string, quantity: number | bigint | JsonNumber): void {
    const number = Number(quantity);
    if (!Number.isFinite(number) || number < 0) {
      throw new RangeError(`expected the quantity of ${JSON.stringify(unit)} as a finite number from 0, found ${quantity}`);
    }
    this.#usage.set(unit, (this.#usage.get(unit) ?? 0) + number);
  }

  /** What was used so far, by unit. */
  get used(): ReadonlyMap<string, number> {
    return this.#usage;
  }
}
