import { readFileSync } from "node:fs";
import { lstat, rm } from "node:fs/promises";
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
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { socketPath } from "../address.js";
import { Health as HealthService } from "../gen/grpc/health/v1/health_pb.js";
import { ToolService } from "../gen/toolbatch/v1/tool_pb.js";
import { LONGEST_TIMER_MS } from "../retry.js";
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
  /**
   * Stop at SIGTERM and SIGINT (the default). A second signal ends the process at once, and so does the end of the stop where functions
   * that were cancelled go on all the same.
   */
  readonly handleSignals?: boolean | undefined;
  /** The paths of PEM files: its certificate chain, its private key, and the authority of callers' certificates, which are asked for then. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly clientCa?: string | undefined } | undefined;
  /** Told of errors that are no `ToolFailure`. Left out: they are written to standard error. */
  readonly onError?: ErrorListener | undefined;
}

/** Backends that a signal stops, until they have. */
const servingTillSignal = new Set<RunningBackend>();

/** A backend that serves. */
export class RunningBackend {
  readonly #server: Http2Server | Http2SecureServer;
  readonly #tools: Tools;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Map<ServerHttp2Session, Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #cancelled = new AbortController();
  readonly #graceMs: number;
  readonly #handleSignals: boolean;
  readonly #onSignal = () => void this.#end();
  #stopped: Promise<void> | undefined;

  /** Made by {@link Backend.serve}. */
  constructor(tools: ReadonlyMap<string, DeclaredTool>, options: ServeOptions) {
    this.#graceMs = options.graceMs ?? GRACE_MS;
    if (!(this.#graceMs >= 0)) throw new RangeError(`expected graceMs as milliseconds from 0, found ${this.#graceMs}`);
    this.#tools = new Tools(tools, options.onError ?? logError, this.#cancelled.signal);
    const handle = connectNodeAdapter({
      routes: (router) => {
        router.service(ToolService, this.#tools.implementation);
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
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
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
      servingTillSignal.add(this);
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

  /** Stops, and ends the process where a function of a tool would keep it. */
  async #end(): Promise<void> {
    await this.stop();
    if (this.#tools.areRunning && servingTillSignal.size === 0) process.exit();
  }

  async #stop(): Promise<void> {
    process.off("SIGTERM", this.#onSignal);
    process.off("SIGINT", this.#onSignal);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#stopping.abort();
    const finished = Promise.all(this.#sessions.values());
    for (const session of this.#sessions.keys()) session.close();
    if (!(await within(this.#graceMs, finished))) {
      this.#cancelled.abort(new DOMException("the backend stops, and its grace period is over", "AbortError"));
      await within(CANCELLED_MS, finished);
      for (const session of this.#sessions.keys()) session.destroy();
    }
    // Connections that never came to speak HTTP/2 would keep the listener open.
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    servingTillSignal.delete(this);
  }

  #keep(session: ServerHttp2Session): void {
    const closed = new Promise<void>((resolve) => session.once("close", resolve));
    this.#sessions.set(
      session,
      closed.then(() => void this.#sessions.delete(session)),
    );
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
  if (address.startsWith("unix:/")) return { path: socketPath(address.slice("unix:".length)) };
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):([0-9]{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || !(port <= 65535)) {
    throw new TypeError(`expected the address as HOST:PORT or unix:/PATH, found ${JSON.stringify(address)}`);
  }
  return { host, port };
}

/** Removes what a backend that was killed left of its socket; one at which somebody listens stays, and so does any other file. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found?.isSocket()) return;
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
async function within(ms: number, event: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  try {
    const late = sleep(Math.min(ms, LONGEST_TIMER_MS), false, { signal: timer.signal }).catch(() => false);
    return await Promise.race([event.then(() => true), late]);
  } finally {
    timer.abort();
  }
}

function logError(error: unknown, tool: string, { stepId, attempt }: Parameters<ErrorListener>[2]): void {
  console.error(`tool ${tool} broke off at attempt ${attempt} of step ${stepId}:`, error);
}
