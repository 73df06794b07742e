/**
 * Client of toolbatch: run batches of tool calls as one durable step, and serve tools to it.
 *
 * @module
 */
export type { RequestOptions } from "./attempts.js";
export * from "./backend/index.js";
export { Client, type ClientOptions, type DirectCall } from "./client.js";
export type { ConnectOptions } from "./connect.js";
export {
  DeadlineExceeded,
  type Refusal,
  Refused,
  type Standing,
  ToolbatchError,
  Unavailable,
  type Violation,
} from "./errors.js";
export type * from "./events.js";
export * from "./json/index.js";
export type {
  BatchModeName,
  BatchStatusName,
  CallErrorReasonName,
  CallStatusName,
  InDoubtPolicyName,
  StopReasonName,
} from "./names.js";
export type { BatchState, Step, Tool, ToolOutcome, UsageRow } from "./records.js";
export type { Batch, Call, RetryOptions } from "./request.js";
export type { BatchSummary, CallError, CallResult } from "./results.js";
export type { BatchStream } from "./stream.js";
