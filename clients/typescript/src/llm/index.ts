/**
 * For models: the tools of an agent's list as Anthropic and OpenAI take them, and their tool calls run as steps of a task. No SDK is needed.
 *
 * @module
 */
export {
  type AnthropicTool,
  type DefinitionOptions,
  definitions,
  type ObjectSchema,
  type OpenAiTool,
} from "./definitions.js";
export {
  type OpenAiToolCall,
  type OpenAiToolMessage,
  type ToolCallOptions,
  type ToolResultBlock,
  type ToolUseBlock,
  toolCall,
} from "./tool_call.js";
