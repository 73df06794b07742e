import assert from "node:assert/strict";
import { test } from "node:test";
import { awaiting, ToolFailure } from "toolbatch";
import { definitions, type OpenAiToolCall, type ToolUseBlock, toolCall } from "toolbatch/llm";
import { setting, Tools } from "./support/setting.js";

const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

function tools(): Tools {
  const tools = new Tools();
  tools.tool({ name: "greet", description: "Greets someone", inputSchema: schema }, ({ name }) => ({
    greeting: `Hello, ${name}`,
  }));
  tools.tool({ name: "silent" }, () => {
    throw new ToolFailure("");
  });
  tools.tool({ name: "review" }, () => awaiting("r-1", { draft: true }));
  return tools;
}

test("definitions are those of each API", async (t) => {
  const { client } = await setting(t, tools());
  const only = ["greet", "echo"];
  const anthropic = await definitions(client, "anthropic", { only });
  assert.deepEqual(anthropic, [
    { name: "echo", description: "", input_schema: { type: "object", properties: {} } },
    { name: "greet", description: "Greets someone", input_schema: schema },
  ]);
  const openai = await definitions(client, "openai", { only });
  assert.deepEqual(openai[1], {
    type: "function",
    function: { name: "greet", description: "Greets someone", parameters: schema },
  });
  const all = await definitions(client, "openai");
  assert.ok(all.some(({ function: { name } }) => name === "execute_tool_batch"));
});

test("names that an API does not take are named, and so is what is not there", async (t) => {
  const { client } = await setting(
    t,
    new Tools().tool({ name: "my tool.v2" }, () => null),
  );
  await assert.rejects(definitions(client, "anthropic"), /"my tool.v2" does not fit: Anthropic takes 1 to 128/);
  await assert.rejects(definitions(client, "openai"), /"my tool.v2" does not fit: OpenAI takes 1 to 64/);
  await assert.rejects(definitions(client, "openai", { only: ["gone"] }), /no tool "gone"/);
  await assert.rejects(definitions(client, "gemini" as "openai"), /one of anthropic, openai, found "gemini"/);
});

test("tool_use blocks are answered, once for their id", async (t) => {
  const { client } = await setting(t, tools());
  const use = (id: string, name: string, input: unknown): ToolUseBlock => ({ type: "tool_use", id, name, input });
  const ask = (block: ToolUseBlock) => toolCall(client, block, { taskId: "T" });
  const answer = { type: "tool_result", tool_use_id: "u1", content: '{"greeting":"Hello, Ada"}' };
  assert.deepEqual(await ask(use("u1", "greet", { name: "Ada" })), answer);
  assert.deepEqual(await ask(use("u1", "greet", { name: "Ada" })), answer);
  assert.deepEqual(await ask(use("u2", "fail", {})), {
    type: "tool_result",
    tool_use_id: "u2",
    content: "it is locked",
    is_error: true,
  });
  const refused = await ask(use("u3", "greet", { name: 1 }));
  assert.equal(refused.is_error, true);
  assert.notEqual((await ask(use("u6", "silent", {}))).content, "");
  const waits = await ask(use("u4", "review", {}));
  assert.deepEqual(JSON.parse(waits.content), { status: "awaiting", await_id: "r-1", result: { draft: true } });
  const large = await ask(use("u5", "large", { bytes: 4_000_000 }));
  assert.equal(large.content.length, 4_000_002);
});

test("entries of tool_calls are answered, args byte for byte", async (t) => {
  const { client } = await setting(t, tools());
  const ask = (id: string, name: string, args: string) =>
    toolCall(client, { type: "function", id, function: { name, arguments: args } }, { taskId: "T" });
  const answer = await ask("c1", "echo", '{"n":1.10, "é":9007199254740993}');
  assert.deepEqual(answer, { role: "tool", tool_call_id: "c1", content: '{"n":1.10, "é":9007199254740993}' });
  assert.deepEqual(await ask("c2", "fail", "{}"), { role: "tool", tool_call_id: "c2", content: "it is locked" });
  const broken = await ask("c3", "echo", "{");
  assert.match(broken.content, /JSON/i);
});

test("a batch is a tool like any other", async (t) => {
  const { client } = await setting(t, tools());
  const input = { tool_calls: [{ tool: "echo", args: { n: 1 } }], calls: [{ tool: "echo", args: { n: 1 } }] };
  const [definition] = await definitions(client, "anthropic", { only: ["execute_tool_batch"] });
  const names = Object.keys(definition?.input_schema.properties ?? {});
  const fitting = Object.fromEntries(Object.entries(input).filter(([name]) => names.includes(name)));
  const block: ToolUseBlock = { type: "tool_use", id: "u1", name: "execute_tool_batch", input: fitting };
  const answer = await toolCall(client, block, { taskId: "T" });
  assert.equal(answer.is_error, undefined, answer.content);
  assert.match(answer.content, /completed/);
});

test("calls that are none are refused", async (t) => {
  const { client } = await setting(t, new Tools());
  for (const call of [
    { type: "text", text: "hi" },
    { type: "tool_use", name: "x", input: {} },
    { type: "function", id: "" },
    { type: "function", id: "c1" },
  ]) {
    await assert.rejects(toolCall(client, call as unknown as OpenAiToolCall, { taskId: "T" }), /expected a tool_use block/);
  }
});
