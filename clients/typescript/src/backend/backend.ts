import type { JsonObject } from "../json/index.js";
import { type DeclaredTool, declare, type ToolDeclaration, type ToolFunction } from "./declaration.js";
import { RunningBackend, type ServeOptions } from "./server.js";

/**
 * A tool backend: functions that toolbatch calls.
 *
 * ```ts
 * const backend = new Backend();
 * backend.tool({ name: "greet", inputSchema: {…} }, async ({ name }) => ({ greeting: `Hello, ${name}` }));
 * await backend.serve("127.0.0.1:7001");
 * ```
 */
export class Backend {
  readonly #tools = new Map<string, DeclaredTool>();

  /**
   * Makes a function a tool.
   *
   * @throws TypeError or RangeError for a declaration that toolbatch would not take.
   */
  tool<Args = JsonObject>(declaration: ToolDeclaration<Args>, run: ToolFunction<Args>): this {
    if (this.#tools.has(declaration.name)) {
      throw new TypeError(`there is a tool ${JSON.stringify(declaration.name)} already; give this one another name`);
    }
    this.#tools.set(declaration.name, declare(declaration, run));
    return this;
  }

  /**
   * Serves the tools that are declared by then, until it is stopped: by SIGTERM or SIGINT, or by the returned object's `stop()`.
   *
   * @param address `HOST:PORT` (port 0: any free one) or `unix:/PATH`.
   * @returns once it listens.
   * @throws TypeError for an address of another form; the system's error where it cannot listen there.
   */
  async serve(address: string, options: ServeOptions = {}): Promise<RunningBackend> {
    return await new RunningBackend(new Map(this.#tools), options).listen(address);
  }
}
