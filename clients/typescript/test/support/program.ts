import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";

/** How a program is run. */
export interface Run {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Runs a program to its end and gives its output; one that ends with another code than 0 is an error, and so is one that does not end. */
export async function run(command: string, args: readonly string[], { cwd, env, input = "" }: Run = {}): Promise<string> {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, timeout: 120_000 });
  child.stdin.end(input);
  const [output, errors, [code, signal]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code ?? signal}:\n${output}${errors}`);
  return output;
}

/** A program that goes on until the test ends, at the latest. */
export class Program {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown[]>;
  readonly #lines: Interface;

  private constructor(child: ChildProcess, output: Readable) {
    this.#child = child;
    this.#exit = once(child, "exit");
    this.#lines = createInterface({ input: output });
  }

  /** Starts one, and waits for a line of its output. */
  static async start(test: TestContext, script: string, args: readonly string[], line: string): Promise<Program> {
    const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    test.after(() => child.kill("SIGKILL"));
    const program = new Program(child, child.stdout);
    await program.said(line);
    return program;
  }

  /** Waits for a line that begins so. */
  async said(line: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#lines.on("line", (found) => {
        if (found.startsWith(line)) resolve();
      });
      this.#lines.once("close", () => reject(new Error(`the program ended before it said ${line}`)));
    });
  }

  /** Sends a signal, waits for the end, and gives the exit code, or the signal that ended it. */
  async end(signal: NodeJS.Signals): Promise<unknown> {
    this.#child.kill(signal);
    const [code, by] = await this.#exit;
    return code ?? by;
  }
}
