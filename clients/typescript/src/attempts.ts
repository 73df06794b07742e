import { type CallOptions, Code, ConnectError } from "@connectrpc/connect";
import { DeadlineExceeded, type Standing, Unavailable } from "./errors.js";
import { LinkedSignal } from "./linked.js";
import { Backoff, Deadline, Patience, wait } from "./retry.js";
import { failureOf } from "./status.js";

/** What every request can be given. */
export interface RequestOptions {
  /** Ends the request at once; what is thrown then is the signal's reason (an `AbortError` by default). */
  readonly signal?: AbortSignal | undefined;
  /** Bound on the request over all attempts, in milliseconds. Left out: none. */
  readonly timeoutMs?: number | undefined;
  /** Metadata to send, such as `traceparent`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The attempts of one request: how long they may go on, and what their failures mean. */
export class Attempts {
  readonly #caller: AbortSignal | undefined;
  readonly #ending = new AbortController();
  readonly #headers: Readonly<Record<string, string>> | undefined;
  readonly #deadline: Deadline;
  readonly #backoff = new Backoff();
  readonly #patience: Patience;
  readonly #giveUpAfterMs: number;

  constructor(options: RequestOptions, giveUpAfterMs: number) {
    this.#caller = options.signal;
    this.#headers = options.headers;
    this.#deadline = new Deadline(options.timeoutMs);
    this.#giveUpAfterMs = giveUpAfterMs;
    this.#patience = new Patience(giveUpAfterMs);
  }

  /** Ends what is running, as its caller asks for nothing more. */
  end(): void {
    this.#ending.abort();
  }

  get isEnded(): boolean {
    return this.#ending.signal.aborted;
  }

  /** An event came. */
  succeeded(): void {
    this.#backoff.reset();
    this.#patience.renew();
  }

  /** Makes one attempt; an attempt that reaches no server within what is left of the patience is given up. */
  async *stream<T>(open: (options: CallOptions) => AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    this.#caller?.throwIfAborted();
    const attempt = new AbortController();
    const impatience = setTimeout(() => attempt.abort(unanswered()), this.#patience.leftMs);
    const linked = new LinkedSignal(this.#caller, this.#ending.signal, attempt.signal);
    const options = this.#callOptions(linked.signal, () => {
      clearTimeout(impatience);
      this.#patience.pause();
    });
    try {
      yield* open(options);
    } finally {
      clearTimeout(impatience);
      this.#patience.resume();
      attempt.abort();
      linked.release();
    }
  }

  /** Makes one attempt at an RPC with one answer. */
  async unary<T>(call: (options: CallOptions) => Promise<T>): Promise<T> {
    this.#caller?.throwIfAborted();
    const linked = new LinkedSignal(this.#caller, this.#ending.signal);
    try {
      return await call(this.#callOptions(linked.signal, () => {}));
    } finally {
      linked.release();
    }
  }

  /** Makes attempts at an RPC with one answer that may be repeated, until one gives it. */
  async repeat<T>(call: (options: CallOptions) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await this.unary(call);
      } catch (error) {
        await this.again(error, {});
      }
    }
  }

  #callOptions(signal: AbortSignal, onHeader: () => void): CallOptions {
    const timeoutMs = this.#deadline.timeoutMs;
    return {
      signal,
      onHeader,
      ...(this.#headers !== undefined && { headers: this.#headers }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    };
  }

  /** What an attempt's failure is to the caller; a lost connection is {@link Unavailable}. */
  errorOf(cause: unknown, standing: Standing): unknown {
    if (this.#caller?.aborted) return this.#caller.reason;
    const failure = failureOf(cause);
    switch (failure.kind) {
      case "refused":
        return failure.error;
      case "deadline":
        return this.#late(standing, failure.cause);
      case "lost":
        return new Unavailable(`${failure.message}; what was asked for may have happened`, standing, { cause });
    }
  }

  /**
   * Waits until the next attempt is due; without a `cause` the answer ended too early.
   *
   * @throws what the caller gets where there is none: a refusal, the end of its time, its own cancellation.
   */
  async again(cause: unknown, standing: Standing): Promise<void> {
    if (this.#caller?.aborted) throw this.#caller.reason;
    const failure = cause === undefined ? undefined : failureOf(cause);
    if (failure?.kind === "refused" || failure?.kind === "deadline") throw this.errorOf(cause, standing);
    const due = this.#backoff.next(failure?.retryDelayMs ?? 0);
    await this.#wait(Math.min(due, this.#patience.leftMs, this.#deadline.leftMs));
    if (this.#deadline.isOver) throw this.#late(standing, cause);
    if (this.#patience.leftMs === 0) throw this.#gaveUp(standing, failure?.message ?? "the stream ended too early", cause);
  }

  async #wait(ms: number): Promise<void> {
    const linked = new LinkedSignal(this.#caller, this.#ending.signal);
    try {
      await wait(ms, linked.signal);
    } catch (error) {
      throw this.#caller?.aborted ? this.#caller.reason : error;
    } finally {
      linked.release();
    }
  }

  #late({ batchId, lastSequence = 0 }: Standing, cause: unknown): DeadlineExceeded {
    const rest =
      batchId === undefined ? "" : `; batch ${batchId} goes on if it was accepted: watch it after sequence ${lastSequence}`;
    return new DeadlineExceeded(`the time given by timeoutMs is over${rest}`, { batchId, lastSequence }, { cause });
  }

  #gaveUp({ batchId, lastSequence = 0 }: Standing, message: string, cause: unknown): Unavailable {
    const rest =
      batchId === undefined
        ? ""
        : `; batch ${batchId} may be running: watch it after sequence ${lastSequence}, or repeat the request under its batchId`;
    const text = `no stream was open for ${this.#giveUpAfterMs} ms, and the last attempt failed with: ${message}${rest}`;
    return new Unavailable(text, { batchId, lastSequence }, { cause });
  }
}

function unanswered(): ConnectError {
  return new ConnectError("the server did not answer", Code.Unavailable);
}
