import { createInterface } from "node:readline";
import {
  type BatchStream,
  Client,
  type JsonInput,
  type JsonObject,
  parseJson,
  type RequestOptions,
  rawJson,
  writeJson,
} from "toolbatch";
import { definitions, toolCall } from "toolbatch/llm";
import { contains } from "./contains.js";
import { normalEvent, normalFailure, normalStep, normalSummary, normalUsage } from "./normal.js";
import { batchOf, clientOptions, type Request } from "./request.js";

type Write = (line: JsonInput) => void;

/** Does one request a line, until the input ends. */
export async function answerRequests(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<void> {
  const write: Write = (line) => void output.write(`${writeJson(line)}\n`);
  for await (const line of createInterface({ input })) {
    if (line.trim() !== "") write({ end: await answer(parseJson(line) as unknown as Request, write) });
  }
}

async function answer(request: Request, write: Write): Promise<JsonInput> {
  const cancellation = new AbortController();
  const client = new Client(clientOptions(request));
  try {
    return await ask(client, request, cancellation, write);
  } catch (error) {
    if (cancellation.signal.aborted && error === cancellation.signal.reason) return { cancelled: true };
    const end = normalFailure(error);
    if (end === undefined) throw error;
    return end;
  } finally {
    client.close();
  }
}

async function ask(client: Client, request: Request, cancellation: AbortController, write: Write): Promise<JsonInput> {
  const { task_id, batch_id, step_id, format } = request;
  const options: RequestOptions = { signal: cancellation.signal, timeoutMs: request.deadline_ms };
  switch (request.do) {
    case "run":
      return await follow(client.run(batchOf(request.batch), options), request, cancellation, write);
    case "watch": {
      const stream = client.watch(batch_id, { ...options, afterSequence: request.after_sequence });
      return await follow(stream, request, cancellation, write);
    }
    case "result":
      return { finished: normalSummary(await client.result(batchOf(request.batch), options)) };
    case "cancel_batch": {
      const batch = await client.cancelBatch(batch_id, { ...options, abortRunning: request.abort_running });
      return { value: normalSummary(batch.summary) };
    }
    case "set_variable": {
      const value = rawJson(request.value_json);
      return { value: await client.setVariable(task_id, value, { ...options, name: request.name }) };
    }
    case "step":
      return { value: normalStep(await client.step(step_id, options)) };
    case "step_result":
      return { raw: await client.stepResult(step_id, options) };
    case "usage": {
      const rows: JsonInput[] = [];
      for await (const row of client.usage(task_id, options)) rows.push(normalUsage(row));
      return { value: rows };
    }
    case "definitions":
      return { value: (await definitions(client, format, options)) as unknown as JsonInput };
    case "tool_call":
      return { value: (await toolCall(client, request.call, { ...options, taskId: task_id })) as unknown as JsonInput };
    default:
      throw new TypeError(`there is nothing called ${JSON.stringify(request.do)} to do`);
  }
}

/** Writes a stream's events, and gives how it ended. */
async function follow(stream: BatchStream, { stop }: Request, cancellation: AbortController, write: Write): Promise<JsonInput> {
  for await (const event of stream) {
    const shown = normalEvent(event) as JsonObject;
    write({ event: shown });
    if (event.kind === "batch_finished") return { finished: normalSummary(event.summary) };
    if (event.kind === "batch_planned") return { planned: true };
    if (stop !== undefined && contains(shown, stop.after)) {
      if (stop.how === "leave") return { left: true };
      cancellation.abort();
    }
  }
  return { over: true };
}
