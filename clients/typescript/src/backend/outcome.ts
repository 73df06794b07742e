import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type CallToolResponse, CallToolResponseSchema } from "../gen/toolbatch/v1/tool_pb.js";
import { type JsonInput, writeJson } from "../json/index.js";
import { sendable } from "../request.js";

/**
 * Thrown by a tool's function: the tool failed for certain, and did not do what it was asked. Any other error says nothing certain, so the
 * call counts as outcome unknown.
 */
export class ToolFailure extends Error {
  /** The tool's own code, for programs. */
  readonly code: string | undefined;
  /** A repeat can succeed, and this attempt changed nothing. */
  readonly retryable: boolean;

  /** @param message for people and models; kept up to 64 KiB. */
  constructor(
    message: string,
    options: { readonly code?: string | undefined; readonly retryable?: boolean | undefined } & ErrorOptions = {},
  ) {
    super(message, options);
    this.name = "ToolFailure";
    this.code = options.code;
    this.retryable = options.retryable ?? false;
  }
}

/** Returned by a tool's function: it ran, and a person has to review what it did. See {@link awaiting}. */
export class Awaiting {
  readonly awaitId: string;
  readonly result: JsonInput | object;

  constructor(awaitId: string, result: JsonInput | object) {
    this.awaitId = awaitId;
    this.result = result;
  }
}

/**
 * Waits for a person's review. The call counts as completed for its key, and the batch stops.
 *
 * @param awaitId names the review.
 * @param result what there is so far.
 */
export function awaiting(awaitId: string, result: JsonInput | object = null): Awaiting {
  return new Awaiting(awaitId, result);
}

/** What a tool's function gives: its result (nothing: null), {@link rawJson} text, or {@link awaiting}. */
export type ToolResult = JsonInput | object | Awaiting | undefined;

/** What became of an earlier attempt: see {@link landed} and {@link notLanded}. */
export class Fate {
  /** The outcome that it took effect with; missing: it never did. */
  readonly outcome: { readonly result: ToolResult | ToolFailure } | undefined;

  constructor(outcome: { readonly result: ToolResult | ToolFailure } | undefined) {
    this.outcome = outcome;
  }
}

/** The earlier attempt took effect, with this result or failure. */
export function landed(result: ToolResult | ToolFailure): Fate {
  return new Fate({ result });
}

/** The earlier attempt never took effect and never will: running the call is safe. */
export function notLanded(): Fate {
  return new Fate(undefined);
}

/** The answer to a call. */
export function response(result: ToolResult | ToolFailure, usage: ReadonlyMap<string, number>): CallToolResponse {
  const items = Array.from(usage, ([unit, quantity]) => ({ unit, quantity }));
  return create(CallToolResponseSchema, { outcome: outcome(result), usage: items });
}

function outcome(result: ToolResult | ToolFailure): MessageInitShape<typeof CallToolResponseSchema>["outcome"] & object {
  if (result instanceof ToolFailure) {
    const { message, code = "", retryable } = result;
    return { case: "failure", value: { message, code, retryable } };
  }
  if (result instanceof Awaiting) {
    return { case: "awaiting", value: { awaitId: result.awaitId, resultJson: text(result.result) } };
  }
  return { case: "resultJson", value: text(result) };
}

function text(result: ToolResult): string {
  return sendable("the result", writeJson((result ?? null) as JsonInput));
}
