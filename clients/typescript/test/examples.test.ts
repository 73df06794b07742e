import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Program, run } from "./support/program.js";
import { freeAddress, PACKAGE, Server } from "./support/server.js";

const example = (name: string) => join(PACKAGE, "build/examples", `${name}.js`);

test("the examples do what they say, and end by themselves", async (t) => {
  const address = await freeAddress();
  const greeter = await Program.start(t, example("greeter"), [address], `serving at ${address}`);
  const server = await Server.start(t, { backend: address });
  const env = { TOOLBATCH_SERVER: server.url };

  const lines = (await run(process.execPath, [example("first_batch")], { env })).trim().split("\n");
  assert.ok(lines.includes('greet-Ada completed {"greeting":"Hello, Ada"}'), String(lines));
  assert.equal(lines.at(-1), "completed 3 of 3");
  const again = await run(process.execPath, [example("first_batch")], { env });
  assert.match(again, /^greet-Ada skipped/m);

  const use = { type: "tool_use", id: "t-1", name: "greet", input: { name: "Ada" } };
  const input = JSON.stringify({ content: [{ type: "text", text: "I greet." }, use] });
  const answer = JSON.parse(await run(process.execPath, [example("model")], { env, input }));
  assert.deepEqual(answer, [{ type: "tool_result", tool_use_id: "t-1", content: '{"greeting":"Hello, Ada"}' }]);

  assert.equal(await greeter.end("SIGTERM"), 0);
  await assert.rejects(run(process.execPath, [example("greeter")]), /expected one argument/);
});
