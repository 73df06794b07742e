import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { Backend } from "toolbatch";
import { HealthCheckResponse_ServingStatus as Status } from "../src/gen/grpc/health/v1/health_pb.js";
import { authority } from "./support/authority.js";
import { caller, request } from "./support/caller.js";
import { Gate } from "./support/gate.js";
import { Tools } from "./support/setting.js";

test("a stop lets running calls finish, and health tells of it first", async (t) => {
  const tools = new Tools();
  const backend = await tools.serve("127.0.0.1:0", { handleSignals: false });
  t.after(() => backend.stop());
  const { tools: calls, health } = caller(t, backend);
  const watch = health.watch({ service: "toolbatch.v1.ToolService" })[Symbol.asyncIterator]();
  assert.equal((await watch.next()).value?.status, Status.SERVING);
  assert.equal((await health.check({})).status, Status.SERVING);
  await assert.rejects(health.check({ service: "other" }), /not_found/);
  const running = calls.callTool(request("hold"));
  await tools.held.passed;
  const stopped = backend.stop();
  assert.equal((await watch.next()).value?.status, Status.NOT_SERVING);
  assert.equal((await watch.next()).done, true);
  await assert.rejects(calls.callTool(request("echo")));
  tools.released.open();
  assert.equal((await running).outcome.value, '{"attempt":1}');
  await stopped;
  assert.equal(backend.stop(), stopped);
  assert.throws(() => backend.address, /listens nowhere/);
});

test("the grace period ends running calls", async (t) => {
  const held = new Gate();
  const ended = new Gate<unknown>();
  const tools = new Backend().tool({ name: "hold" }, async (_, { signal }) => {
    held.open();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    ended.open(signal.reason);
    throw signal.reason;
  });
  const backend = await tools.serve("127.0.0.1:0", { handleSignals: false, graceMs: 50, onError: () => {} });
  const { tools: calls } = caller(t, backend);
  const running = assert.rejects(calls.callTool(request("hold")));
  await held.passed;
  await backend.stop();
  assert.match(String(await ended.passed), /grace period is over/);
  await running;
});

test("a call that does not end by itself is cut off", async (t) => {
  const tools = new Tools();
  const backend = await tools.serve("127.0.0.1:0", { handleSignals: false, graceMs: 20 });
  const { tools: calls } = caller(t, backend);
  const running = assert.rejects(calls.callTool(request("hold")));
  await tools.held.passed;
  await backend.stop();
  await running;
  tools.released.open();
});

test("a grace period may be of any length, and has to be one", async (t) => {
  const warnings: Error[] = [];
  const listener = (warning: Error) => warnings.push(warning);
  process.on("warning", listener);
  t.after(() => process.off("warning", listener));
  const tools = new Tools();
  const backend = await tools.serve("127.0.0.1:0", { handleSignals: false, graceMs: Number.POSITIVE_INFINITY });
  const running = caller(t, backend).tools.callTool(request("hold"));
  await tools.held.passed;
  const stopped = backend.stop();
  tools.released.open();
  assert.equal((await running).outcome.value, '{"attempt":1}');
  await stopped;
  assert.deepEqual(warnings, []);
  for (const graceMs of [-1, Number.NaN]) {
    await assert.rejects(tools.serve("127.0.0.1:0", { graceMs }), { name: "RangeError", message: /graceMs/ });
  }
});

test("a connection that never speaks TLS does not keep a backend that stops", async (t) => {
  const tls = await authority(t);
  const backend = await new Tools().serve("127.0.0.1:0", { handleSignals: false, tls });
  const socket = connect(Number(backend.address.split(":")[1]), "127.0.0.1");
  await once(socket, "connect");
  const closed = once(socket, "close");
  await backend.stop();
  await closed;
});
