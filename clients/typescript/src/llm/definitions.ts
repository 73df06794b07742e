import type { RequestOptions } from "../attempts.js";
import type { Client } from "../client.js";
import type { Tool } from "../records.js";

/** A JSON Schema of an object. */
export interface ObjectSchema {
  type: "object";
  properties: Record<string, unknown>;
  [keyword: string]: unknown;
}

/** A tool as Anthropic's Messages API takes it. */
export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: ObjectSchema;
}

/** A tool as OpenAI's chat completions take it. */
export interface OpenAiTool {
  type: "function";
  function: { name: string; description: string; parameters: ObjectSchema };
}

/** What {@link definitions} can be asked for, beside a format. */
export interface DefinitionOptions extends RequestOptions {
  /** Whose tools, where an operator asks. */
  readonly agentId?: string | undefined;
  /** Only tools of these names, such as `execute_tool_batch` and `batch_tool`. Left out: all of the list. */
  readonly only?: readonly string[] | undefined;
}

const NAMES = {
  anthropic: { whose: "Anthropic", pattern: /^[a-zA-Z0-9_-]{1,128}$/, max: 128 },
  openai: { whose: "OpenAI", pattern: /^[a-zA-Z0-9_-]{1,64}$/, max: 64 },
};

/** The tools of an agent's list, as Anthropic's Messages API takes them. */
export async function definitions(client: Client, format: "anthropic", options?: DefinitionOptions): Promise<AnthropicTool[]>;
/** The tools of an agent's list, as OpenAI's chat completions take them. */
export async function definitions(client: Client, format: "openai", options?: DefinitionOptions): Promise<OpenAiTool[]>;
/**
 * The tools of an agent's list, as a model's API takes them.
 *
 * @throws TypeError where a name does not fit that API, or `only` names a tool that is not in the list.
 */
export async function definitions(
  client: Client,
  format: "anthropic" | "openai",
  options?: DefinitionOptions,
): Promise<AnthropicTool[] | OpenAiTool[]>;
export async function definitions(
  client: Client,
  format: "anthropic" | "openai",
  options: DefinitionOptions = {},
): Promise<AnthropicTool[] | OpenAiTool[]> {
  if (!Object.hasOwn(NAMES, format)) {
    throw new TypeError(`expected the format as one of anthropic, openai, found ${JSON.stringify(format)}`);
  }
  const { only } = options;
  const tools: Tool[] = [];
  for await (const tool of client.tools(options)) {
    if (only === undefined || only.includes(tool.name)) tools.push(tool);
  }
  const missing = only?.find((name) => !tools.some((tool) => tool.name === name));
  if (missing !== undefined) throw new TypeError(`the agent's list has no tool ${JSON.stringify(missing)}`);
  for (const { name } of tools) checkName(format, name);
  return format === "anthropic" ? tools.map(anthropicTool) : tools.map(openAiTool);
}

function anthropicTool(tool: Tool): AnthropicTool {
  return { name: tool.name, description: tool.description, input_schema: objectSchema(tool) };
}

function openAiTool(tool: Tool): OpenAiTool {
  const { name, description } = tool;
  return { type: "function", function: { name, description, parameters: objectSchema(tool) } };
}

/** A tool's schema as the APIs want it: one of an object. Args are always one, so that says nothing new. */
function objectSchema({ inputSchemaJson }: Tool): ObjectSchema {
  const schema: unknown = inputSchemaJson === undefined ? {} : JSON.parse(inputSchemaJson);
  const isObject = typeof schema === "object" && schema !== null && !Array.isArray(schema);
  return { type: "object", properties: {}, ...(isObject ? schema : {}) };
}

function checkName(format: keyof typeof NAMES, name: string): void {
  const { whose, pattern, max } = NAMES[format];
  if (!pattern.test(name)) {
    throw new TypeError(
      `the tool name ${JSON.stringify(name)} does not fit: ${whose} takes 1 to ${max} of A to Z, a to z, 0 to 9, _ and -; give the tool a display name that fits, in the agent's tools`,
    );
  }
}
