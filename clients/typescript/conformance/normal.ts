/** What the library gives, in the suite's normal form. Members that are `undefined` are left out when it is written. */
import {
  type BatchEvent,
  type BatchSummary,
  type CallError,
  type CallResult,
  DeadlineExceeded,
  type JsonInput,
  Refused,
  type Step,
  Unavailable,
  type UsageRow,
} from "toolbatch";

export function normalEvent(event: BatchEvent): JsonInput {
  const { kind, batchId: batch_id, sequence } = event;
  return { kind, batch_id, sequence, ...members(event) };
}

function members(event: BatchEvent): { readonly [name: string]: JsonInput | undefined } {
  switch (event.kind) {
    case "batch_planned":
      return { calls: event.calls.map(normalPlan) };
    case "batch_started":
      return { task_id: event.taskId, agent_id: event.agentId, total: event.total, options: normalOptions(event.options) };
    case "call_started":
      return { index: event.index, tool: event.tool, key: event.key, step_id: event.stepId, attempt: event.attempt };
    case "call_retrying":
      return { index: event.index, step_id: event.stepId, attempt: event.attempt, error: normalError(event.error) };
    case "call_progress": {
      const { index, stepId: step_id, progress, total, message } = event;
      return { index, step_id, progress, total, message };
    }
    case "call_finished":
      return { result: normalResult(event.result) };
    case "batch_resumed":
      return { in_doubt: event.inDoubt };
    case "batch_finished":
      return { summary: normalSummary(event.summary) };
  }
}

type Planned = (BatchEvent & { kind: "batch_planned" })["calls"][number];

function normalPlan(call: Planned): JsonInput {
  return {
    index: call.index,
    tool: call.tool,
    base_tool: call.baseTool,
    backend: call.backend,
    key: call.key,
    lane: call.lane,
    skipped_step_id: call.skippedStepId,
    error: normalError(call.error),
  };
}

type Options = (BatchEvent & { kind: "batch_started" })["options"];

function normalOptions(options: Options): JsonInput {
  return {
    mode: options.mode,
    max_concurrency: options.maxConcurrency,
    serialize_on: options.serializeOn,
    stop_on_error: options.stopOnError,
    include_results: options.includeResults,
    in_doubt: options.inDoubt,
  };
}

export function normalSummary(summary: BatchSummary): JsonInput {
  return {
    status: summary.status,
    total: summary.total,
    succeeded: summary.succeeded,
    failed: summary.failed,
    skipped: summary.skipped,
    awaiting: summary.awaiting,
    not_run: summary.notRun,
    stop_reason: summary.stopReason,
    results: summary.results.map(normalResult),
  };
}

function normalResult(result: CallResult): JsonInput {
  return {
    index: result.index,
    tool: result.tool,
    key: result.key,
    status: result.status,
    step_id: result.stepId,
    result_json: result.resultJson,
    result_omitted: result.resultOmitted,
    error: normalError(result.error),
    await_id: result.awaitId,
    attempts: result.attempts,
    args_changed: result.argsChanged,
    value: result.value(),
  };
}

function normalError(error: CallError | undefined): JsonInput | undefined {
  if (error === undefined) return undefined;
  const { reason, message, outcomeUnknown: outcome_unknown, retryable, code } = error;
  return { reason, message, outcome_unknown, retryable, code };
}

export function normalStep(step: Step): JsonInput {
  const { argsJson, resultJson, resultBytes, status, attempts, error } = step;
  return {
    args_json: argsJson,
    result_json: resultJson,
    result_bytes: resultBytes,
    status,
    attempts,
    error: normalError(error),
  };
}

export function normalUsage({ tool, unit, quantity, costNanos, currency }: UsageRow): JsonInput {
  return { tool, unit, quantity, cost_nanos: costNanos.toString(), currency };
}

/** The end that one of the library's errors stands for; `undefined` for an error that is none of them. */
export function normalFailure(error: unknown): JsonInput | undefined {
  if (error instanceof DeadlineExceeded) return { deadline_exceeded: true };
  if (error instanceof Unavailable) return { unavailable: { message: error.message } };
  if (error instanceof Refused) {
    const { status, reason, message, violations } = error;
    return { refused: { status, reason, message, violations: violations.map((violation) => ({ ...violation })) } };
  }
  return undefined;
}
