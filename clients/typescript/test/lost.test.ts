/** Connections that are lost in unusual ways, and what is not a lost connection. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { Refused, Unavailable } from "toolbatch";
import { connect } from "./support/setting.js";

/** Listens on a free port till the test ends, and gives it. */
async function listen(test: TestContext, server: Server | ReturnType<typeof createServer>): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => void sockets.add(socket.on("error", () => {})));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  test.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("expected a port");
  return address.port;
}

/** Serves HTTP/2, and answers each request by hand. */
async function serve(test: TestContext, answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void) {
  const server = createServer().on("stream", (stream, headers) =>
    answer(
      stream.on("error", () => {}),
      headers,
    ),
  );
  return `http://127.0.0.1:${await listen(
    test,
    server.on("sessionError", () => {}),
  )}`;
}

const OPEN = { ":status": 200, "content-type": "application/grpc+proto" };

for (const code of [2, 5, 7, 8, 11, 12, 13]) {
  test(`a stream that is reset by code ${code} is a lost connection`, async (t) => {
    let requests = 0;
    const url = await serve(t, (stream) => {
      requests += 1;
      stream.close(code);
    });
    const client = connect(t, url, { giveUpAfterMs: 300 });
    await assert.rejects(client.result({ taskId: "T", batchId: "b" }), {
      name: "Unavailable",
      message: /batch b may be running/,
    });
    assert.ok(requests > 1, `${requests} requests`);
    requests = 0;
    await assert.rejects(client.callTool({ taskId: "T", tool: "echo" }), { name: "Unavailable", message: /may have happened/ });
    assert.equal(requests, 1, "what may have happened is not repeated");
  });
}

test("an answer that is cut inside a message is a lost connection", async (t) => {
  const url = await serve(t, (stream) => {
    stream.respond(OPEN);
    stream.end(Buffer.from([0, 0, 0, 0, 9, 1, 2]));
  });
  await assert.rejects(connect(t, url, { giveUpAfterMs: 300 }).result({ taskId: "T" }), Unavailable);
});

test("what is given up names the last real cause, and not its own cut", async (t) => {
  let requests = 0;
  const url = await serve(t, (stream) => {
    requests += 1;
    if (requests === 1) stream.respond({ ...OPEN, "grpc-status": "14", "grpc-message": "it moves house" }, { endStream: true });
  });
  const running = connect(t, url, { giveUpAfterMs: 500 }).result({ taskId: "T" });
  await assert.rejects(running, { name: "Unavailable", message: /500 ms, and the last attempt failed with: it moves house;/ });
  assert.equal(requests, 2);
});

test("a deadline that nobody set is the server's refusal", async (t) => {
  const url = await serve(t, (stream) => {
    stream.respond({ ...OPEN, "grpc-status": "4", "grpc-message": "too slow" }, { endStream: true });
  });
  const client = connect(t, url);
  for (const asked of [client.result({ taskId: "T" }), client.callTool({ taskId: "T", tool: "echo" })]) {
    await assert.rejects(asked, { name: "Refused", status: "DEADLINE_EXCEEDED", message: "too slow" });
  }
  await assert.rejects(client.result({ taskId: "T" }, { timeoutMs: 60_000 }), { name: "DeadlineExceeded" });
});

test("a shortage refuses what is not repeated", async (t) => {
  // google.rpc.Status of code 8, with a RetryInfo of 2 s.
  const info = Buffer.from([0x0a, 2, 8, 2]);
  const type = Buffer.from("type.googleapis.com/google.rpc.RetryInfo");
  const any = Buffer.concat([Buffer.from([0x0a, type.length]), type, Buffer.from([0x12, info.length]), info]);
  const status = Buffer.concat([Buffer.from([8, 8, 0x1a, any.length]), any]).toString("base64");
  const url = await serve(t, (stream) => {
    stream.respond(
      { ...OPEN, "grpc-status": "8", "grpc-message": "full", "grpc-status-details-bin": status },
      { endStream: true },
    );
  });
  await assert.rejects(connect(t, url).callTool({ taskId: "T", tool: "echo" }), (error) => {
    assert.ok(error instanceof Refused);
    assert.deepEqual([error.status, error.retryDelayMs], ["RESOURCE_EXHAUSTED", 2000]);
    return true;
  });
});

test("an outcome of a kind that is new is not taken for a result", async (t) => {
  const url = await serve(t, (stream) => {
    stream.respond(OPEN, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.alloc(5));
  });
  const asked = connect(t, url).callTool({ taskId: "T", tool: "echo" });
  await assert.rejects(asked, { name: "Unavailable", message: /no outcome that is known here/ });
});

test("a connection that never comes to stand is given up", async (t) => {
  const server = createTcpServer();
  const url = `https://127.0.0.1:${await listen(t, server)}`;
  const accepted = once(server, "connection");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const asked = connect(t, url).setVariable("T", 1);
  await accepted;
  t.mock.timers.tick(20_000);
  await assert.rejects(asked, { name: "Unavailable", message: /no connection within 20000 ms/ });
});

test("a client that is closed, or a caller that has cancelled, opens no connection", async (t) => {
  const server = createTcpServer();
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  const url = `http://127.0.0.1:${await listen(t, server)}`;
  const client = connect(t, url);
  await assert.rejects(client.step("s", { signal: AbortSignal.abort() }), { name: "AbortError" });
  await assert.rejects(client.run({ taskId: "T" }, { signal: AbortSignal.abort() }).next(), { name: "AbortError" });
  client.close();
  await assert.rejects(client.step("s"), /the client is closed/);
  await assert.rejects(client.run({ taskId: "T" }).next(), /the client is closed/);
  const last = once(server, "connection");
  const other = connect(t, url, { giveUpAfterMs: 100 }).step("s");
  await last;
  await assert.rejects(other, Unavailable);
  assert.equal(connections, 1);
});

test("any number of requests share a signal without a warning", async (t) => {
  const warnings: Error[] = [];
  const listener = (warning: Error) => warnings.push(warning);
  process.on("warning", listener);
  t.after(() => process.off("warning", listener));
  const url = await serve(t, () => {});
  const client = connect(t, url);
  const controller = new AbortController();
  const { signal } = controller;
  const asked = Array.from({ length: 40 }, () => assert.rejects(client.step("s", { signal }), { name: "AbortError" }));
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort();
  await Promise.all(asked);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(warnings, []);
});
