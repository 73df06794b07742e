import type { Client as Stub } from "@connectrpc/connect";
import type { Attempts } from "./attempts.js";
import type { TaskService } from "./gen/toolbatch/v1/task_pb.js";

/** Reads a step's whole result, going on at the byte where a connection was lost. */
export async function readStepResult(tasks: Stub<typeof TaskService>, stepId: string, attempts: Attempts): Promise<string> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const pieces: string[] = [];
  let offset = 0;
  for (;;) {
    try {
      const request = { stepId, offset: BigInt(offset) };
      for await (const { chunk } of attempts.stream((options) => tasks.readStepResult(request, options))) {
        attempts.succeeded();
        offset += chunk.byteLength;
        pieces.push(decoder.decode(chunk, { stream: true }));
      }
      pieces.push(decoder.decode());
      return pieces.join("");
    } catch (error) {
      await attempts.again(error, {});
    }
  }
}
