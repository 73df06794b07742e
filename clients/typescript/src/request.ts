import { randomUUID } from "node:crypto";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import {
  BatchMode,
  type BatchOptionsSchema,
  type ExecuteBatchRequest,
  ExecuteBatchRequestSchema,
  InDoubtPolicy,
  type RetryPolicySchema,
  type ToolCallSchema,
} from "./gen/toolbatch/v1/batch_pb.js";
import { type JsonInput, writeJson } from "./json/index.js";

/** One call of a batch. Of {@link args} and {@link argsJson} at most one; without both the arguments are `{}`. */
export interface Call {
  /** The tool's name as it stands in the agent's tool list, 1 to 256 bytes. */
  readonly tool: string;
  /** The arguments, an object or a `Map` of {@link JsonInput}; written without loss. At most 1 MiB as JSON. */
  readonly args?: object | undefined;
  /** The arguments as JSON text, which reaches the tool byte for byte. At most 1 MiB. */
  readonly argsJson?: string | undefined;
  /** Stable identity, at most 512 bytes: a keyed call runs at most once per task. */
  readonly key?: string | undefined;
}

/** When and how often a failed attempt is repeated. */
export interface RetryOptions {
  /** 1 to 10, the first included. */
  readonly maxAttempts?: number | undefined;
  /** The wait before the second attempt in milliseconds, up to 10 min. Left out: 100. */
  readonly initialBackoffMs?: number | undefined;
  /** The longest wait in milliseconds, up to 10 min. Left out: 10,000. */
  readonly maxBackoffMs?: number | undefined;
  /** How each wait grows from the one before, 1 to 10. Left out: 2. */
  readonly backoffMultiplier?: number | undefined;
}

/** What to run, and how. What is left out is not sent: its default is the server's. */
export interface Batch {
  /** The task that the batch belongs to: the scope of keys and variables. 1 to 256 bytes. */
  readonly taskId: string;
  /** Makes the request repeatable, at most 128 bytes. Left out: a UUID, the same over all attempts of this request. */
  readonly batchId?: string | undefined;
  /** The agent that it acts for, where an operator asks. */
  readonly agentId?: string | undefined;
  /** The list, 1 to 200 calls in the order to run them. Either this or {@link callsRef}. */
  readonly calls?: readonly Call[] | undefined;
  /** A reference to a list that the task holds, such as `${VAR_1}.calls`. */
  readonly callsRef?: string | undefined;
  /** One call after another (the default), or side by side. */
  readonly mode?: "sequential" | "parallel" | undefined;
  /** In parallel: calls running at once, 1 to 16. */
  readonly maxConcurrency?: number | undefined;
  /** In parallel: the path into the args by which calls form lanes, `order.contract` or `/order/contract`. */
  readonly serializeOn?: string | undefined;
  /** No call starts after the first failure (the default). */
  readonly stopOnError?: boolean | undefined;
  /** Results under 4 KiB stand in events and summary (the default). */
  readonly includeResults?: boolean | undefined;
  /** Bound on one attempt of one call in milliseconds, up to 24 h. */
  readonly callTimeoutMs?: number | undefined;
  /** When a failed attempt is repeated. Left out: never. */
  readonly retry?: RetryOptions | undefined;
  /** What becomes of a call whose outcome an interruption left unknown. Left out: it runs again. */
  readonly inDoubt?: "rerun" | "lookup" | "fail" | undefined;
  /** Only check the request and stream the plan as one `batch_planned` event; nothing runs. */
  readonly validateOnly?: boolean | undefined;
}

const MODES = { sequential: BatchMode.SEQUENTIAL, parallel: BatchMode.PARALLEL };
const POLICIES = { rerun: InDoubtPolicy.RERUN, lookup: InDoubtPolicy.LOOKUP, fail: InDoubtPolicy.FAIL };

/**
 * Makes the request of a batch.
 *
 * @throws TypeError or RangeError for what cannot be sent at all; whatever else breaks a rule is the server's to refuse.
 */
export function executeBatchRequest(batch: Batch): ExecuteBatchRequest {
  const options = optionsOf(batch);
  return create(ExecuteBatchRequestSchema, {
    taskId: sendable("taskId", batch.taskId),
    batchId: sendable("batchId", batch.batchId || randomUUID()),
    agentId: sendable("agentId", batch.agentId ?? ""),
    source: sourceOf(batch),
    ...(Object.keys(options).length > 0 && { options }),
    validateOnly: batch.validateOnly ?? false,
  });
}

