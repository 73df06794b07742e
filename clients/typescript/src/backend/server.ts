import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import {
  constants,
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Health as HealthService } from "../gen/grpc/health/v1/health_pb.js";
import { ToolService } from "../gen/toolbatch/v1/tool_pb.js";
import type { DeclaredTool } from "./declaration.js";
import { Health } from "./health.js";
import { type ErrorListener, Tools } from "./service.js";

const MIB = 1024 * 1024;
/** Of a request: args of 1 MiB, and room for what stands around them. */
const READ_MAX_BYTES = 5 * MIB;
/** Of an answer: a result of 64 MiB, and what stands around it. */
const WRITE_MAX_BYTES = 65 * MIB;
const GRACE_MS = 30_000;
/** How long calls that were cancelled have to end by themselves. */
const CANCELLED_MS = 1_000;

/** How a backend serves. */
export interface ServeOptions {
  /** How long running calls may finish once it stops, in milliseconds. Left out: 30,000. Then they are cancelled. */
  readonly graceMs?: number | undefined;
  /** Stop at SIGTERM and SIGINT (the default). A second signal ends the process at once. */
  readonly handleSignals?: boolean | undefined;
  /** The paths of PEM files: its certificate chain, its private key, and the authority of callers' certificates, which are asked for then. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string | undefined } | undefined;
  /** Told of errors that are no `ToolFailure`. Left out: they are written to standard error. */
  readonly onError?: ErrorListener | undefined;
}

/** A backend that serves. */
export class RunningBackend {
  readonly #server: Http2Server | Http2SecureServer;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #stopping = new AbortController();
  readonly #cancelled = new AbortController();
  readonly #graceMs: number;
  readonly #handleSignals: boolean;
  readonly #onSignal = () => void this.stop();
  #stopped: Promise<void> | undefined;

  /** Made by {@link Backend.serve}. */
  constructor(tools: ReadonlyMap<string, DeclaredTool>, options: ServeOptions) {
    this.#graceMs = options.graceMs ?? GRACE_MS;
    const service = new Tools(tools, options.onError ?? logError, this.#cancelled.signal);
    const handle = connectNodeAdapter({
      routes: (router) => {
        router.service(ToolService, service.implementation);
        router.service(HealthService, new Health(this.#stopping.signal).implementation);
      },
      connect: false,
      grpcWeb: false,
      readMaxBytes: READ_MAX_BYTES,
      writeMaxBytes: WRITE_MAX_BYTES,
    });
    this.#server = listener(options.tls, (request, response) => {
      // A refused stream tells the caller for certain that nothing ran.
      if (this.#stopping.signal.aborted) response.stream.close(constants.NGHTTP2_REFUSED_STREAM);
      else handle(request, response);
    });
    this.#server.on("session", (session) => this.#keep(session));
    this.#handleSignals = options.handleSignals ?? true;
  }

  /** Where it listens: `HOST:PORT` or `unix:/PATH`. */
  get address(): string {
    const address = this.#server.address();
    if (address === null) throw new Error("the backend has stopped and listens nowhere");
    if (typeof address === "string") return `unix:${address}`;
    return address.family === "IPv6" ? `[${address.address}]:${address.port}` : `${address.address}:${address.port}`;
  }

  /** Made by {@link Backend.serve}: binds the address. */
  async listen(address: string): Promise<this> {
    const target = parseAddress(address);
    if (target.path !== undefined) await removeStaleSocket(target.path);
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(target, () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    if (this.#handleSignals) {
      process.once("SIGTERM", this.#onSignal);
      process.once("SIGINT", this.#onSignal);
    }
    return this;
  }

  /**
   * Stops gracefully: health says NOT_SERVING, no new call is taken, running ones may finish within the grace period and are cancelled then.
   *
   * @returns when all is closed. Asked twice, it is the same end.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    process.off("SIGTERM", this.#onSignal);
    process.off("SIGINT", this.#onSignal);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#stopping.abort();
    for (const session of this.#sessions) session.close();
    if (!(await within(this.#graceMs, closed))) {
      this.#cancelled.abort(new DOMException("the backend stops, and its grace period is over", "AbortError"));
      await within(CANCELLED_MS, closed);
      for (const session of this.#sessions) session.destroy();
    }
    await closed;
  }

  #keep(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    // A connection that breaks ends its calls by their signal; there is nothing else to do about it.
    session.on("error", () => session.destroy());
    if (this.#stopping.signal.aborted) session.close();
  }
}

type Listener = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

function listener(tls: ServeOptions["tls"], handle: Listener): Http2Server | Http2SecureServer {
  const settings = { maxSessionMemory: 256, settings: { initialWindowSize: MIB } };
  if (tls === undefined) return createServer(settings, handle);
  const { cert, key, clientCa } = tls;
  return createSecureServer(
    {
      ...settings,
      cert: readFileSync(cert),
      key: readFileSync(key),
      ...(clientCa !== undefined && { ca: readFileSync(clientCa), requestCert: true, rejectUnauthorized: true }),
    },
    handle,
  );
}

interface Target {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
}

function parseAddress(address: string): Target {
  if (address.startsWith("unix:/")) return { path: address.slice("unix:".length) };
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):([0-9]{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || !(port <= 65535)) {
    throw new TypeError(`expected the address as HOST:PORT or unix:/PATH, found ${JSON.stringify(address)}`);
  }
  return { host, port };
}

/** Removes what a backend that was killed left of its socket; one at which somebody listens stays. */
async function removeStaleSocket(path: string): Promise<void> {
  const code = await new Promise<string | undefined>((resolve) => {
    const probe = connect(path, () => {
      probe.destroy();
      resolve(undefined);
    });
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  if (code === "ECONNREFUSED") await rm(path, { force: true });
}

/** Whether something happens within a time. */
async function within(ms: number, event: Promise<void>): Promise<boolean> {
  const timer = new AbortController();
  try {
    const late = sleep(ms, false, { signal: timer.signal }).catch(() => false);
    return await Promise.race([event.then(() => true), late]);
  } finally {
    timer.abort();
  }
}

function logError(error: unknown, tool: string, { stepId, attempt }: Parameters<ErrorListener>[2]): void {
  console.error(`tool ${tool} broke off at attempt ${attempt} of step ${stepId}:`, error);
}
