/** Processes of users: nothing of the library keeps them, and no rejection goes unhandled (Node would end them with code 1). */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Program, run } from "./support/program.js";
import { freeAddress, PACKAGE, Server, temporaryFolder } from "./support/server.js";
import { connect, setting, Tools } from "./support/setting.js";

const LIBRARY = pathToFileURL(join(PACKAGE, "dist/index.js")).href;

test("a client's process ends by itself after close, whatever ran", async (t) => {
  const tools = new Tools();
  const { server } = await setting(t, tools);
  const script = join(await temporaryFolder(t), "client.mjs");
  await writeFile(
    script,
    `import { Client } from ${JSON.stringify(LIBRARY)};
const client = new Client({ server: ${JSON.stringify(server.url)} });
const batch = { taskId: "T", calls: [{ tool: "hold" }] };
for await (const event of client.run(batch)) if (event.kind === "call_started") break;
const running = client.run(batch);
await running.next();
const open = running.next();
await client.result(batch, { timeoutMs: 50 }).catch((error) => console.log(error.name));
await client.result(batch, { signal: AbortSignal.timeout(50) }).catch((error) => console.log(error.name));
const controller = new AbortController();
const aborted = client.result(batch, { signal: controller.signal });
controller.abort();
await aborted.catch((error) => console.log(error.name));
client.close();
const nowhere = new Client({ server: "http://${await freeAddress()}", giveUpAfterMs: 100 });
const lost = nowhere.result(batch);
await lost.catch((error) => console.log(error.name));
const late = nowhere.run(batch);
const waiting = late.next();
await late.return();
await waiting;
nowhere.close();
await open.then(() => open, () => {});
`,
  );
  const output = await run(process.execPath, ["--unhandled-rejections=strict", script]);
  assert.deepEqual(output.trim().split("\n"), ["DeadlineExceeded", "TimeoutError", "AbortError", "Unavailable"]);
  tools.released.open();
});

test("a backend's process ends with code 0 at SIGTERM and SIGINT", async (t) => {
  const script = join(await temporaryFolder(t), "backend.mjs");
  await writeFile(
    script,
    `import { Backend } from ${JSON.stringify(LIBRARY)};
const { address } = await new Backend().tool({ name: "t" }, () => 1).serve("127.0.0.1:0");
console.log("serving", address);
`,
  );
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const backend = await Program.start(t, script, [], "serving");
    assert.equal(await backend.end(signal), 0);
  }
});

test("a tool that never ends does not keep a backend's process", async (t) => {
  const address = await freeAddress();
  const script = join(await temporaryFolder(t), "backend.mjs");
  await writeFile(
    script,
    `import { Backend } from ${JSON.stringify(LIBRARY)};
const backend = new Backend().tool({ name: "hang" }, () => {
  console.log("held");
  return new Promise((resolve) => setTimeout(resolve, 3_600_000));
});
await backend.serve("${address}", { graceMs: 10 });
console.log("serving");
`,
  );
  const backend = await Program.start(t, script, [], "serving");
  const client = connect(t, await Server.start(t, { backend: address }));
  const held = backend.said("held");
  const running = client.result({ taskId: "T", calls: [{ tool: "hang" }] });
  await held;
  assert.equal(await backend.end("SIGTERM"), 0);
  const { results } = await running;
  assert.equal(results[0]?.error?.outcomeUnknown, true);
});
