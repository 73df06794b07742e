import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { Backend, Client, Unavailable } from "toolbatch";
import { authority } from "./support/authority.js";
import { run } from "./support/program.js";
import { freeAddress, PACKAGE, Server, temporaryFolder } from "./support/server.js";
import { all, connect, setting, Tools, upTo } from "./support/setting.js";

test("what cannot be connected to is said", () => {
  for (const server of [
    "",
    "127.0.0.1:50051",
    "ftp://x",
    "http://",
    "http://h/path",
    "http://h?q=1",
    "http://h#part",
    "http://h\\path",
    "http://h:0",
    "http://h:65536",
    "http://h:1\n",
    "unix:relative",
  ]) {
    const message = `expected the server as http://HOST:PORT, https://HOST:PORT or unix:/PATH, found ${JSON.stringify(server)}`;
    assert.throws(() => new Client({ server }), { name: "TypeError", message });
  }
  for (const server of ["http://me:hidden@h", "http://:hidden@h"]) {
    assert.throws(() => new Client({ server }), { name: "TypeError", message: /^(?!.*hidden).*without a name or password/ });
  }
  for (const path of [`/${"x".repeat(107)}`, "/a\0b"]) {
    assert.throws(() => new Client({ server: `unix:${path}` }), { name: "TypeError", message: /bytes without NUL/ });
  }
  assert.throws(() => new Client({ server: "https://h", cert: "c.pem" }), /cert and key together/);
  const noPem = import.meta.filename;
  for (const tls of [{ ca: noPem }, { cert: noPem, key: noPem }]) {
    assert.throws(() => new Client({ server: "https://h", ...tls }), { name: "TypeError", message: /expected PEM files/ });
  }
  assert.throws(() => new Client({ server: "https://h", ca: "/nowhere.pem" }), { code: "ENOENT" });
  assert.throws(
    () => new Client({ server: "http://h", ca: import.meta.filename ?? new URL(import.meta.url).pathname }),
    /uses no TLS/,
  );
  assert.throws(() => new Client({ giveUpAfterMs: -1 }), { name: "RangeError" });
});

test("a token that cannot be sent is said at once, and never shown", async (t) => {
  for (const token of ["hidden\n", "hid\nden", " hidden", "hiddén", "hidden€", "hidden\0"]) {
    for (const options of [{ token }, { tenant: token }]) {
      assert.throws(
        () => new Client(options),
        (error) => {
          assert.ok(error instanceof TypeError);
          assert.match(error.message, /printable ASCII/);
          assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /hid[^d]?d[eé€]/);
          return true;
        },
      );
    }
  }
  const client = connect(t, `http://${await freeAddress()}`, { token: "hidden", giveUpAfterMs: 50 });
  const error = await client.step("s").catch((error: unknown) => error);
  assert.doesNotMatch(inspect([client, error], { depth: 9, showHidden: true }), /hidden/);
  const headers = { authorization: "Bearer hid\nden" };
  await assert.rejects(client.step("s", { headers }), { name: "TypeError", message: /^(?!.*den).*the header authorization/s });
});

test("what cannot be sent is said before anything is", async (t) => {
  const client = connect(t, "http://127.0.0.1:1");
  const calls = [{ tool: "echo" }];
  for (const [batch, message] of [
    [{ taskId: "T", calls, callsRef: "$" }, /calls or callsRef, found both/],
    [{ taskId: "T", calls: [{ tool: "echo", args: {}, argsJson: "{}" }] }, /calls\[0\]\.args as a value or as text/],
    [{ taskId: "T", calls: [{ tool: "echo", args: { n: Number.NaN } }] }, /calls\[0\]\.args: cannot write NaN as JSON at \$\.n/],
    [{ taskId: "T", calls: [{ tool: "echo", argsJson: '"\ud800"' }] }, /half of a surrogate pair/],
    [{ taskId: 7 as unknown as string, calls }, /expected taskId as text, found number/],
    [{ taskId: "T", calls, mode: "fast" as "parallel" }, /expected mode as one of sequential, parallel, found "fast"/],
    [{ taskId: "T", calls, maxConcurrency: 1.5 }, /expected maxConcurrency as a whole number/],
    [{ taskId: "T", calls, callTimeoutMs: Number.NaN }, /expected callTimeoutMs as a number of milliseconds/],
  ] as const) {
    assert.throws(() => client.run(batch), message);
    await assert.rejects(client.result(batch), message);
  }
  assert.throws(() => client.watch("b", { afterSequence: -1 }), /afterSequence as a whole number/);
  await assert.rejects(client.result({ taskId: "T", calls }, { timeoutMs: 0 }), /timeoutMs above 0/);
});

