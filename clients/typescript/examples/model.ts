/** Runs what a model of Anthropic asks for: reads the model's message from its input, and writes the blocks that answer it. */
import { text } from "node:stream/consumers";
import { Client } from "toolbatch";
import { type ToolResultBlock, type ToolUseBlock, toolCall } from "toolbatch/llm";

type Block = ToolUseBlock | { readonly type: "text"; readonly text: string };

const { content } = JSON.parse(await text(process.stdin)) as { content: Block[] };
const client = new Client();
const results: ToolResultBlock[] = [];
for (const block of content) {
  if (block.type === "tool_use") results.push(await toolCall(client, block, { taskId: "chat-1" }));
}
client.close();
console.log(JSON.stringify(results));
