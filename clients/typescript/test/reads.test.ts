import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "@connectrpc/connect";
import { rawJson, type Step, type UsageRow } from "toolbatch";
import { TaskService } from "toolbatch/proto";
import { setting, Tools } from "./support/setting.js";

test("variables hold lists that batches refer to", async (t) => {
  const { client } = await setting(t, new Tools());
  const calls = [{ tool: "echo", args: { n: 9_007_199_254_740_993n } }];
  const name = await client.setVariable("T", { calls });
  assert.match(name, /^VAR_[0-9]+$/);
  const { results } = await client.result({ taskId: "T", callsRef: `\${${name}}.calls` });
  assert.equal(results[0]?.resultJson, '{"n":9007199254740993}');
  assert.equal(await client.setVariable("T", rawJson("[1.0]"), { name: "prices" }), "prices");
  await assert.rejects(client.setVariable("T", rawJson("{")), { name: "Refused", status: "INVALID_ARGUMENT" });
});

test("steps, by one and over all pages", async (t) => {
  const { client } = await setting(t, new Tools());
  const calls = Array.from({ length: 150 }, (_, n) => ({ tool: "echo", key: `k${n}`, args: { n } }));
  const { results } = await client.result({ taskId: "T", calls, mode: "parallel", maxConcurrency: 16 });
  const steps: Step[] = [];
  for await (const step of client.steps("T")) steps.push(step);
  assert.equal(new Set(steps.map((step) => step.stepId)).size, steps.length);
  assert.ok(results.every((result) => steps.some((step) => step.stepId === result.stepId)));
  const step = await client.step(results[7]?.stepId ?? "");
  assert.deepEqual(
    [step.tool, step.backend, step.key, step.index, step.status, step.attempts, step.argsJson, step.resultJson, step.resultBytes],
    ["echo", "ts", "k7", 7, "completed", 1, '{"n":7}', '{"n":7}', 7],
  );
  assert.deepEqual(step.value(), { n: 7 });
  assert.ok(step.startTime instanceof Date && step.endTime instanceof Date);
});

test("usage with its price, over all pages", async (t) => {
  const tools = new Tools().tool({ name: "meter" }, (_, context) => {
    context.usage("pages", 2);
    context.usage("pages", 0.5);
    context.usage("tokens", 3);
  });
  const { client } = await setting(t, tools, {
    config: '[prices]\ncurrency = "USD"\n[prices.tools]\nmeter = { pages = "0.01" }\n',
  });
  await client.result({ taskId: "T", calls: [{ tool: "meter" }, { tool: "echo" }] });
  const rows: UsageRow[] = [];
  for await (const row of client.usage("T")) rows.push(row);
  assert.deepEqual(
    rows.map(({ tool, unit, quantity, costNanos, currency }) => [tool, unit, quantity, costNanos, currency]),
    [
      ["meter", "pages", 2.5, 25_000_000n, "USD"],
      ["meter", "tokens", 3, 0n, undefined],
      ["echo", "calls", 1, 0n, undefined],
    ],
  );
});

test("a direct step, once for its key", async (t) => {
  const { client } = await setting(t, new Tools());
  const call = { taskId: "T", tool: "echo", key: "k", argsJson: '{"n":1.10}' };
  const first = await client.callTool(call);
  assert.ok(first.kind === "completed");
  assert.deepEqual([first.resultJson, first.skipped], ['{"n":1.10}', false]);
  const again = await client.callTool(call);
  assert.deepEqual([again.stepId, again.skipped], [first.stepId, true]);
  const failed = await client.callTool({ taskId: "T", tool: "fail" });
  assert.ok(failed.kind === "failed");
  assert.deepEqual(
    [failed.message, failed.code, failed.retryable, failed.outcomeUnknown],
    ["it is locked", "LOCKED", false, false],
  );
  const large = await client.callTool({ taskId: "T", tool: "large", args: { bytes: 4_000_000 } });
  assert.equal(large.kind, "omitted");
  assert.equal((await client.stepResult(large.stepId ?? "")).length, 4_000_002);
});

test("tools and their schemas", async (t) => {
  const { client } = await setting(t, new Tools());
  const names: string[] = [];
  for await (const tool of client.tools()) names.push(tool.name);
  assert.ok(
    ["batch_tool", "echo", "execute_tool_batch", "native"].every((name) => names.includes(name)),
    names.join(),
  );
});

test("a task that has ended takes nothing more; the stubs reach what has no method", async (t) => {
  const { client } = await setting(t, new Tools());
  await client.result({ taskId: "T", calls: [{ tool: "echo" }] });
  await client.endTask("T", { reason: "done" });
  await assert.rejects(client.result({ taskId: "T", calls: [{ tool: "echo" }] }), { status: "FAILED_PRECONDITION" });
  const { steps } = await createClient(TaskService, client.transport).listSteps({ taskId: "T", pageSize: 1 });
  assert.equal(steps.length, 1);
});
