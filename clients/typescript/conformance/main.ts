/** The program that the conformance suite speaks to: `client`, or `backend HOST:PORT`. Thin: what is tested is the library. */
import { serveTools } from "./backend.js";
import { answerRequests } from "./client.js";

const [role, address] = process.argv.slice(2);
if (role === "client") {
  await answerRequests(process.stdin, process.stdout);
} else if (role === "backend" && address !== undefined) {
  await serveTools(address);
  process.stdout.write("listening\n");
} else {
  console.error("expected: client, or backend HOST:PORT");
  process.exitCode = 2;
}
