import { create } from "@bufbuild/protobuf";
import { durationMs, type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import * as proto from "./gen/toolbatch/v1/batch_pb.js";
import { type BatchModeName, batchModeName, type InDoubtPolicyName, inDoubtPolicyName } from "./names.js";
import { type BatchSummary, batchSummary, type CallError, CallResult, callError, present } from "./results.js";

/** What every event has. */
interface EventBase<Kind extends string> {
  readonly kind: Kind;
  readonly batchId: string;
  /** 1 for the batch's first event, then without gaps; 0 on `call_progress` and `batch_planned`, which are not recorded. */
  readonly sequence: number;
  /** When it was recorded, by the server's clock. */
  readonly time: Date | undefined;
  /** The message as it came. */
  readonly raw: proto.BatchEvent;
}

/** The options in force. */
export interface EffectiveOptions {
  readonly mode: BatchModeName | undefined;
  readonly maxConcurrency: number;
  readonly serializeOn: string | undefined;
  readonly stopOnError: boolean;
  readonly includeResults: boolean;
  readonly callTimeoutMs: number | undefined;
  readonly inDoubt: InDoubtPolicyName | undefined;
}

/** What one call would do. */
export interface PlannedCall {
  readonly index: number;
  readonly tool: string;
  readonly baseTool: string | undefined;
  readonly backend: string | undefined;
  readonly key: string | undefined;
  readonly lane: string | undefined;
  /** The step that completed the key already. */
  readonly skippedStepId: string | undefined;
  /** Set where the call would fail before it reaches a tool. */
  readonly error: CallError | undefined;
}

/** The answer to `validateOnly`, and the only event then. */
export interface BatchPlanned extends EventBase<"batch_planned"> {
  readonly calls: readonly PlannedCall[];
}

/** The batch was accepted: from here on it runs to its end, whatever becomes of the client. */
export interface BatchStarted extends EventBase<"batch_started"> {
  readonly taskId: string;
  readonly agentId: string | undefined;
  readonly total: number;
  readonly options: EffectiveOptions;
}

/** An attempt of a call is about to leave. */
export interface CallStarted extends EventBase<"call_started"> {
  readonly index: number;
  readonly tool: string;
  readonly key: string | undefined;
  readonly stepId: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** An attempt failed and will be repeated. */
export interface CallRetrying extends EventBase<"call_retrying"> {
  readonly index: number;
  readonly stepId: string;
  readonly attempt: number;
  readonly error: CallError | undefined;
  /** When the next attempt is due. */
  readonly retryTime: Date | undefined;
}

/** How far a running call is. Live only: some may be left out. */
export interface CallProgress extends EventBase<"call_progress"> {
  readonly index: number;
  readonly stepId: string;
  /** How much is done, in the tool's own unit. */
  readonly progress: number;
  /** How much there is to do; 0: not known. */
  readonly total: number;
  readonly message: string | undefined;
}

/** A call has come to its end and never runs again in this batch. */
export interface CallFinished extends EventBase<"call_finished"> {
  readonly result: CallResult;
}

/** A server that restarted took the batch up again. */
export interface BatchResumed extends EventBase<"batch_resumed"> {
  /** Calls that were in flight at the interruption. */
  readonly inDoubt: readonly number[];
}

/** The batch is over; always the last event. */
export interface BatchFinished extends EventBase<"batch_finished"> {
  readonly summary: BatchSummary;
}

/** One entry of a batch's log; `kind` tells which. */
export type BatchEvent =
  | BatchPlanned
  | BatchStarted
  | CallStarted
  | CallRetrying
  | CallProgress
  | CallFinished
  | BatchResumed
  | BatchFinished;

/** The event of a message; `undefined` for a kind that this version of the package does not know. */
export function batchEvent(raw: proto.BatchEvent): BatchEvent | undefined {
  const event = read(raw);
  // What is shown or written as JSON is the event, not the message beside it.
  return event && Object.defineProperty(event, "raw", { enumerable: false });
}

function read(raw: proto.BatchEvent): BatchEvent | undefined {
  const event = raw.event;
  switch (event.case) {
    case "batchPlanned":
      return { ...base("batch_planned", raw), calls: event.value.calls.map(plannedCall) };
    case "batchStarted": {
      const { taskId, agentId, total, options } = event.value;
      return { ...base("batch_started", raw), taskId, agentId: present(agentId), total, options: effective(options) };
    }
    case "callStarted": {
      const { index, tool, key, stepId, attempt } = event.value;
      return { ...base("call_started", raw), index, tool, key: present(key), stepId, attempt };
    }
    case "callRetrying": {
      const { index, stepId, attempt, error, retryTime } = event.value;
      const details = { error: error && callError(error), retryTime: date(retryTime) };
      return { ...base("call_retrying", raw), index, stepId, attempt, ...details };
    }
    case "callProgress": {
      const { index, stepId, progress, total, message } = event.value;
      return { ...base("call_progress", raw), index, stepId, progress, total, message: present(message) };
    }
    case "callFinished":
      return {
        ...base("call_finished", raw),
        result: new CallResult(event.value.result ?? create(proto.CallResultSchema)),
      };
    case "batchResumed":
      return { ...base("batch_resumed", raw), inDoubt: event.value.inDoubt };
    case "batchFinished":
      return {
        ...base("batch_finished", raw),
        summary: batchSummary(event.value.summary ?? create(proto.BatchSummarySchema)),
      };
    default:
      return undefined;
  }
}

function base<Kind extends string>(kind: Kind, raw: proto.BatchEvent): EventBase<Kind> {
  return { kind, batchId: raw.batchId, sequence: Number(raw.sequence), time: date(raw.time), raw };
}

function date(time: Timestamp | undefined): Date | undefined {
  return time && timestampDate(time);
}

function plannedCall(raw: proto.PlannedCall): PlannedCall {
  return {
    index: raw.index,
    tool: raw.tool,
    baseTool: present(raw.baseTool),
    backend: present(raw.backend),
    key: present(raw.key),
    lane: present(raw.lane),
    skippedStepId: present(raw.skippedStepId),
    error: raw.error && callError(raw.error),
  };
}

/** The options in force, as the server filled them in. */
export function effective(options: proto.BatchOptions | undefined): EffectiveOptions {
  const raw = options ?? create(proto.BatchOptionsSchema);
  return {
    mode: batchModeName(raw.mode),
    maxConcurrency: raw.maxConcurrency,
    serializeOn: present(raw.serializeOn),
    stopOnError: raw.stopOnError ?? true,
    includeResults: raw.includeResults ?? true,
    callTimeoutMs: raw.callTimeout && durationMs(raw.callTimeout),
    inDoubt: inDoubtPolicyName(raw.inDoubt),
  };
}
