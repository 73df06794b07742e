import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@connectrpc/connect";
import { awaiting, Backend, JsonNumber, landed, notLanded, rawJson, type ToolContext, ToolFailure } from "toolbatch";
import { caller, request } from "./support/caller.js";
import { Gate } from "./support/gate.js";
import { all, setting, Tools } from "./support/setting.js";

test("outcomes of each kind", async (t) => {
  const errors: unknown[] = [];
  const tools = new Backend()
    .tool({ name: "nothing" }, () => {})
    .tool({ name: "raw" }, () => rawJson('{"n": 1.10}'))
    .tool({ name: "failing" }, async () => {
      throw new ToolFailure("busy", { code: "BUSY", retryable: true });
    })
    .tool({ name: "crashing" }, () => {
      throw new Error("a secret");
    })
    .tool({ name: "unwritable" }, () => ({ n: Number.NaN }))
    .tool({ name: "waiting" }, () => awaiting("r-1", { draft: true }));
  const { client } = await setting(t, tools, {}, { onError: (error) => errors.push(error) });
  const calls = ["nothing", "raw", "failing", "crashing", "unwritable"].map((tool) => ({ tool }));
  const { results } = await client.result({ taskId: "T", calls, stopOnError: false });
  const [nothing, raw, failing, crashing, unwritable] = results;
  assert.deepEqual([nothing?.resultJson, raw?.resultJson], ["null", '{"n": 1.10}']);
  const definite = { reason: "tool_failed", message: "busy", outcomeUnknown: false, retryable: true, code: "BUSY" };
  assert.deepEqual({ ...failing?.error }, definite);
  for (const result of [crashing, unwritable]) {
    assert.equal(result?.error?.outcomeUnknown, true);
    assert.doesNotMatch(result?.error?.message ?? "", /secret|NaN/);
  }
  assert.match(String(errors), /a secret.*cannot write NaN/);
  const waiting = await client.result({ taskId: "T", calls: [{ tool: "waiting" }] });
  assert.deepEqual([waiting.awaiting, waiting.results[0]?.status, waiting.results[0]?.awaitId], [1, "awaiting", "r-1"]);
  assert.equal(waiting.results[0]?.resultJson, '{"draft":true}');
});

test("a retryable failure is tried again", async (t) => {
  const tools = new Backend().tool({ name: "flaky" }, (_, { attempt, idempotencyKey }) => {
    if (attempt < 3) throw new ToolFailure("busy", { retryable: true });
    return { attempt, idempotencyKey };
  });
  const { client } = await setting(t, tools);
  const retry = { maxAttempts: 3, initialBackoffMs: 1 };
  const events = await all(client.run({ taskId: "T", calls: [{ tool: "flaky" }], retry }));
  const retries = events.filter((event) => event.kind === "call_retrying");
  assert.deepEqual(
    retries.map(({ attempt, error }) => [attempt, error?.message]),
    [
      [1, "busy"],
      [2, "busy"],
    ],
  );
  const last = events.at(-1);
  assert.ok(last?.kind === "batch_finished");
  assert.deepEqual([last.summary.status, last.summary.results[0]?.attempts], ["completed", 3]);
});

test("a tool gets its args as native values, and where the call belongs", async (t) => {
  const seen: { args: unknown; context: ToolContext }[] = [];
  const tools = new Backend().tool({ name: "look" }, (args, context) => {
    seen.push({ args, context });
  });
  const { client } = await setting(t, tools);
  const argsJson = '{"big":9007199254740993,"price":1.10,"name":"é"}';
  const stream = client.run({ taskId: "T", calls: [{ tool: "look", key: "k", argsJson }] });
  const events = await all(stream);
  const [first] = seen;
  assert.ok(first !== undefined && seen.length === 1);
  const { context } = first;
  assert.deepEqual(first.args, { big: 9_007_199_254_740_993n, price: new JsonNumber("1.10"), name: "é" });
  assert.equal(context.argsJson, argsJson);
  const started = events.find((event) => event.kind === "call_started");
  assert.deepEqual(
    [context.taskId, context.key, context.batchId, context.stepId, context.index, context.attempt, context.inDoubt],
    ["T", "k", stream.batchId, started?.stepId, 0, 1, false],
  );
  assert.match(context.idempotencyKey, /^[0-9a-f-]{36}$/);
  assert.match(context.metadata("traceparent") ?? "", /^00-/);
});

test("progress comes as events, usage is recorded", async (t) => {
  const tools = new Backend().tool({ name: "count", reportsProgress: true }, (_, context) => {
    for (let done = 1; done <= 3; done += 1) context.progress(done, 3, `${done} of 3`);
    context.usage("pages", 3);
    return "done";
  });
  const { client } = await setting(t, tools);
  const events = await all(client.run({ taskId: "T", calls: [{ tool: "count" }] }));
  const reports = events.filter((event) => event.kind === "call_progress").map(({ message }) => message);
  assert.equal(reports.at(-1), "3 of 3");
  const last = events.at(-1);
  assert.ok(last?.kind === "batch_finished");
  const [result] = last.summary.results;
  assert.equal(result?.value(), "done");
  const { usage } = await client.step(result?.stepId ?? "");
  assert.deepEqual(
    usage.map(({ unit, quantity }) => [unit, quantity]),
    [["pages", 3]],
  );
});

