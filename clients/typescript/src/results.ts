import { durationMs } from "@bufbuild/protobuf/wkt";
import type * as proto from "./gen/toolbatch/v1/batch_pb.js";
import { type JsonValue, parseJson } from "./json/index.js";
import {
  type BatchStatusName,
  batchStatusName,
  type CallErrorReasonName,
  type CallStatusName,
  callErrorReasonName,
  callStatusName,
  type StopReasonName,
  stopReasonName,
} from "./names.js";

/** Why a call failed. */
export interface CallError {
  readonly reason: CallErrorReasonName | undefined;
  /** For people and models; cut at 2 KiB in events. */
  readonly message: string;
  /** The call may have taken effect all the same. */
  readonly outcomeUnknown: boolean;
  /** A repeat can succeed, and this attempt changed nothing. */
  readonly retryable: boolean;
  /** The tool's own code, where it gave one. */
  readonly code: string | undefined;
}

/** What became of one call. */
export class CallResult {
  /** The call's place in the list, from 0. */
  readonly index: number;
  readonly tool: string;
  readonly key: string | undefined;
  readonly status: CallStatusName | undefined;
  /** The step that holds the full record. Missing for a call that was not run. */
  readonly stepId: string | undefined;
  /** From the first attempt to the end, in milliseconds. */
  readonly durationMs: number | undefined;
  /** The result as JSON text, byte for byte, where it is inlined: under 4 KiB. */
  readonly resultJson: string | undefined;
  /** There is a result that is not inlined: `client.stepResult(stepId)` reads it. */
  readonly resultOmitted: boolean;
  /** Set on a failed call. */
  readonly error: CallError | undefined;
  /** Names the review that an awaiting call waits for. */
  readonly awaitId: string | undefined;
  /** How often the call was sent. */
  readonly attempts: number;
  /** A skipped call whose tool or args differ from those that the key ran with. */
  readonly argsChanged: boolean;
  /** The message as it came. */
  readonly raw: proto.CallResult;

  constructor(raw: proto.CallResult) {
    this.index = raw.index;
    this.tool = raw.tool;
    this.key = present(raw.key);
    this.status = callStatusName(raw.status);
    this.stepId = present(raw.stepId);
    this.durationMs = raw.duration && durationMs(raw.duration);
    this.resultJson = present(raw.resultJson);
    this.resultOmitted = raw.resultOmitted;
    this.error = raw.error && callError(raw.error);
    this.awaitId = present(raw.awaitId);
    this.attempts = raw.attempts;
    this.argsChanged = raw.argsChanged;
    this.raw = raw;
    Object.defineProperty(this, "raw", { enumerable: false });
  }

  /** The result as a native value, parsed without loss; `undefined` where none is inlined. `JSON.parse(resultJson)` gives plain numbers. */
  value(): JsonValue | undefined {
    return this.resultJson === undefined ? undefined : parseJson(this.resultJson);
  }
}

/** How a batch went, or goes. */
export interface BatchSummary {
  readonly status: BatchStatusName | undefined;
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
  readonly awaiting: number;
  readonly notRun: number;
  /** Why calls were left out, where one was. */
  readonly stopReason: StopReasonName | undefined;
  /** One entry per call, by index; while the batch runs, those that are known. */
  readonly results: readonly CallResult[];
}

/** A text that may be missing: the contract sends an empty one then. */
export function present(text: string): string | undefined {
  return text === "" ? undefined : text;
}

export function callError(raw: proto.CallError): CallError {
  return {
    reason: callErrorReasonName(raw.reason),
    message: raw.message,
    outcomeUnknown: raw.outcomeUnknown,
    retryable: raw.retryable,
    code: present(raw.code),
  };
}

export function batchSummary(raw: proto.BatchSummary): BatchSummary {
  return {
    status: batchStatusName(raw.status),
    total: raw.total,
    succeeded: raw.succeeded,
    failed: raw.failed,
    skipped: raw.skipped,
    awaiting: raw.awaiting,
    notRun: raw.notRun,
    stopReason: stopReasonName(raw.stopReason),
    results: raw.results.map((result) => new CallResult(result)),
  };
}
