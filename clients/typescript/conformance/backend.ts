import { access, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { awaiting, Backend, landed, notLanded, rawJson, ToolFailure } from "toolbatch";

/** Serves the suite's tools; SIGTERM stops it. */
export async function serveTools(address: string): Promise<void> {
  const backend = new Backend();
  echoes(backend);
  outcomes(backend);
  reports(backend);
  gates(backend);
  await backend.serve(address);
}

/** Tools that give back what they got. */
function echoes(backend: Backend): void {
  const inputSchema = { type: "object" };
  backend.tool({ name: "echo", inputSchema }, (_, context) => rawJson(context.argsJson));
  backend.tool({ name: "native", inputSchema }, (args) => args);
  backend.tool<{ contract: string; quantity?: number | bigint }>(
    {
      name: "post_order",
      inputSchema: {
        type: "object",
        properties: { contract: { type: "string" }, quantity: { type: "integer", minimum: 1 } },
        required: ["contract"],
        additionalProperties: false,
      },
    },
    ({ contract, quantity = 1 }) => ({ posted: contract, quantity }),
  );
  backend.tool({ name: "context", inputSchema }, (_, context) => ({
    task_id: context.taskId,
    agent_id: context.agentId,
    key: context.key,
    batch_id: context.batchId,
    step_id: context.stepId,
    index: context.index,
    attempt: context.attempt,
    idempotency_key: context.idempotencyKey,
    in_doubt: context.inDoubt,
  }));
}

/** Tools with an outcome of each kind. */
function outcomes(backend: Backend): void {
  backend.tool<{ message: string; code?: string; retryable?: boolean; times?: number }>(
    {
      name: "fail",
      inputSchema: {
        type: "object",
        properties: {
          message: { type: "string" },
          code: { type: "string" },
          retryable: { type: "boolean" },
          times: { type: "integer" },
        },
        required: ["message"],
      },
    },
    ({ message, code, retryable, times = Number.POSITIVE_INFINITY }, { attempt }) => {
      if (attempt > times) return { attempt };
      throw new ToolFailure(message, { code, retryable });
    },
  );
  backend.tool({ name: "crash", inputSchema: { type: "object" } }, () => {
    throw new Error("the tool's own secret");
  });
  backend.tool<{ await_id: string }>(
    { name: "review", inputSchema: { type: "object", properties: { await_id: { type: "string" } } } },
    ({ await_id }) => awaiting(await_id, { draft: true }),
  );
  backend.tool<{ bytes: number }>(
    { name: "large", inputSchema: { type: "object", properties: { bytes: { type: "integer" } } } },
    ({ bytes }) => "x".repeat(bytes),
  );
}

/** Tools that tell more than a result. */
function reports(backend: Backend): void {
  backend.tool<{ to: number }>(
    {
      name: "count",
      inputSchema: { type: "object", properties: { to: { type: "integer" } } },
      reportsProgress: true,
    },
    ({ to }, context) => {
      for (let done = 1; done <= to; done += 1) context.progress(done, to, `${done} of ${to}`);
      return { counted: to };
    },
  );
  backend.tool<{ unit: string; quantity: number }>(
    { name: "meter", inputSchema: { type: "object", properties: { unit: { type: "string" }, quantity: { type: "number" } } } },
    ({ unit, quantity }, context) => context.usage(unit, Number(quantity)),
  );
}

/** Tools that wait for a file. */
function gates(backend: Backend): void {
  const inputSchema = { type: "object", properties: { gate: { type: "string" } } };
  for (const pauses of [false, true]) {
    backend.tool<{ gate: string }>(
      { name: pauses ? "wait" : "hold", inputSchema, pauses },
      async ({ gate }, { attempt, inDoubt, signal }) => {
        await pass(gate, signal);
        return { attempt, in_doubt: inDoubt };
      },
    );
  }
  const noted = new Map<string, string>();
  backend.tool<{ entry: string; gate?: string }>(
    {
      name: "ledger",
      inputSchema: {
        type: "object",
        properties: { entry: { type: "string" }, gate: { type: "string" } },
        required: ["entry"],
      },
      lookup: (_, { idempotencyKey }) => {
        const entry = noted.get(idempotencyKey);
        return entry === undefined ? notLanded() : landed({ entry, looked_up: true });
      },
    },
    async ({ entry, gate }, { idempotencyKey, signal }) => {
      noted.set(idempotencyKey, entry);
      if (gate !== undefined) await pass(gate, signal);
      return { entry };
    },
  );
}

/** Says that it waits at a gate, and waits until it is open. */
async function pass(gate: string, signal: AbortSignal): Promise<void> {
  await writeFile(`${gate}.held`, "");
  while (!(await isThere(gate))) await sleep(10, undefined, { signal });
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
