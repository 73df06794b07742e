import assert from "node:assert/strict";
import { test } from "node:test";
import { DeadlineExceeded } from "toolbatch";
import { all, outline, setting, Tools } from "./support/setting.js";

test("break leaves the batch running, and watch comes back to it", async (t) => {
  const tools = new Tools();
  const { client } = await setting(t, tools);
  const stream = client.run({ taskId: "T", calls: [{ tool: "hold" }, { tool: "echo" }] });
  for await (const event of stream) {
    if (event.kind === "call_started") break;
  }
  assert.equal(stream.lastSequence, 2);
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
  const state = await client.batch(stream.batchId);
  assert.deepEqual([state.summary.status, state.endTime], ["running", undefined]);
  tools.released.open();
  const rest = await all(client.watch(stream.batchId, { afterSequence: stream.lastSequence }));
  assert.deepEqual(outline(rest), ["3 call_finished", "4 call_started", "5 call_finished", "6 batch_finished"]);
  assert.equal(tools.holds, 1);
});

test("return ends a stream while an event is waited for", async (t) => {
  const tools = new Tools();
  const { client } = await setting(t, tools);
  const stream = client.run({ taskId: "T", calls: [{ tool: "hold" }] });
  await stream.next();
  await stream.next();
  const waiting = stream.next();
  assert.deepEqual(await stream.return(), { done: true, value: undefined });
  assert.deepEqual(await waiting, { done: true, value: undefined });
  tools.released.open();
  assert.equal((await all(client.watch(stream.batchId))).at(-1)?.kind, "batch_finished");
});

test("an error in the loop's body ends the stream, and is not touched", async (t) => {
  const { client } = await setting(t, new Tools());
  const mine = new Error("mine");
  const stream = client.run({ taskId: "T", calls: [{ tool: "echo" }] });
  const loop = async () => {
    for await (const _ of stream) throw mine;
  };
  await assert.rejects(loop(), (error) => error === mine);
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
});

test("an aborted signal ends the stream with its reason, and not the batch", async (t) => {
  const tools = new Tools();
  const { client } = await setting(t, tools);
  const controller = new AbortController();
  const stream = client.run({ taskId: "T", calls: [{ tool: "hold" }] }, { signal: controller.signal });
  const following = all(stream);
  await tools.held.passed;
  controller.abort();
  await assert.rejects(following, { name: "AbortError" });
  tools.released.open();
  const rest = await all(client.watch(stream.batchId, { afterSequence: stream.lastSequence }));
  assert.equal(rest.at(-1)?.kind, "batch_finished");

  const reason = new Error("my own reason");
  const aborted = { signal: AbortSignal.abort(reason) };
  await assert.rejects(client.result({ taskId: "T", calls: [{ tool: "echo" }] }, aborted), (error) => error === reason);
  await assert.rejects(client.step("s", aborted), (error) => error === reason);
  await assert.rejects(client.setVariable("T", 1, aborted), (error) => error === reason);
});

test("a deadline ends the stream with an error of its own, and not the batch", async (t) => {
  const tools = new Tools();
  const { client } = await setting(t, tools);
  const batch = { taskId: "T", batchId: "b", calls: [{ tool: "hold" }] };
  await assert.rejects(client.result(batch, { timeoutMs: 400 }), (error) => {
    assert.ok(error instanceof DeadlineExceeded);
    assert.match(error.message, /batch b goes on/);
    return true;
  });
  tools.released.open();
  assert.equal((await client.result(batch)).status, "completed");
  assert.equal(tools.holds, 1);
});

test("a stream that nobody reads sends nothing, and can be left", async (t) => {
  const { client } = await setting(t, new Tools());
  const stream = client.run({ taskId: "T", calls: [{ tool: "echo" }] });
  await stream.return();
  await assert.rejects(client.batch(stream.batchId), { status: "NOT_FOUND" });
});

test("cancelling a batch: no further call starts", async (t) => {
  const tools = new Tools();
  const { client } = await setting(t, tools);
  const stream = client.run({ taskId: "T", calls: [{ tool: "hold" }, { tool: "echo" }] });
  const following = all(stream);
  await tools.held.passed;
  const state = await client.cancelBatch(stream.batchId);
  assert.equal(state.summary.status, "running");
  tools.released.open();
  const last = (await following).at(-1);
  assert.ok(last?.kind === "batch_finished");
  assert.deepEqual(
    [last.summary.status, last.summary.succeeded, last.summary.notRun, last.summary.stopReason],
    ["partial", 1, 1, "cancelled"],
  );
});

test("cancelling with abortRunning: the outcome of what runs is unknown", async (t) => {
  const tools = new Tools();
  const { client } = await setting(t, tools);
  const following = all(client.run({ taskId: "T", batchId: "b", calls: [{ tool: "hold" }] }));
  await tools.held.passed;
  await client.cancelBatch("b", { abortRunning: true });
  const last = (await following).at(-1);
  assert.ok(last?.kind === "batch_finished");
  assert.deepEqual([last.summary.status, last.summary.results[0]?.error?.outcomeUnknown], ["failed", true]);
  tools.released.open();
});