test("numbers of the args can be told on as they are", async (t) => {
  type Amounts = { readonly pages: number; readonly tokens: number };
  const tools = new Backend().tool<Amounts>({ name: "meter", reportsProgress: true }, ({ pages, tokens }, context) => {
    context.usage("pages", pages);
    context.usage("tokens", tokens);
    context.progress(pages, tokens);
  });
  const { client } = await setting(t, tools);
  const argsJson = '{"pages":1.50,"tokens":9007199254740993}';
  const { results } = await client.result({ taskId: "T", calls: [{ tool: "meter", argsJson }] });
  const { usage, error } = await client.step(results[0]?.stepId ?? "");
  assert.equal(error, undefined);
  assert.deepEqual(
    usage.map(({ unit, quantity }) => [unit, quantity]),
    [
      ["pages", 1.5],
      ["tokens", 2 ** 53],
    ],
  );
});

test("a listener that throws itself changes no answer", async (t) => {
  const log = t.mock.method(console, "error", () => {});
  const onError = () => {
    throw new Error("a secret of the listener");
  };
  const tools = new Backend().tool({ name: "crash" }, () => Promise.reject());
  const backend = await tools.serve("127.0.0.1:0", { handleSignals: false, graceMs: 0, onError });
  t.after(() => backend.stop());
  const call = caller(t, backend).tools.callTool(request("crash"));
  await assert.rejects(call, { code: Code.Unknown, rawMessage: /"crash" broke off/ });
  assert.match(String(log.mock.calls[0]?.arguments[1]), /a secret of the listener/);
});

test("calls side by side give no warning of their listeners", async (t) => {
  const warnings: Error[] = [];
  const listener = (warning: Error) => warnings.push(warning);
  process.on("warning", listener);
  t.after(() => process.off("warning", listener));
  const tools = new Tools();
  const backend = await tools.serve("127.0.0.1:0", { handleSignals: false, graceMs: 0 });
  t.after(() => backend.stop());
  const { tools: calls } = caller(t, backend);
  const running = Array.from({ length: 30 }, () => calls.callTool(request("hold")));
  await tools.held.passed;
  tools.released.open();
  await Promise.all(running);
  assert.deepEqual([tools.holds, warnings], [30, []]);
});

test("a lookup settles a call that a crash of the server left in doubt", async (t) => {
  const held = new Gate();
  const released = new Gate();
  const noted = new Set<string>();
  const tools = new Backend().tool(
    {
      name: "pay",
      lookup: (_, { idempotencyKey }) => (noted.has(idempotencyKey) ? landed({ paid: "looked up" }) : notLanded()),
    },
    async (_, { idempotencyKey }) => {
      noted.add(idempotencyKey);
      held.open();
      await released.passed;
      return { paid: "by the call" };
    },
  );
  const { client, server } = await setting(t, tools);
  const running = client.result({ taskId: "T", calls: [{ tool: "pay" }], inDoubt: "lookup" });
  await held.passed;
  await server.kill();
  await server.restart();
  const { results } = await running;
  assert.deepEqual([results[0]?.resultJson, noted.size], ['{"paid":"looked up"}', 1]);
  released.open();
});

test("a tool that pauses is called by itself, and by no batch", async (t) => {
  const tools = new Backend().tool({ name: "ask", pauses: true }, () => "yes");
  const { client } = await setting(t, tools);
  const { results } = await client.result({ taskId: "T", calls: [{ tool: "ask" }] });
  assert.equal(results[0]?.status, "failed");
  const outcome = await client.callTool({ taskId: "T", tool: "ask" });
  assert.ok(outcome.kind === "completed");
  assert.equal(outcome.resultJson, '"yes"');
});

test("a call that takes too long is cancelled", async (t) => {
  const cancelled = new Gate<unknown>();
  const tools = new Backend().tool({ name: "slow", timeoutMs: 1_000 }, async (_, { signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    cancelled.open(signal.reason);
  });
  const { client } = await setting(t, tools);
  const { results } = await client.result({ taskId: "T", calls: [{ tool: "slow" }] });
  assert.equal(results[0]?.error?.reason, "timed_out");
  assert.ok((await cancelled.passed) instanceof Error);
});

test("what is not served is unimplemented; args that are no object fail for certain", async (t) => {
  const backend = await new Tools().serve("127.0.0.1:0", { handleSignals: false, graceMs: 0 });
  t.after(() => backend.stop());
  const { tools } = caller(t, backend);
  await assert.rejects(tools.callTool(request("none")), {
    code: Code.Unimplemented,
    rawMessage: /no tool "none" here; there are: echo/,
  });
  await assert.rejects(tools.lookupCall({ tool: "echo" }), { code: Code.Unimplemented });
  for (const args of ["[1]", "{", "null"]) {
    const { outcome } = await tools.callTool(request("native", args));
    assert.deepEqual([outcome.case, outcome.case === "failure" && outcome.value.code], ["failure", "INVALID_ARGS"]);
  }
  assert.equal((await tools.callTool(request("native", " "))).outcome.value, "{}");
  assert.equal((await tools.callTool(request("echo", ' {"a":1}\n'))).outcome.value, ' {"a":1}\n');
});

test("what toolbatch would not take is refused where it is declared", async () => {
  const backend = new Backend().tool({ name: "twice" }, () => 1);
  assert.throws(() => backend.tool({ name: "twice" }, () => 1), /there is a tool "twice" already/);
  for (const name of ["", " x", "a  b", "größe", "x".repeat(257)]) {
    assert.throws(() => backend.tool({ name }, () => 1), { name: "TypeError", message: /1 to 256 printable ASCII/ });
  }
  assert.throws(() => backend.tool({ name: "slow", timeoutMs: 0 }, () => 1), RangeError);
  for (const address of ["nowhere", "127.0.0.1:99999", "unix:relative", ""]) {
    await assert.rejects(backend.serve(address), /expected the address as HOST:PORT or unix:\/PATH/);
  }
});
