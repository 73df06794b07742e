import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, isIP, type Socket } from "node:net";
import { createSecureContext, type SecureContext, connect as secureConnect } from "node:tls";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { type ServerAddress, serverAddress } from "./address.js";
import { sendableHeaders, sendableValue } from "./headers.js";

const MIB = 1024 * 1024;
/** What a message of the server may have: a result of 64 MiB, and what stands around it. */
const READ_MAX_BYTES = 65 * MIB;
/** How long a connection may take to be made, with its TLS handshake. Then the next request begins another. */
const CONNECT_TIMEOUT_MS = 20_000;
const DEFAULT_SERVER = "http://127.0.0.1:50051";

/** Where the server is, and who asks. */
export interface ConnectOptions {
  /**
   * `http://HOST:PORT`, `https://HOST:PORT` or `unix:/PATH`. Left out: the environment's `TOOLBATCH_SERVER`, else
   * `http://127.0.0.1:50051`.
   */
  readonly server?: string | undefined;
  /** The bearer token, printable ASCII without blanks around it. Left out: the environment's `TOOLBATCH_TOKEN`, else none. */
  readonly token?: string | undefined;
  /** The path of a PEM file with the authority of the server's certificate; for `https`. Left out: those that Node trusts. */
  readonly ca?: string | undefined;
  /** The path of a PEM file with the certificate to show, where the server asks for one; with {@link key}. */
  readonly cert?: string | undefined;
  /** The path of a PEM file with the certificate's private key; with {@link cert}. */
  readonly key?: string | undefined;
  /** Whose tasks to ask for, as an operator: sent as `toolbatch-tenant`. An agent's tenant is that of its token. */
  readonly tenant?: string | undefined;
}

/** A way to the server. */
export interface Connection {
  readonly transport: Transport;
  /** Closes the connection and all that runs on it. */
  close(): void;
}

/**
 * Prepares a connection; it is opened with the first request, and again whenever it was lost.
 *
 * @throws TypeError for an address, a token, a tenant or PEM files that cannot be used; the file system's error for a PEM file that
 * cannot be read.
 */
export function connectTo(options: ConnectOptions): Connection {
  const server = options.server ?? (process.env.TOOLBATCH_SERVER || DEFAULT_SERVER);
  const address = serverAddress(server);
  const identity = headersOf(options);
  if (address.kind !== "https" && (options.ca ?? options.cert ?? options.key) !== undefined) throw tlsNotUsed(server);
  const secureContext = secureContextOf(options);
  const closed = new AbortController();
  const createConnection = () => {
    closed.signal.throwIfAborted();
    return withinTime(socketTo(address, secureContext));
  };
  const baseUrl = address.kind === "unix" ? "http://localhost" : address.origin;
  const sessionManager = new Http2SessionManager(
    baseUrl,
    { pingIntervalMs: 30_000, pingTimeoutMs: 20_000 },
    { maxSessionMemory: 256, settings: { initialWindowSize: MIB }, createConnection },
  );
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager,
    interceptors: [withHeaders(identity)],
    readMaxBytes: READ_MAX_BYTES,
  });
  const close = () => {
    closed.abort(new Error("the client is closed"));
    sessionManager.abort();
  };
  return { transport, close };
}

/** Who asks. */
function headersOf({ token = process.env.TOOLBATCH_TOKEN, tenant }: ConnectOptions): Readonly<Record<string, string>> {
  return sendableHeaders({
    authorization: token ? `Bearer ${sendableValue("the token", token)}` : undefined,
    "toolbatch-tenant": tenant ? sendableValue("the tenant", tenant) : undefined,
  });
}

function socketTo(address: ServerAddress, secureContext: SecureContext | undefined): Socket {
  if (address.kind === "unix") return connect(address.path);
  const { host, port } = address;
  if (address.kind === "http") return connect({ host, port });
  return secureConnect({
    host,
    port,
    ALPNProtocols: ["h2"],
    ...(isIP(host) === 0 && { servername: host }),
    ...(secureContext !== undefined && { secureContext }),
  });
}

/** Gives up a connection that does not come to stand: all requests would wait for it, also once the server is back. */
function withinTime(socket: Socket): Socket {
  const late = () => socket.destroy(new Error(`there was no connection within ${CONNECT_TIMEOUT_MS} ms`));
  const timer = setTimeout(late, CONNECT_TIMEOUT_MS).unref();
  const ready = "encrypted" in socket ? "secureConnect" : "connect";
  for (const event of [ready, "close"]) socket.once(event, () => clearTimeout(timer));
  return socket;
}

/** What is told of TLS; `undefined` where nothing is. */
function secureContextOf({ ca, cert, key }: ConnectOptions): SecureContext | undefined {
  if ((cert === undefined) !== (key === undefined)) {
    throw new TypeError("expected cert and key together, found only one of them; give the paths of both PEM files");
  }
  if (ca === undefined && cert === undefined) return undefined;
  const files = {
    ...(ca !== undefined && { ca: readFileSync(ca) }),
    ...(cert !== undefined && { cert: readFileSync(cert) }),
    ...(key !== undefined && { key: readFileSync(key) }),
  };
  try {
    // Node passes over an authority that it cannot read.
    if (files.ca !== undefined) new X509Certificate(files.ca);
    return createSecureContext(files);
  } catch (error) {
    const found = [ca, cert, key].filter((path) => path !== undefined).join(", ");
    const text = error instanceof Error ? error.message : error;
    throw new TypeError(`expected PEM files with certificates and their key in ${found}: ${text}`, { cause: error });
  }
}

function tlsNotUsed(server: string): TypeError {
  return new TypeError(`ca, cert and key are for https://HOST:PORT; ${server} uses no TLS, leave them out`);
}

function withHeaders(headers: Readonly<Record<string, string>>): Interceptor {
  return (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
    return next(request);
  };
}
