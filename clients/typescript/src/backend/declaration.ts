import { create } from "@bufbuild/protobuf";
import { type Tool, ToolSchema } from "../gen/toolbatch/v1/tool_pb.js";
import { type JsonInput, type JsonObject, writeJson } from "../json/index.js";
import { duration } from "../request.js";
import type { ToolContext } from "./context.js";
import type { Fate, ToolResult } from "./outcome.js";

/** A tool, as models and toolbatch see it. `Args` is what its schema describes, in the language's types. */
export interface ToolDeclaration<Args = JsonObject> {
  /** 1 to 256 printable ASCII characters, with single blanks inside at most. */
  readonly name: string;
  /** For models and people. */
  readonly description?: string | undefined;
  /**
   * JSON Schema of the arguments, as an object or as {@link rawJson} text. Toolbatch checks calls against it. Left out: any object.
   */
  readonly inputSchema?: object | undefined;
  /** Its function tells how far it is, by `context.progress`. */
  readonly reportsProgress?: boolean | undefined;
  /** It can stop an agent or wait for somebody, so no batch may call it. */
  readonly pauses?: boolean | undefined;
  /** Bound on one attempt, in milliseconds, where the batch sets none. Left out: the server's. */
  readonly timeoutMs?: number | undefined;
  /**
   * Tells what became of an earlier attempt, by `context.idempotencyKey`: {@link landed}, {@link notLanded}, or nothing where it cannot
   * tell. It changes nothing.
   */
  readonly lookup?: ((args: Args, context: ToolContext) => Fate | undefined | Promise<Fate | undefined>) | undefined;
}

/**
 * What a tool does. It gives its result, {@link rawJson} text or {@link awaiting}, and throws {@link ToolFailure} where it failed for certain.
 *
 * Of the args, whole numbers beyond 2^53 are `bigint` and numbers such as `1.10` are {@link JsonNumber}; `JSON.parse(context.argsJson)`
 * gives plain numbers.
 */
export type ToolFunction<Args = JsonObject> = (
  args: Args,
  context: ToolContext,
  // biome-ignore lint/suspicious/noConfusingVoidType: an async function without a result is of this type.
) => ToolResult | void | Promise<ToolResult | void>;

/** A declared tool with its function. */
export interface DeclaredTool {
  readonly message: Tool;
  readonly run: ToolFunction;
  readonly lookup: NonNullable<ToolDeclaration["lookup"]> | undefined;
}

const NAME = /^[!-~]+(?: [!-~]+)*$/;

/** @throws TypeError or RangeError for a declaration that toolbatch would leave out. */
export function declare<Args>(declaration: ToolDeclaration<Args>, run: ToolFunction<Args>): DeclaredTool {
  const { name, description = "", inputSchema, reportsProgress = false, pauses = false, timeoutMs } = declaration;
  if (!NAME.test(name) || name.length > 256) {
    throw new TypeError(
      `expected a tool's name as 1 to 256 printable ASCII characters with single blanks inside, found ${JSON.stringify(name)}`,
    );
  }
  if (timeoutMs !== undefined && !(timeoutMs > 0)) {
    throw new RangeError(`expected timeoutMs of ${name} above 0, in milliseconds, found ${timeoutMs}`);
  }
  const message = create(ToolSchema, {
    name,
    description,
    inputSchemaJson: inputSchema === undefined ? "" : writeJson(inputSchema as JsonInput),
    reportsProgress,
    pauses,
    ...(timeoutMs !== undefined && { timeout: duration("timeoutMs", timeoutMs) }),
  });
  return { message, run: run as ToolFunction, lookup: declaration.lookup as DeclaredTool["lookup"] };
}
