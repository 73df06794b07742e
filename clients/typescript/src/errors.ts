/** What every error of this package's client is. */
export abstract class ToolbatchError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** One rule that a request breaks. */
export interface Violation {
  /** The field's path, such as `call_list.calls[3].key`. */
  readonly field: string;
  /** What is wrong with it. */
  readonly description: string;
}

/** What is known of a {@link Refused} request. */
export interface Refusal {
  readonly status: string;
  readonly message: string;
  readonly reason?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly violations?: readonly Violation[] | undefined;
  readonly retryDelayMs?: number | undefined;
}

/** The server refused a request: repeating it unchanged will not help, unless {@link retryDelayMs} is set. */
export class Refused extends ToolbatchError {
  /** The gRPC status' name, such as `INVALID_ARGUMENT`. */
  readonly status: string;
  /** The stable reason in UPPER_SNAKE_CASE, where the server gave one. */
  readonly reason: string | undefined;
  /** What belongs to the reason. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The rules that the request breaks, as far as the server lists them. */
  readonly violations: readonly Violation[];
  /** When to come back at the earliest, in milliseconds, where the server says so. */
  readonly retryDelayMs: number | undefined;

  constructor(refusal: Refusal, options?: ErrorOptions) {
    super(refusal.message, options);
    this.status = refusal.status;
    this.reason = refusal.reason;
    this.metadata = refusal.metadata ?? {};
    this.violations = refusal.violations ?? [];
    this.retryDelayMs = refusal.retryDelayMs;
  }
}

/** Where a stream stood when it was given up. */
export interface Standing {
  /** The batch, where the request was about one. It may be running. */
  readonly batchId?: string | undefined;
  /** The last sequence that was seen, to go on from with {@link Client.watch}; 0: none. */
  readonly lastSequence?: number | undefined;
}

/**
 * The server cannot be reached, or the connection was lost. What was asked for may have happened: a batch may be running, and
 * {@link Client.watch} comes back to it; repeating it under its `batchId` does not double it.
 */
export class Unavailable extends ToolbatchError {
  /** The batch, where the request was about one. */
  readonly batchId: string | undefined;
  /** The last sequence that was seen; 0: none. */
  readonly lastSequence: number;

  constructor(message: string, standing: Standing = {}, options?: ErrorOptions) {
    super(message, options);
    this.batchId = standing.batchId;
    this.lastSequence = standing.lastSequence ?? 0;
  }
}

/** The time given by `timeoutMs` is over. A batch that was accepted goes on; {@link Client.watch} comes back to it. */
export class DeadlineExceeded extends ToolbatchError {
  /** The batch, where the request was about one. */
  readonly batchId: string | undefined;
  /** The last sequence that was seen; 0: none. */
  readonly lastSequence: number;

  constructor(message: string, standing: Standing = {}, options?: ErrorOptions) {
    super(message, options);
    this.batchId = standing.batchId;
    this.lastSequence = standing.lastSequence ?? 0;
  }
}
