import type { RequestOptions } from "../attempts.js";
import type { Client } from "../client.js";
import { type JsonInput, rawJson, writeJson } from "../json/index.js";
import type { ToolOutcome } from "../records.js";
import { Deadline } from "../retry.js";

/** A model's tool call in Anthropic's Messages API: a block of type `tool_use`. */
export interface ToolUseBlock {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** What answers a {@link ToolUseBlock}. */
export interface ToolResultBlock {
  type: "tool_result";
  tool_use_id: string;
  content: string;
  is_error?: true;
}

/** A model's tool call in OpenAI's chat completions: an entry of `tool_calls`. */
export interface OpenAiToolCall {
  readonly type: "function";
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** What answers an {@link OpenAiToolCall}. */
export interface OpenAiToolMessage {
  role: "tool";
  tool_call_id: string;
  content: string;
}

/** Where a model's tool calls belong. */
export interface ToolCallOptions extends RequestOptions {
  /** The task that the call is a step of. */
  readonly taskId: string;
  /** The agent that it is made for, where an operator asks. */
  readonly agentId?: string | undefined;
}

/** Runs a `tool_use` block and gives the `tool_result` block that answers it. */
export async function toolCall(client: Client, call: ToolUseBlock, options: ToolCallOptions): Promise<ToolResultBlock>;
/** Runs an entry of `tool_calls` and gives the message of role `tool` that answers it. */
export async function toolCall(client: Client, call: OpenAiToolCall, options: ToolCallOptions): Promise<OpenAiToolMessage>;
/**
 * Runs a model's tool call as a direct step of a task, under the call's id as its key: repeated after a lost answer it finds what it did, and
 * runs nothing twice. The failure of a tool is an answer, and is told to the model.
 *
 * @throws TypeError for a call that is neither; {@link Refused}, {@link Unavailable} and the others of {@link Client} where the step itself
 * could not be taken.
 */
export async function toolCall(
  client: Client,
  call: ToolUseBlock | OpenAiToolCall,
  options: ToolCallOptions,
): Promise<ToolResultBlock | OpenAiToolMessage>;
export async function toolCall(
  client: Client,
  call: ToolUseBlock | OpenAiToolCall,
  options: ToolCallOptions,
): Promise<ToolResultBlock | OpenAiToolMessage> {
  const { type, id } = call;
  const isWhole = type === "tool_use" || (type === "function" && call.function !== undefined);
  if (!isWhole || typeof id !== "string" || id === "") {
    throw new TypeError(
      `expected a tool_use block or an entry of tool_calls of type function, with an id; found type ${JSON.stringify(type)}, id ${JSON.stringify(id)}`,
    );
  }
  const { taskId, agentId } = options;
  const named =
    type === "tool_use"
      ? { tool: call.name, argsJson: writeJson(call.input as JsonInput) }
      : { tool: call.function.name, argsJson: call.function.arguments };
  const deadline = new Deadline(options.timeoutMs);
  const outcome = await client.callTool({ taskId, agentId, key: id, ...named }, options);
  const content = await contentOf(client, outcome, { ...options, timeoutMs: deadline.restMs });
  if (type === "function") return { role: "tool", tool_call_id: id, content };
  const answer: ToolResultBlock = { type: "tool_result", tool_use_id: id, content };
  return outcome.kind === "failed" ? { ...answer, is_error: true } : answer;
}

/** What the model is told. */
async function contentOf(client: Client, outcome: ToolOutcome, options: RequestOptions): Promise<string> {
  switch (outcome.kind) {
    case "completed":
      return outcome.resultJson;
    case "omitted":
      return await client.stepResult(outcome.stepId ?? "", options);
    case "awaiting":
      return writeJson({ status: "awaiting", await_id: outcome.awaitId, result: rawJson(outcome.resultJson) });
    case "failed":
      // An empty text is none for a model's API.
      return outcome.message || "the tool failed, and did not say why";
  }
}
