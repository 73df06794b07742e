import assert from "node:assert/strict";
import { test } from "node:test";
import { DeadlineExceeded, Unavailable } from "toolbatch";
import { cutAfter } from "./support/proxy.js";
import { freeAddress } from "./support/server.js";
import { all, connect, outline, setting, Tools, upTo } from "./support/setting.js";

test("a stream that is cut again and again is whole", async (t) => {
  const { client, server } = await setting(t, new Tools());
  const proxy = await cutAfter(t, server.url, 5_000);
  const calls = Array.from({ length: 20 }, (_, n) => ({ tool: "echo", args: { n } }));
  const events = await all(connect(t, proxy.url).run({ taskId: "T", batchId: "b", calls }));
  assert.deepEqual(
    events.map((event) => event.sequence),
    Array.from({ length: 42 }, (_, place) => place + 1),
  );
  assert.ok(proxy.connections() > 1, `${proxy.connections()} connections`);
  const straight = await all(client.watch("b"));
  assert.deepEqual(outline(events), outline(straight));
});

test("a whole result survives cuts", async (t) => {
  const { client, server } = await setting(t, new Tools());
  const { results } = await client.result({ taskId: "T", calls: [{ tool: "large", args: { bytes: 3_000_000 } }] });
  const proxy = await cutAfter(t, server.url, 1_000_000);
  const text = await connect(t, proxy.url).stepResult(results[0]?.stepId ?? "");
  assert.equal(text, `"${"x".repeat(3_000_000)}"`);
  assert.ok(proxy.connections() > 1);
});

for (const how of ["kill", "stop"] as const) {
  test(`a server that restarts takes the batch up again: ${how}`, async (t) => {
    const tools = new Tools();
    const { client, server } = await setting(t, tools, { config: 'shutdown_grace = "10ms"\n' });
    const stream = client.run({ taskId: "T", calls: [{ tool: "echo" }, { tool: "hold" }, { tool: "echo" }] });
    const following = all(stream);
    await tools.held.passed;
    await server[how]();
    tools.released.open();
    await server.restart();
    const events = await following;
    assert.deepEqual(
      events.map((event) => event.sequence),
      events.map((_, place) => place + 1),
    );
    const resumed = events.find((event) => event.kind === "batch_resumed");
    assert.deepEqual(resumed?.inDoubt, [1]);
    const last = events.at(-1);
    assert.ok(last?.kind === "batch_finished");
    assert.deepEqual([last.summary.status, last.summary.results[0]?.attempts], ["completed", 1]);
    assert.equal(last.summary.results[1]?.attempts, 2);
  });
}

test("a server that is not there is given up", async (t) => {
  const client = connect(t, `http://${await freeAddress()}`, { giveUpAfterMs: 300 });
  await assert.rejects(client.result({ taskId: "T", batchId: "b", calls: [{ tool: "echo" }] }), (error) => {
    assert.ok(error instanceof Unavailable);
    assert.deepEqual([error.batchId, error.lastSequence], ["b", 0]);
    assert.match(error.message, /300 ms.*ECONNREFUSED.*batch b may be running/);
    return true;
  });
  await assert.rejects(client.step("s"), Unavailable);
  await assert.rejects(client.setVariable("T", 1), Unavailable);
});

test("a server that stays away is given up, with the last sequence", async (t) => {
  const tools = new Tools();
  const { server } = await setting(t, tools);
  const client = connect(t, server, { giveUpAfterMs: 1_500 });
  const stream = client.run({ taskId: "T", calls: [{ tool: "hold" }] });
  const { rest } = await upTo(2, stream);
  await server.kill();
  await assert.rejects(rest, { name: "Unavailable", batchId: stream.batchId, lastSequence: 2 });
});

test("a deadline is over all attempts", async (t) => {
  const tools = new Tools();
  const { client, server } = await setting(t, tools);
  const started = performance.now();
  const { rest } = await upTo(2, client.run({ taskId: "T", batchId: "b", calls: [{ tool: "hold" }] }, { timeoutMs: 2_000 }));
  await server.kill();
  await assert.rejects(rest, (error) => {
    assert.ok(error instanceof DeadlineExceeded);
    assert.deepEqual([error.batchId, error.lastSequence], ["b", 2]);
    return true;
  });
  const took = performance.now() - started;
  assert.ok(took > 1_900 && took < 20_000, `${took} ms`);
});
