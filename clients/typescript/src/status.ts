import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { Refused } from "./errors.js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";

/** What a failed RPC says of itself. */
export type Failure =
  /** The connection was lost, or the server cannot be reached, is stopping or is short of room: to be repeated. */
  | {
      readonly kind: "lost";
      readonly message: string;
      readonly retryDelayMs: number;
      /** The server's own word, where it said so itself. */
      readonly refusal?: Refused;
      readonly cause: unknown;
    }
  | { readonly kind: "deadline"; readonly cause: unknown }
  | { readonly kind: "refused"; readonly error: Refused };

/** Codes by which the transport names what went wrong with a connection or an answer; as the server's own word they are its refusal. */
const TRANSPORT_FAILURES: ReadonlySet<Code> = new Set([
  Code.Aborted,
  Code.Internal,
  Code.Unknown,
  Code.DataLoss,
  Code.InvalidArgument,
]);

/**
 * Tells what a failed RPC means. The caller's own cancellation has to be looked at before.
 *
 * @param hasDeadline the RPC was told of a deadline.
 */
export function failureOf(cause: unknown, hasDeadline: boolean): Failure {
  const error = ConnectError.from(cause);
  const retryDelayMs = retryDelayOf(error);
  switch (error.code) {
    case Code.DeadlineExceeded:
      if (hasDeadline) return { kind: "deadline", cause };
      break;
    case Code.Unavailable:
    case Code.Canceled:
      return { kind: "lost", message: error.rawMessage, retryDelayMs: retryDelayMs ?? 0, cause };
    case Code.ResourceExhausted:
      if (retryDelayMs !== undefined) {
        return { kind: "lost", message: error.rawMessage, retryDelayMs, refusal: refused(error, retryDelayMs), cause };
      }
      break;
  }
  if (TRANSPORT_FAILURES.has(error.code) && !isFromServer(error)) {
    return { kind: "lost", message: error.rawMessage, retryDelayMs: 0, cause };
  }
  return { kind: "refused", error: refused(error, retryDelayMs) };
}

/** Whether the error came as a gRPC status, and was not made up by the transport. */
function isFromServer(error: ConnectError): boolean {
  return error.metadata.has("grpc-status") || error.metadata.has("grpc-status-details-bin");
}

function refused(error: ConnectError, retryDelayMs: number | undefined): Refused {
  const [info] = error.findDetails(ErrorInfoSchema);
  const violations = error
    .findDetails(BadRequestSchema)
    .flatMap((detail) => detail.fieldViolations)
    .map(({ field, description }) => ({ field, description }));
  const message = error.rawMessage || `the server answered with ${statusName(error.code)} and no message`;
  return new Refused(
    { status: statusName(error.code), reason: info?.reason, metadata: info?.metadata, message, violations, retryDelayMs },
    { cause: error },
  );
}

function retryDelayOf(error: ConnectError): number | undefined {
  const [info] = error.findDetails(RetryInfoSchema);
  if (info === undefined) return undefined;
  return info.retryDelay === undefined ? 0 : Math.max(0, durationMs(info.retryDelay));
}

/** gRPC's name of a status: `INVALID_ARGUMENT`. */
function statusName(code: Code): string {
  if (code === Code.Canceled) return "CANCELLED";
  return Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}
