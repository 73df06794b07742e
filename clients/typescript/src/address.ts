/** Where a client finds its server. */
export type ServerAddress =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "http" | "https"; readonly origin: string; readonly host: string; readonly port: number };

/** What the system takes as the path of a socket, in bytes: longer ones would be cut. */
const SOCKET_PATH_MAX_BYTES = process.platform === "linux" ? 107 : 103;

/** @throws TypeError for an address of another form. */
export function serverAddress(server: string): ServerAddress {
  if (server.startsWith("unix:")) {
    const path = server.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    if (!path.startsWith("/")) throw badServer(server);
    return { kind: "unix", path: socketPath(path) };
  }
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url !== undefined && (url.username !== "" || url.password !== "")) {
    throw new TypeError("expected the server without a name or password before its host; give the token as token");
  }
  if (url === undefined || !/^https?:\/\/[^/\\?#\s]+\/?$/.test(server) || url.port === "0") throw badServer(server);
  const kind = url.protocol === "https:" ? "https" : "http";
  const port = url.port === "" ? { http: 80, https: 443 }[kind] : Number(url.port);
  return { kind, origin: url.origin, host: url.hostname.replace(/^\[|\]$/g, ""), port };
}

/**
 * The path of a Unix socket.
 *
 * @throws TypeError for one that the system would cut.
 */
export function socketPath(path: string): string {
  const bytes = Buffer.byteLength(path);
  if (path.includes("\0") || bytes > SOCKET_PATH_MAX_BYTES) {
    const found = `${JSON.stringify(path)} of ${bytes} bytes`;
    throw new TypeError(`expected a socket's path of at most ${SOCKET_PATH_MAX_BYTES} bytes without NUL, found ${found}`);
  }
  return path;
}

function badServer(server: string): TypeError {
  return new TypeError(
    `expected the server as http://HOST:PORT, https://HOST:PORT or unix:/PATH, found ${JSON.stringify(server)}`,
  );
}
