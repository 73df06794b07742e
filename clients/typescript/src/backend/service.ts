import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  CallContextSchema,
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResponse,
  type LookupCallRequest,
  type LookupCallResponse,
  LookupCallResponseSchema,
  type ToolService,
} from "../gen/toolbatch/v1/tool_pb.js";
import { type JsonObject, parseJson } from "../json/index.js";
import { LinkedSignal } from "../linked.js";
import { type Progress, ToolContext } from "./context.js";
import type { DeclaredTool } from "./declaration.js";
import { response, ToolFailure } from "./outcome.js";
import { ProgressQueue } from "./progress_queue.js";

/** Told of an error that a tool's function threw and that is no {@link ToolFailure}; its text is not sent. */
export type ErrorListener = (error: unknown, tool: string, context: ToolContext) => void;

/** Serves declared tools. */
export class Tools {
  readonly #tools: ReadonlyMap<string, DeclaredTool>;
  readonly #onError: ErrorListener;
  readonly #cancelled: AbortSignal;
  #running = 0;

  constructor(tools: ReadonlyMap<string, DeclaredTool>, onError: ErrorListener, cancelled: AbortSignal) {
    this.#tools = tools;
    this.#onError = onError;
    this.#cancelled = cancelled;
  }

  /** Whether a function has not ended yet, also one whose call was given up. */
  get areRunning(): boolean {
    return this.#running > 0;
  }

  get implementation(): ServiceImpl<typeof ToolService> {
    return {
      listTools: () => ({ tools: Array.from(this.#tools.values(), ({ message }) => message) }),
      callTool: (request, context) => this.#call(request, context, () => {}),
      callToolWithProgress: (request, context) => this.#callWithProgress(request.call ?? create(CallToolRequestSchema), context),
      lookupCall: (request, context) => this.#lookUp(request, context),
    };
  }

  async #call(request: CallToolRequest, rpc: HandlerContext, report: (progress: Progress) => void): Promise<CallToolResponse> {
    const { run } = this.#find(request.tool);
    return await this.#guard(request, rpc, report, async (context) => {
      try {
        return response((await run(parseArgs(context.argsJson), context)) ?? null, context.used);
      } catch (error) {
        if (error instanceof ToolFailure) return response(error, context.used);
        throw error;
      }
    });
  }

  async *#callWithProgress(request: CallToolRequest, rpc: HandlerContext) {
    const queue = new ProgressQueue();
    const answer = this.#call(request, rpc, (progress) => queue.push(progress)).finally(() => queue.close());
    // Its failure is thrown below, once the reports are out.
    answer.catch(() => {});
    for await (const value of queue) yield { event: { case: "progress" as const, value } };
    yield { event: { case: "response" as const, value: await answer } };
  }

  async #lookUp(request: LookupCallRequest, rpc: HandlerContext): Promise<LookupCallResponse> {
    const { lookup } = this.#find(request.tool);
    if (lookup === undefined) {
      throw new ConnectError(`the tool ${JSON.stringify(request.tool)} has no lookup`, Code.Unimplemented);
    }
    return await this.#guard(
      request,
      rpc,
      () => {},
      async (context) => {
        const fate = await lookup(parseArgs(context.argsJson), context);
        if (fate === undefined) return create(LookupCallResponseSchema, { fate: { case: "unknown", value: {} } });
        if (fate.outcome === undefined) return create(LookupCallResponseSchema, { fate: { case: "notLanded", value: {} } });
        const value = response(fate.outcome.result, context.used);
        return create(LookupCallResponseSchema, { fate: { case: "landed", value } });
      },
    );
  }

  #find(name: string): DeclaredTool {
    const tool = this.#tools.get(name);
    if (tool === undefined) {
      const known = Array.from(this.#tools.keys()).join(", ");
      throw new ConnectError(`no tool ${JSON.stringify(name)} here; there are: ${known || "none"}`, Code.Unimplemented);
    }
    return tool;
  }

  /** An error that is none of the tool's declared ones says nothing certain of what happened. */
  async #guard<T>(
    { tool, argsJson, context: call = create(CallContextSchema) }: CallToolRequest | LookupCallRequest,
    rpc: HandlerContext,
    report: (progress: Progress) => void,
    work: (context: ToolContext) => Promise<T>,
  ): Promise<T> {
    const linked = new LinkedSignal(rpc.signal, this.#cancelled);
    const origin = {
      call,
      argsJson: argsJson.trim() === "" ? "{}" : argsJson,
      headers: rpc.requestHeader,
      signal: linked.signal,
    };
    const context = new ToolContext(origin, report);
    this.#running += 1;
    const answer = work(context)
      .catch((error: unknown) => {
        this.#tell(error, tool, context);
        throw new ConnectError(`the tool ${JSON.stringify(tool)} broke off with an error; see the backend's log`, Code.Unknown);
      })
      .finally(() => {
        this.#running -= 1;
      });
    try {
      return await Promise.race([answer, abandoned(rpc.signal)]);
    } finally {
      linked.release();
    }
  }

  /** An error of the listener changes nothing in the call's answer. */
  #tell(error: unknown, tool: string, context: ToolContext): void {
    try {
      this.#onError(error, tool, context);
    } catch (thrown) {
      console.error("onError threw an error itself:", thrown, "when it was told of:", error);
    }
  }
}

/** The args as a native value. What is no JSON object is a definite failure: nothing ran. */
function parseArgs(text: string): JsonObject {
  let args: unknown;
  try {
    args = parseJson(text);
  } catch (error) {
    throw new ToolFailure(`the args are no JSON: ${error instanceof Error ? error.message : error}`, { code: "INVALID_ARGS" });
  }
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new ToolFailure(`expected the args as a JSON object, found ${text.slice(0, 40)}`, { code: "INVALID_ARGS" });
  }
  return args as JsonObject;
}

/** Rejects when nobody waits for the answer any more: a tool that goes on all the same must not keep its RPC, and with it the process. */
function abandoned(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
