import type { TestContext } from "node:test";
import {
  Backend,
  type BatchEvent,
  type BatchStream,
  Client,
  type ClientOptions,
  type RunningBackend,
  rawJson,
  type ServeOptions,
  ToolFailure,
} from "toolbatch";
import { Gate } from "./gate.js";
import { Server, type Setup } from "./server.js";

/** A backend, a server and a client, all real. */
export interface Setting {
  readonly backend: RunningBackend;
  readonly server: Server;
  readonly client: Client;
}

/** Starts all three; they end with the test. */
export async function setting(test: TestContext, tools: Backend, setup: Setup = {}, serve: ServeOptions = {}): Promise<Setting> {
  const backend = await tools.serve("127.0.0.1:0", { handleSignals: false, graceMs: 0, ...serve });
  test.after(() => backend.stop());
  const server = await Server.start(test, { backend: backend.address, ...setup });
  const client = connect(test, server);
  return { backend, server, client };
}

/** A client that is closed with the test. */
export function connect(test: TestContext, server: Server | string, options: ClientOptions = {}): Client {
  const client = new Client({ server: typeof server === "string" ? server : server.url, ...options });
  test.after(() => client.close());
  return client;
}

/** Tools that most tests need: `echo`, `native`, `fail`, `large`, and `hold`, which waits at a gate. */
export class Tools extends Backend {
  /** Passed once `hold` has been called. */
  readonly held = new Gate();
  /** What `hold` waits for. */
  readonly released = new Gate();
  /** How often `hold` was called. */
  holds = 0;

  constructor() {
    super();
    this.tool({ name: "echo" }, (_, { argsJson }) => rawJson(argsJson));
    this.tool({ name: "native" }, (args) => args);
    this.tool({ name: "fail" }, () => {
      throw new ToolFailure("it is locked", { code: "LOCKED" });
    });
    this.tool<{ bytes: number }>({ name: "large" }, ({ bytes }) => "x".repeat(bytes));
    this.tool({ name: "hold" }, async (_, { attempt }) => {
      this.holds += 1;
      this.held.open();
      await this.released.passed;
      return { attempt };
    });
  }
}

/** All events of a stream. */
export async function all(stream: AsyncIterable<BatchEvent>): Promise<BatchEvent[]> {
  const events: BatchEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Reads a stream's events up to a sequence, and the rest aside. */
export async function upTo(sequence: number, stream: BatchStream): Promise<{ readonly rest: Promise<BatchEvent[]> }> {
  while (stream.lastSequence < sequence) await stream.next();
  return { rest: all(stream) };
}

/** Kinds and sequences, for comparing. */
export function outline(events: readonly BatchEvent[]): string[] {
  return events.map(({ kind, sequence }) => `${sequence} ${kind}`);
}