test("the environment names server and token", async (t) => {
  const { server } = await setting(t, new Tools());
  process.env.TOOLBATCH_SERVER = server.url;
  t.after(() => delete process.env.TOOLBATCH_SERVER);
  const client = new Client();
  t.after(() => client.close());
  assert.equal((await client.result({ taskId: "T", calls: [{ tool: "echo" }] })).status, "completed");
});

test("a Unix socket, on both sides", async (t) => {
  const folder = await temporaryFolder(t);
  const address = `unix:${join(folder, "backend")}`;
  const backend = await new Tools().serve(address, { handleSignals: false, graceMs: 0 });
  t.after(() => backend.stop());
  assert.equal(backend.address, address);
  const config = `[[backends]]\nname = "ts"\naddresses = ["${address}"]\n`;
  const client = connect(t, await Server.start(t, { unix: true, config }));
  assert.equal((await client.result({ taskId: "T", calls: [{ tool: "echo" }] })).status, "completed");
  await assert.rejects(new Backend().serve(address, { handleSignals: false }), { code: "EADDRINUSE" });
  await writeFile(join(folder, "file"), "somebody's");
  await assert.rejects(new Backend().serve(`unix:${join(folder, "file")}`, { handleSignals: false }), { code: "EADDRINUSE" });
  assert.equal(await readFile(join(folder, "file"), "utf8"), "somebody's");
  await assert.rejects(new Backend().serve(`unix:/${"x".repeat(150)}`), /bytes without NUL/);
});

test("the socket of a backend that was killed is taken over", async (t) => {
  const address = `unix:${join(await temporaryFolder(t), "backend")}`;
  const script =
    "import { Backend } from 'toolbatch'; await new Backend().serve(process.argv[1]); process.kill(process.pid, 'SIGKILL')";
  const args = ["--input-type=module", "-e", script, address];
  await assert.rejects(run(process.execPath, args, { cwd: PACKAGE }), /SIGKILL/);
  const backend = await new Tools().serve(address, { handleSignals: false });
  await backend.stop();
});

test("TLS with a private authority, certificates on both sides, and a token", async (t) => {
  const { ca, cert, key } = await authority(t);
  const token = "a-token-of-an-agent-0123456789abcdef";
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, "token"), token);
  const agent = `[[agents]]\nid = "ada"\ntoken_file = "${join(folder, "token")}"\ntools = ["execute_tool_batch", "echo"]\n`;
  const config = `[tls]\ncert = "${cert}"\nkey = "${key}"\nclient_ca = "${ca}"\n${agent}`;
  const { server } = await setting(t, new Tools(), { tls: true, config });
  const calls = [{ tool: "echo" }];

  const client = connect(t, server, { ca, cert, key, token });
  const [started] = await all(client.run({ taskId: "T", calls }));
  assert.ok(started?.kind === "batch_started");
  assert.equal(started.agentId, "ada");

  const nobody = connect(t, server, { ca, cert, key });
  await assert.rejects(nobody.result({ taskId: "T", calls }), { name: "Refused", status: "UNAUTHENTICATED" });
  for (const options of [{ cert, key }, { ca }]) {
    const stranger = connect(t, server, { ...options, giveUpAfterMs: 200 });
    await assert.rejects(stranger.result({ taskId: "T", calls }), Unavailable);
  }
});

test("a closed client ends what runs on it, and the batch goes on", async (t) => {
  const tools = new Tools();
  const { client, server } = await setting(t, tools);
  const closing = connect(t, server);
  const { rest } = await upTo(2, closing.run({ taskId: "T", batchId: "b", calls: [{ tool: "hold" }] }));
  closing.close();
  await assert.rejects(rest, { name: "Unavailable", message: /the client is closed; batch b goes on/, lastSequence: 2 });
  await assert.rejects(closing.step("s"), /the client is closed/);
  await assert.rejects(closing.setVariable("T", 1), /the client is closed/);
  await assert.rejects(all(closing.watch("b")), /the client is closed/);
  tools.released.open();
  assert.equal((await all(client.watch("b"))).at(-1)?.kind, "batch_finished");
});
