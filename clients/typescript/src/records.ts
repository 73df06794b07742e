import { create } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Unavailable } from "./errors.js";
import { type EffectiveOptions, effective } from "./events.js";
import { BatchSummarySchema, type Batch as RawBatch } from "./gen/toolbatch/v1/batch_pb.js";
import type { Step as RawStep, UsageRow as RawUsageRow } from "./gen/toolbatch/v1/task_pb.js";
import type { CallToolResponse, Tool as RawTool } from "./gen/toolbatch/v1/tool_pb.js";
import { type JsonValue, parseJson } from "./json/index.js";
import { type CallStatusName, callStatusName } from "./names.js";
import { type BatchSummary, batchSummary, type CallError, callError, present } from "./results.js";

/** A batch and its state. */
export interface BatchState {
  readonly batchId: string;
  readonly taskId: string;
  readonly agentId: string | undefined;
  readonly options: EffectiveOptions;
  readonly startTime: Date | undefined;
  /** Missing while it runs. */
  readonly endTime: Date | undefined;
  readonly summary: BatchSummary;
  /** The sequence of its newest event. */
  readonly lastSequence: number;
}

export function batchState(raw: RawBatch): BatchState {
  return {
    batchId: raw.batchId,
    taskId: raw.taskId,
    agentId: present(raw.agentId),
    options: effective(raw.options),
    startTime: raw.startTime && timestampDate(raw.startTime),
    endTime: raw.endTime && timestampDate(raw.endTime),
    summary: batchSummary(raw.summary ?? create(BatchSummarySchema)),
    lastSequence: Number(raw.lastSequence),
  };
}

/** What one step used of one unit. */
export interface UsageRow {
  readonly stepId: string;
  readonly tool: string;
  /** Such as `pages`; `calls` where the tool reports none. */
  readonly unit: string;
  readonly quantity: number;
  /** Thousand-millionths of the currency, exactly; 0 where the unit has no price. */
  readonly costNanos: bigint;
  /** Such as `USD`, where the unit has a price. */
  readonly currency: string | undefined;
}

export function usageRow(raw: RawUsageRow): UsageRow {
  const { stepId, tool, unit, quantity, costNanos, currency } = raw;
  return { stepId, tool, unit, quantity, costNanos, currency: present(currency) };
}

/** The record of one call, of a direct step or of a batch. */
export class Step {
  readonly stepId: string;
  /** The batch's id for a batched call. */
  readonly parentStepId: string | undefined;
  readonly taskId: string;
  readonly agentId: string | undefined;
  readonly tool: string;
  readonly baseTool: string | undefined;
  readonly backend: string | undefined;
  readonly key: string | undefined;
  readonly index: number;
  readonly status: CallStatusName | undefined;
  readonly attempts: number;
  /** The arguments, byte for byte. Missing in lists. */
  readonly argsJson: string | undefined;
  /** The result, byte for byte, up to 1 MiB; `client.stepResult` reads any. Missing in lists. */
  readonly resultJson: string | undefined;
  /** How many bytes the result's text has; 0: there is none. */
  readonly resultBytes: number;
  readonly error: CallError | undefined;
  readonly awaitId: string | undefined;
  readonly startTime: Date | undefined;
  readonly endTime: Date | undefined;
  readonly usage: readonly UsageRow[];
  readonly traceId: string | undefined;

  constructor(raw: RawStep) {
    this.stepId = raw.stepId;
    this.parentStepId = present(raw.parentStepId);
    this.taskId = raw.taskId;
    this.agentId = present(raw.agentId);
    this.tool = raw.tool;
    this.baseTool = present(raw.baseTool);
    this.backend = present(raw.backend);
    this.key = present(raw.key);
    this.index = raw.index;
    this.status = callStatusName(raw.status);
    this.attempts = raw.attempts;
    this.argsJson = present(raw.argsJson);
    this.resultJson = present(raw.resultJson);
    this.resultBytes = Number(raw.resultBytes);
    this.error = raw.error && callError(raw.error);
    this.awaitId = present(raw.awaitId);
    this.startTime = raw.startTime && timestampDate(raw.startTime);
    this.endTime = raw.endTime && timestampDate(raw.endTime);
    this.usage = raw.usage.map(usageRow);
    this.traceId = present(raw.traceId);
  }

  /** The result as a native value, parsed without loss; `undefined` where it is not here. */
  value(): JsonValue | undefined {
    return this.resultJson === undefined ? undefined : parseJson(this.resultJson);
  }
}

/** A tool of an agent's list. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, as text. Missing: any object. */
  readonly inputSchemaJson: string | undefined;
  /** It can stop an agent or wait for somebody, so no batch may call it. */
  readonly pauses: boolean;
}

export function tool(raw: RawTool): Tool {
  const { name, description, inputSchemaJson, pauses } = raw;
  return { name, description, inputSchemaJson: present(inputSchemaJson), pauses };
}

/** How a direct step went. */
export type ToolOutcome = {
  /** The step that records it. */
  readonly stepId: string | undefined;
  /** The variable that holds the result. */
  readonly variable: string | undefined;
  /** The key was completed before, and this is that call's outcome. */
  readonly skipped: boolean;
} & (
  | { readonly kind: "completed"; readonly resultJson: string }
  /** The result is over 3 MiB: `client.stepResult(stepId)` reads it. */
  | { readonly kind: "omitted" }
  | { readonly kind: "awaiting"; readonly awaitId: string; readonly resultJson: string }
  | {
      readonly kind: "failed";
      readonly message: string;
      readonly code: string | undefined;
      readonly retryable: boolean;
      readonly outcomeUnknown: boolean;
    }
);

export function toolOutcome(raw: CallToolResponse): ToolOutcome {
  const common = { stepId: present(raw.stepId), variable: present(raw.variable), skipped: raw.skipped };
  switch (raw.outcome.case) {
    case "failure": {
      const { message, code, retryable } = raw.outcome.value;
      return { ...common, kind: "failed", message, code: present(code), retryable, outcomeUnknown: raw.outcomeUnknown };
    }
    case "awaiting": {
      const { awaitId, resultJson } = raw.outcome.value;
      return { ...common, kind: "awaiting", awaitId, resultJson: resultJson || "null" };
    }
    case "resultJson":
      if (raw.resultOmitted) return { ...common, kind: "omitted" };
      return { ...common, kind: "completed", resultJson: raw.outcome.value || "null" };
    case undefined:
      if (raw.resultOmitted) return { ...common, kind: "omitted" };
      throw new Unavailable("the server's answer has no outcome that is known here; what became of the call is unknown");
  }
}
