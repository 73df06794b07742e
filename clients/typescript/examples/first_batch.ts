/** Runs three calls side by side, and shows each as it lands. */
import { Client } from "toolbatch";

const client = new Client(); // TOOLBATCH_SERVER, else http://127.0.0.1:50051
const calls = ["Ada", "Grace", "Edsger"].map((name) => ({ tool: "greet", key: `greet-${name}`, args: { name } }));
for await (const event of client.run({ taskId: "greetings", mode: "parallel", stopOnError: false, calls })) {
  if (event.kind === "call_finished") {
    console.log(event.result.key, event.result.status, event.result.resultJson ?? event.result.error?.message);
  }
  if (event.kind === "batch_finished") {
    const { status, succeeded, skipped, total } = event.summary;
    console.log(status, succeeded + skipped, "of", total);
  }
}
client.close();
