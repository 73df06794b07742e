import assert from "node:assert/strict";
import { test } from "node:test";
import { Backend, Refused, rawJson } from "toolbatch";
import { all, outline, setting, Tools } from "./support/setting.js";

test("a batch's events come whole, typed and in order", async (t) => {
  const { client } = await setting(t, new Tools());
  const stream = client.run({ taskId: "T", calls: [{ tool: "echo", key: "k", args: { name: "Ada" } }] });
  const events = await all(stream);
  assert.deepEqual(outline(events), ["1 batch_started", "2 call_started", "3 call_finished", "4 batch_finished"]);
  assert.ok(events.every((event) => event.batchId === stream.batchId && event.time instanceof Date));
  assert.equal(stream.lastSequence, 4);
  const [, , finished, last] = events;
  assert.ok(finished?.kind === "call_finished" && last?.kind === "batch_finished");
  assert.equal(finished.result.key, "k");
  assert.equal(finished.result.resultJson, '{"name":"Ada"}');
  assert.deepEqual(finished.result.value(), { name: "Ada" });
  assert.equal(last.summary.status, "completed");
  assert.equal(last.summary.results.length, 1);
});

test("JSON text goes byte for byte, both ways", async (t) => {
  const { client } = await setting(t, new Tools());
  const texts = [
    '{"n":1.10,"m":9007199254740993,"e":1e400,"z":-0}',
    '{"b":1,"a":2,"10":3,"2":4}',
    '{"text":"größer €😀 \\u00e9 </script>"}',
    '{ "blanks" : [ 1 , 2 ] }',
    "{}",
  ];
  const { results } = await client.result({ taskId: "T", calls: texts.map((argsJson) => ({ tool: "echo", argsJson })) });
  assert.deepEqual(
    results.map((result) => result.resultJson),
    texts,
  );
});

test("native values lose nothing, through both libraries", async (t) => {
  const { client } = await setting(t, new Tools());
  const text = '{"n":1.10,"m":9007199254740993,"x":-9223372036854775809,"e":1e400,"b":{"10":1,"2":[]},"a":"größer €😀"}';
  const first = await client.result({ taskId: "T", calls: [{ tool: "native", argsJson: text }] });
  assert.equal(first.results[0]?.resultJson, text);
  const value = first.results[0]?.value();
  assert.ok(typeof value === "object" && value !== null);
  const second = await client.result({ taskId: "T", calls: [{ tool: "native", args: value }] });
  assert.equal(second.results[0]?.resultJson, text);
  assert.equal((value as { m: bigint }).m, 9_007_199_254_740_993n);
});

test("args that are left out are an empty object", async (t) => {
  const { client } = await setting(t, new Tools());
  const calls = [{ tool: "echo" }, { tool: "echo", argsJson: "" }, { tool: "echo", args: {} }];
  const { results } = await client.result({ taskId: "T", calls });
  assert.deepEqual(
    results.map((result) => result.resultJson),
    ["{}", "{}", "{}"],
  );
});

test("defaults are the server's: a failure stops the rest, results are inlined", async (t) => {
  const { client } = await setting(t, new Tools());
  const events = await all(client.run({ taskId: "T", calls: [{ tool: "echo" }, { tool: "fail" }, { tool: "echo" }] }));
  const [started] = events;
  const last = events.at(-1);
  assert.ok(started?.kind === "batch_started" && last?.kind === "batch_finished");
  assert.deepEqual(
    [started.options.stopOnError, started.options.includeResults, started.options.mode],
    [true, true, "sequential"],
  );
  assert.deepEqual([last.summary.succeeded, last.summary.failed, last.summary.notRun], [1, 1, 1]);
  const [first, failed, rest] = last.summary.results;
  assert.equal(first?.resultJson, "{}");
  assert.deepEqual(
    [failed?.error?.message, failed?.error?.code, failed?.error?.reason, failed?.error?.outcomeUnknown],
    ["it is locked", "LOCKED", "tool_failed", false],
  );
  assert.equal(rest?.status, "not_run");
});