function sourceOf({ calls, callsRef }: Batch): MessageInitShape<typeof ExecuteBatchRequestSchema>["source"] & object {
  if (calls !== undefined && callsRef !== undefined) {
    throw new TypeError("expected calls or callsRef, found both; leave one out");
  }
  if (callsRef !== undefined) return { case: "callsRef", value: sendable("callsRef", callsRef) };
  if (calls === undefined) return { case: undefined };
  return { case: "callList", value: { calls: calls.map(toolCall) } };
}

function toolCall(call: Call, index: number): MessageInitShape<typeof ToolCallSchema> {
  const place = `calls[${index}]`;
  return {
    tool: sendable(`${place}.tool`, call.tool),
    argsJson: argsText(`${place}.args`, call),
    key: sendable(`${place}.key`, call.key ?? ""),
  };
}

/** The text of args that are given as a value or as text. */
export function argsText(place: string, { args, argsJson }: Pick<Call, "args" | "argsJson">): string {
  if (args !== undefined && argsJson !== undefined) {
    throw new TypeError(`expected ${place} as a value or as text (argsJson), found both; leave one out`);
  }
  if (args === undefined) return sendable(`${place}Json`, argsJson ?? "");
  try {
    return sendable(place, writeJson(args as JsonInput));
  } catch (error) {
    throw new TypeError(`${place}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

function optionsOf(batch: Batch): MessageInitShape<typeof BatchOptionsSchema> & object {
  const { maxConcurrency, serializeOn, stopOnError, includeResults, callTimeoutMs, retry } = batch;
  return {
    ...(batch.mode !== undefined && { mode: oneOf("mode", MODES, batch.mode) }),
    ...(maxConcurrency !== undefined && { maxConcurrency: count("maxConcurrency", maxConcurrency) }),
    ...(serializeOn !== undefined && { serializeOn: sendable("serializeOn", serializeOn) }),
    ...(stopOnError !== undefined && { stopOnError }),
    ...(includeResults !== undefined && { includeResults }),
    ...(callTimeoutMs !== undefined && { callTimeout: duration("callTimeoutMs", callTimeoutMs) }),
    ...(retry !== undefined && { retry: retryPolicy(retry) }),
    ...(batch.inDoubt !== undefined && { inDoubt: oneOf("inDoubt", POLICIES, batch.inDoubt) }),
  };
}

function retryPolicy(retry: RetryOptions): MessageInitShape<typeof RetryPolicySchema> & object {
  const { maxAttempts, initialBackoffMs, maxBackoffMs, backoffMultiplier } = retry;
  return {
    ...(maxAttempts !== undefined && { maxAttempts: count("retry.maxAttempts", maxAttempts) }),
    ...(initialBackoffMs !== undefined && { initialBackoff: duration("retry.initialBackoffMs", initialBackoffMs) }),
    ...(maxBackoffMs !== undefined && { maxBackoff: duration("retry.maxBackoffMs", maxBackoffMs) }),
    ...(backoffMultiplier !== undefined && { backoffMultiplier }),
  };
}

function oneOf<Values extends object>(field: string, values: Values, name: keyof Values & string): Values[keyof Values] {
  if (!Object.hasOwn(values, name)) {
    throw new TypeError(`expected ${field} as one of ${Object.keys(values).join(", ")}, found ${JSON.stringify(name)}`);
  }
  return values[name];
}

function count(field: string, value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) {
    throw new RangeError(`expected ${field} as a whole number from 0 to 4294967295, found ${value}`);
  }
  return value;
}

/** A time as the contract has it; its bounds are the server's. */
export function duration(field: string, ms: number): Duration {
  if (!Number.isFinite(ms) || Math.abs(ms) > Number.MAX_SAFE_INTEGER / 1000) {
    throw new RangeError(`expected ${field} as a number of milliseconds, found ${ms}`);
  }
  return create(DurationSchema, { seconds: BigInt(Math.trunc(ms / 1000)), nanos: Math.trunc((ms % 1000) * 1_000_000) });
}

/** A text that arrives as it is: half a surrogate pair has no UTF-8, and would arrive as another character. */
export function sendable(field: string, text: string): string {
  if (typeof text !== "string") throw new TypeError(`expected ${field} as text, found ${typeof text}`);
  if (!text.isWellFormed()) {
    throw new TypeError(`${field} holds half of a surrogate pair, which is no character; send whole characters`);
  }
  return text;
}
