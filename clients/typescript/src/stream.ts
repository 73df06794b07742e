import type { CallOptions } from "@connectrpc/connect";
import { Attempts, type Bounds, type RequestOptions } from "./attempts.js";
import { type BatchEvent, batchEvent } from "./events.js";
import type * as proto from "./gen/toolbatch/v1/batch_pb.js";

/** What a stream reads: an RPC that gives messages with events. */
export interface Source {
  readonly batchId: string;
  /** The last sequence that the caller has. */
  readonly afterSequence: number;
  /** The stream has no more than a plan: one event, which is not recorded. */
  readonly planOnly: boolean;
  /** Asks for what comes after a sequence. */
  open(afterSequence: number, options: CallOptions): AsyncIterable<{ event?: proto.BatchEvent | undefined }>;
}

/**
 * A batch's events, each once, with every interruption bridged. It asks for nothing before the first event is; leaving the loop (`break`,
 * `return()`) ends the stream at once and leaves the batch running.
 */
export class BatchStream implements AsyncIterableIterator<BatchEvent> {
  /** The batch's id, known before it is started. */
  readonly batchId: string;
  readonly #source: Source;
  readonly #options: RequestOptions;
  readonly #bounds: Bounds;
  #attempts: Attempts | undefined;
  #lastSequence: number;
  #events: AsyncGenerator<BatchEvent, void, undefined> | undefined;

  /** Made by {@link Client.run} and {@link Client.watch}. */
  constructor(source: Source, options: RequestOptions, bounds: Bounds) {
    this.batchId = source.batchId;
    this.#source = source;
    this.#options = options;
    this.#bounds = bounds;
    this.#lastSequence = source.afterSequence;
  }

  /** The sequence of the last event that was given out; to go on from with {@link Client.watch}. */
  get lastSequence(): number {
    return this.#lastSequence;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * The next event.
   *
   * @throws {Refused} where the server refuses the request, {@link Unavailable} where it stayed away for too long,
   * {@link DeadlineExceeded} where `timeoutMs` is over, and the signal's reason where the caller cancels.
   */
  async next(): Promise<IteratorResult<BatchEvent, undefined>> {
    this.#events ??= this.#follow(this.#begin());
    return (await this.#events.next()) as IteratorResult<BatchEvent, undefined>;
  }

  /** Ends the stream at once, also while an event is waited for. The batch goes on. */
  async return(): Promise<IteratorResult<BatchEvent, undefined>> {
    this.#begin().end();
    this.#events ??= this.#follow(this.#begin());
    await this.#events.return();
    return { done: true, value: undefined };
  }

  #begin(): Attempts {
    this.#attempts ??= new Attempts(this.#options, this.#bounds);
    return this.#attempts;
  }

  async *#follow(attempts: Attempts): AsyncGenerator<BatchEvent, void, undefined> {
    for (;;) {
      let cause: unknown;
      try {
        if (yield* this.#attempt(attempts)) return;
      } catch (error) {
        cause = error;
      }
      if (attempts.isEnded) return;
      try {
        await attempts.again(cause, { batchId: this.batchId, lastSequence: this.#lastSequence });
      } catch (error) {
        if (attempts.isEnded) return;
        throw error;
      }
    }
  }

  /** One stream of the server's. True: it came to its end; false: it has to be asked for again. */
  async *#attempt(attempts: Attempts): AsyncGenerator<BatchEvent, boolean, undefined> {
    let isEmpty = true;
    for await (const { event } of attempts.stream((options) => this.#source.open(this.#lastSequence, options))) {
      isEmpty = false;
      if (event === undefined) continue;
      const sequence = Number(event.sequence);
      if (sequence !== 0 && sequence <= this.#lastSequence) continue;
      if (sequence > this.#lastSequence + 1) return false;
      attempts.succeeded();
      this.#lastSequence = Math.max(this.#lastSequence, sequence);
      const known = batchEvent(event);
      if (known === undefined) continue;
      yield known;
      if (known.kind === "batch_finished" || (this.#source.planOnly && known.kind === "batch_planned")) return true;
    }
    // A batch that is over has nothing to send to who begins after its last event; any other stream that just ends was cut.
    const { afterSequence } = this.#source;
    return isEmpty && afterSequence > 0 && this.#lastSequence === afterSequence;
  }
}
