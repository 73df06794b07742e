import type { Batch, Call, ClientOptions, JsonObject, JsonValue, RetryOptions } from "toolbatch";
import type { OpenAiToolCall, ToolUseBlock } from "toolbatch/llm";

/** One request of the driver. */
export interface Request {
  readonly do: string;
  readonly server: string;
  readonly token?: string;
  readonly ca?: string;
  readonly give_up_after_ms?: number;
  readonly deadline_ms?: number;
  readonly stop?: { readonly after: JsonObject; readonly how: "leave" | "cancel" };
  readonly batch: AskedBatch;
  readonly batch_id: string;
  readonly after_sequence?: number;
  readonly abort_running?: boolean;
  readonly task_id: string;
  readonly name?: string;
  readonly value_json: string;
  readonly step_id: string;
  readonly format: "anthropic" | "openai";
  readonly call: ToolUseBlock | OpenAiToolCall;
}

interface AskedBatch {
  readonly task_id?: string;
  readonly batch_id?: string;
  readonly agent_id?: string;
  readonly calls?: readonly AskedCall[];
  readonly calls_ref?: string;
  readonly mode?: "sequential" | "parallel";
  readonly max_concurrency?: number;
  readonly serialize_on?: string;
  readonly stop_on_error?: boolean;
  readonly include_results?: boolean;
  readonly call_timeout_ms?: number;
  readonly retry?: AskedRetry;
  readonly in_doubt?: "rerun" | "lookup" | "fail";
  readonly validate_only?: boolean;
}

interface AskedCall {
  readonly tool?: string;
  readonly key?: string;
  readonly args_json?: string;
  readonly args?: { readonly [name: string]: JsonValue };
}

interface AskedRetry {
  readonly max_attempts?: number;
  readonly initial_backoff_ms?: number;
  readonly max_backoff_ms?: number;
  readonly backoff_multiplier?: number;
}

/** How the request's client connects. */
export function clientOptions({ server, token, ca, give_up_after_ms }: Request): ClientOptions {
  return { server, token, ca, giveUpAfterMs: give_up_after_ms };
}

/** The batch as the library takes it; what the request leaves out stays so. */
export function batchOf(asked: AskedBatch): Batch {
  return {
    taskId: asked.task_id ?? "",
    batchId: asked.batch_id,
    agentId: asked.agent_id,
    calls: asked.calls?.map(callOf),
    callsRef: asked.calls_ref,
    mode: asked.mode,
    maxConcurrency: asked.max_concurrency,
    serializeOn: asked.serialize_on,
    stopOnError: asked.stop_on_error,
    includeResults: asked.include_results,
    callTimeoutMs: asked.call_timeout_ms,
    retry: asked.retry && retryOf(asked.retry),
    inDoubt: asked.in_doubt,
    validateOnly: asked.validate_only,
  };
}

function callOf({ tool = "", key, args_json, args }: AskedCall): Call {
  return { tool, key, argsJson: args_json, args };
}

function retryOf(asked: AskedRetry): RetryOptions {
  return {
    maxAttempts: asked.max_attempts,
    initialBackoffMs: asked.initial_backoff_ms,
    maxBackoffMs: asked.max_backoff_ms,
    backoffMultiplier: asked.backoff_multiplier,
  };
}
