import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

/** How a server is started. */
export interface Setup {
  /** `HOST:PORT` of a tool backend. */
  readonly backend?: string;
  /** TOML that is put before the backend. */
  readonly config?: string;
  /** It listens on a socket instead of a port. */
  readonly unix?: boolean;
  /** It is reached by TLS, as the config says. */
  readonly tls?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** A real toolbatch server, in a folder of its own. */
export class Server {
  /** Where clients find it. */
  readonly url: string;
  readonly #config: string;
  readonly #env: Readonly<Record<string, string>> | undefined;
  #process: ChildProcess | undefined;
  #log = "";

  private constructor(url: string, config: string, env: Setup["env"]) {
    this.url = url;
    this.#config = config;
    this.#env = env;
  }

  /** Starts one, and waits until it serves. It ends with the test. */
  static async start(test: TestContext, setup: Setup = {}): Promise<Server> {
    const folder = await temporaryFolder(test);
    const listen = setup.unix ? `unix:${join(folder, "s")}` : await freeAddress();
    const url = setup.unix ? listen : `${setup.tls ? "https" : "http"}://${listen}`;
    const config = join(folder, "toolbatch.toml");
    const backends = setup.backend ? `[[backends]]\nname = "ts"\naddresses = ["http://${setup.backend}"]\n` : "";
    await writeFile(config, `listen = "${listen}"\ndata_dir = "${join(folder, "data")}"\n${setup.config ?? ""}${backends}`);
    const server = new Server(url, config, setup.env);
    test.after(() => server.kill());
    await server.restart();
    return server;
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ends it gracefully. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  /** Starts it again, and waits until it serves. */
  async restart(): Promise<void> {
    const child = spawn(binary(), ["serve", "--config", this.#config], {
      env: { ...process.env, TOOLBATCH_LOG: "info", ...this.#env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = child;
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`the server ended with code ${code}:\n${this.#log}`)));
      createInterface({ input: child.stderr }).on("line", (line) => {
        this.#log += `${line}\n`;
        if (line.includes("serving endpoint=")) resolve();
      });
    });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }
}

/** A folder that is gone with the test. */
export async function temporaryFolder(test: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tb-"));
  test.after(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/** A `HOST:PORT` that nobody listens on. */
export async function freeAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("expected a port");
  return `127.0.0.1:${address.port}`;
}

/** The root of the package. */
export const PACKAGE = fileURLToPath(new URL("../../..", import.meta.url));

function binary(): string {
  const path = process.env.TOOLBATCH_BIN || resolve(PACKAGE, "../../target/debug/toolbatch");
  if (!existsSync(path)) throw new Error(`there is no server at ${path}; build it, or name one in TOOLBATCH_BIN`);
  return path;
}
