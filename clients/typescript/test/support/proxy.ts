import { connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

/** Stands before a server and cuts its connections. */
export interface Proxy {
  readonly url: string;
  /** How many connections there were. */
  readonly connections: () => number;
}

/** Starts a proxy that cuts each connection after so many bytes of the server. */
export async function cutAfter(test: TestContext, serverUrl: string, bytes: number): Promise<Proxy> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let connections = 0;
  const proxy = createServer((client) => {
    connections += 1;
    const server = connect(Number(port), hostname);
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", end).on("close", end);
    }
    client.pipe(server);
    let left = bytes;
    server.on("data", (chunk: Buffer) => {
      const part = chunk.subarray(0, left);
      left -= part.length;
      if (left > 0) client.write(part);
      else client.end(part, end);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  test.after(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("expected a port");
  return { url: `http://127.0.0.1:${address.port}`, connections: () => connections };
}
