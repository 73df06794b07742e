import { readFileSync } from "node:fs";
import type { ClientSessionOptions, SecureClientSessionOptions } from "node:http2";
import { connect } from "node:net";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

const MIB = 1024 * 1024;
/** What a message of the server may have: a result of 64 MiB, and what stands around it. */
const READ_MAX_BYTES = 65 * MIB;
const DEFAULT_SERVER = "http://127.0.0.1:50051";

/** Where the server is, and who asks. */
export interface ConnectOptions {
  /**
   * `http://HOST:PORT`, `https://HOST:PORT` or `unix:/PATH`. Left out: the environment's `TOOLBATCH_SERVER`, else
   * `http://127.0.0.1:50051`.
   */
  readonly server?: string | undefined;
  /** The bearer token. Left out: the environment's `TOOLBATCH_TOKEN`, else none. */
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
 * @throws TypeError for an address or options that do not fit together; the file system's error for a PEM file that cannot be read.
 */
export function connectTo(options: ConnectOptions): Connection {
  const server = options.server ?? (process.env.TOOLBATCH_SERVER || DEFAULT_SERVER);
  const token = options.token ?? process.env.TOOLBATCH_TOKEN;
  const { baseUrl, nodeOptions } = address(server, options);
  const sessionManager = new Http2SessionManager(
    baseUrl,
    { pingIntervalMs: 30_000, pingTimeoutMs: 20_000 },
    { maxSessionMemory: 256, settings: { initialWindowSize: MIB }, ...nodeOptions },
  );
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager,
    interceptors: [withHeaders({ authorization: token && `Bearer ${token}`, "toolbatch-tenant": options.tenant })],
    readMaxBytes: READ_MAX_BYTES,
  });
  return { transport, close: () => sessionManager.abort() };
}

interface Address {
  readonly baseUrl: string;
  readonly nodeOptions: ClientSessionOptions | SecureClientSessionOptions;
}

function address(server: string, options: ConnectOptions): Address {
  const tls = tlsOptions(options);
  if (server.startsWith("unix:")) {
    const path = server.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    if (!path.startsWith("/")) throw badServer(server);
    if (Object.keys(tls).length > 0) throw tlsNotUsed(server);
    return { baseUrl: "http://localhost", nodeOptions: { createConnection: () => connect(path) } };
  }
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || !/^https?:\/\/[^/]+\/?$/.test(server) || url.username !== "" || url.search !== "") {
    throw badServer(server);
  }
  if (url.protocol === "http:" && Object.keys(tls).length > 0) throw tlsNotUsed(server);
  return { baseUrl: url.origin, nodeOptions: tls };
}

function tlsOptions({ ca, cert, key }: ConnectOptions): SecureClientSessionOptions {
  if ((cert === undefined) !== (key === undefined)) {
    throw new TypeError("expected cert and key together, found only one of them; give the paths of both PEM files");
  }
  return {
    ...(ca !== undefined && { ca: readFileSync(ca) }),
    ...(cert !== undefined && { cert: readFileSync(cert) }),
    ...(key !== undefined && { key: readFileSync(key) }),
  };
}

function badServer(server: string): TypeError {
  return new TypeError(
    `expected the server as http://HOST:PORT, https://HOST:PORT or unix:/PATH, found ${JSON.stringify(server)}`,
  );
}

function tlsNotUsed(server: string): TypeError {
  return new TypeError(`ca, cert and key are for https://HOST:PORT; ${server} uses no TLS, leave them out`);
}

function withHeaders(headers: Readonly<Record<string, string | undefined>>): Interceptor {
  return (next) => (request) => {
    for (const [name, value] of Object.entries(headers)) {
      if (value) request.header.set(name, value);
    }
    return next(request);
  };
}