test("false is sent as false", async (t) => {
  const { client } = await setting(t, new Tools());
  const calls = [{ tool: "fail" }, { tool: "echo" }];
  const { succeeded, results } = await client.result({ taskId: "T", calls, stopOnError: false, includeResults: false });
  assert.equal(succeeded, 1);
  assert.deepEqual([results[1]?.resultJson, results[1]?.resultOmitted], [undefined, true]);
});

test("a request of 12 MB and a result of 5 MB arrive whole", async (t) => {
  const { client } = await setting(t, new Tools());
  const text = "ä".repeat(480_000);
  const calls = Array.from({ length: 13 }, (_, index) => ({ tool: "echo", args: { index, text } }));
  const summary = await client.result({ taskId: "T", calls, mode: "parallel" });
  assert.equal(summary.succeeded, 13);
  const { argsJson, resultBytes } = await client.step(summary.results[12]?.stepId ?? "");
  assert.equal(argsJson, `{"index":12,"text":"${text}"}`);
  assert.equal(resultBytes, Buffer.byteLength(argsJson));

  const large = await client.result({ taskId: "T", calls: [{ tool: "large", args: { bytes: 5_000_000 } }] });
  const [result] = large.results;
  assert.equal(result?.resultOmitted, true);
  assert.equal(await client.stepResult(result?.stepId ?? ""), `"${"x".repeat(5_000_000)}"`);
});

test("a plan runs nothing", async (t) => {
  const tools = new Tools();
  const { client } = await setting(t, tools);
  const events = await all(client.run({ taskId: "T", validateOnly: true, calls: [{ tool: "hold" }, { tool: "nowhere" }] }));
  assert.deepEqual(outline(events), ["0 batch_planned"]);
  const [planned] = events;
  assert.ok(planned?.kind === "batch_planned");
  assert.deepEqual([planned.calls[0]?.backend, planned.calls[1]?.error?.reason], ["ts", "tool_not_found"]);
  assert.equal(tools.holds, 0);
  await assert.rejects(client.result({ taskId: "T", validateOnly: true, calls: [{ tool: "hold" }] }), /batch_planned/);
});

test("refusals are typed, with what is wrong at which field", async (t) => {
  const { client } = await setting(t, new Tools());
  const batch = { taskId: "", calls: [{ tool: "echo" }, { tool: "", argsJson: "[1" }] };
  await assert.rejects(client.result(batch), (error) => {
    assert.ok(error instanceof Refused);
    assert.deepEqual([error.name, error.status, error.reason], ["Refused", "INVALID_ARGUMENT", "INVALID_REQUEST"]);
    const fields = error.violations.map((violation) => violation.field);
    assert.ok(fields.includes("task_id") && fields.includes("call_list.calls[1].tool"), String(fields));
    assert.ok(error.violations.every((violation) => violation.description !== "") && error.message !== "");
    return true;
  });
  await assert.rejects(all(client.watch("nowhere")), { status: "NOT_FOUND" });
  await assert.rejects(client.step("nowhere"), { name: "Refused", status: "NOT_FOUND" });
});

test("repeating a request runs nothing twice", async (t) => {
  let runs = 0;
  const tools = new Backend().tool({ name: "pay" }, () => {
    runs += 1;
    return rawJson("[1,  2]");
  });
  const { client } = await setting(t, tools);
  const batch = { taskId: "T", batchId: "b-1", calls: [{ tool: "pay", key: "k" }] };
  const first = await client.result(batch);
  const again = await client.result(batch);
  const other = await client.result({ ...batch, batchId: "b-2" });
  assert.equal(runs, 1);
  assert.equal(again.results[0]?.stepId, first.results[0]?.stepId);
  assert.deepEqual([other.results[0]?.status, other.results[0]?.resultJson], ["skipped", "[1,  2]"]);
});
