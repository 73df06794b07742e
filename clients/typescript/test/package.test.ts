import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { run } from "./support/program.js";
import { PACKAGE, temporaryFolder } from "./support/server.js";
import { setting, Tools } from "./support/setting.js";

/** A program of somebody else. */
const USER = `import { createClient } from "@connectrpc/connect";
import { Backend, type BatchEvent, Client, type JsonValue, Refused, ToolFailure } from "toolbatch";
import { type AnthropicTool, definitions } from "toolbatch/llm";
import { TaskService } from "toolbatch/proto";

interface Order { contract: string; quantity?: number }
const order: Order = { contract: "ES" };
const backend = new Backend();
backend.tool<Order>({ name: "post", inputSchema: { type: "object" } }, async ({ contract, quantity = 1 }, context): Promise<Order> => {
  if (contract === "") throw new ToolFailure("which?", { code: "EMPTY" });
  context.usage("orders", quantity);
  return { contract, quantity };
});
const running = await backend.serve("127.0.0.1:0");

const client = new Client();
const kinds: BatchEvent["kind"][] = [];
let value: JsonValue | undefined;
for await (const event of client.run({ taskId: "T", calls: [{ tool: "echo", args: order }] })) {
  kinds.push(event.kind);
  if (event.kind === "call_finished") value = event.result.value();
}
const { steps } = await createClient(TaskService, client.transport).listSteps({ taskId: "T" });
const tools: AnthropicTool[] = await definitions(client, "anthropic");
const refused = await client.step("nowhere").catch((error: unknown) => error);
client.close();
await running.stop();
console.log(JSON.stringify([kinds.at(-1), value, steps.length > 0, tools.length > 0, refused instanceof Refused && refused.status]));
`;

const TSCONFIG = {
  compilerOptions: {
    target: "es2022",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    typeRoots: [join(PACKAGE, "node_modules/@types")],
    types: ["node"],
  },
  include: ["*.ts"],
};

test("the package is installed and used from outside, with its types", async (t) => {
  const folder = await temporaryFolder(t);
  const { server } = await setting(t, new Tools());
  const pack = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
  const tarball = (await run("npm", pack, { cwd: PACKAGE })).trim();
  const packed = (await run("tar", ["-tzf", join(folder, tarball)])).trim().split("\n");
  const odd = packed.filter((name) => !/^package\/(dist\/.+\.(js|d\.ts)|README\.md|LICENSE|package\.json)$/.test(name));
  assert.deepEqual(odd, []);
  assert.ok(packed.includes("package/README.md") && packed.includes("package/LICENSE"));

  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(TSCONFIG));
  await writeFile(join(folder, "user.ts"), USER);
  const install = ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", `./${tarball}`];
  await run("npm", install, { cwd: folder });
  const installed = await readdir(join(folder, "node_modules"));
  assert.deepEqual(
    installed.filter((name) => !name.startsWith(".")),
    ["@bufbuild", "@connectrpc", "toolbatch"],
  );
  const compiler = [join(PACKAGE, "node_modules/typescript/bin/tsc"), "-p", "."];
  await run(process.execPath, [...compiler, "--noEmit", "--module", "node16", "--moduleResolution", "node16"], { cwd: folder });
  await run(process.execPath, [...compiler, "--noEmit", "--module", "preserve", "--moduleResolution", "bundler"], {
    cwd: folder,
  });
  await run(process.execPath, compiler, { cwd: folder });
  const output = await run(process.execPath, ["user.js"], { cwd: folder, env: { TOOLBATCH_SERVER: server.url } });
  assert.deepEqual(JSON.parse(output), ["batch_finished", { contract: "ES" }, true, true, "NOT_FOUND"]);
});
