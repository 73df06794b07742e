/** Serves one tool, at the address that is given. */
import { Backend, ToolFailure } from "toolbatch";

const [address] = process.argv.slice(2);
if (address === undefined) throw new Error("expected one argument, the address to serve at, such as 127.0.0.1:7001");
const inputSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const backend = new Backend();
backend.tool<{ name: string }>({ name: "greet", description: "Greets someone by name", inputSchema }, ({ name }) => {
  if (name === "") throw new ToolFailure("there is nobody to greet", { code: "NOBODY" });
  return { greeting: `Hello, ${name}` };
});
const running = await backend.serve(address);
console.log(`serving at ${running.address}`);
