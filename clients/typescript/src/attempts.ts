import { type CallOptions, Code, ConnectError } from "@connectrpc/connect";
import { DeadlineExceeded, type Standing, Unavailable } from "./errors.js";
import { sendableHeaders } from "./headers.js";
import { LinkedSignal } from "./linked.js";
import { Backoff, Deadline, LONGEST_TIMER_MS, Patience, wait } from "./retry.js";
import { type Failure, failureOf } from "./status.js";

/** What every request can be given. */
export interface RequestOptions {
  /** Ends the request at once; what is thrown then is the signal's reason (an `AbortError` by default). */
  readonly signal?: AbortSignal | undefined;
  /** Bound on the request over all attempts, in milliseconds. Left out: none. */
  readonly timeoutMs?: number | undefined;
  /** Metadata to send, such as `traceparent`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** What a client sets for all its requests. */
export interface Bounds {
  /** How long a request that may be repeated goes on while no stream is open and no event comes. */
  readonly giveUpAfterMs: number;
  /** Aborted once the client is closed. */
  readonly closed: AbortSignal;
}

/** One attempt at an RPC, to be ended when it is over. */
interface Attempt {
  readonly options: CallOptions;
  end(): void;
}

/** The attempts of one request: how long they may go on, and what their failures mean. */
export class Attempts {
  readonly #caller: AbortSignal | undefined;
  readonly #ending = new AbortController();
  readonly #headers: Readonly<Record<string, string>> | undefined;
  readonly #deadline: Deadline;
  readonly #backoff = new Backoff();
  readonly #patience: Patience;
  readonly #bounds: Bounds;
  readonly #unanswered = new ConnectError("the server did not answer", Code.Unavailable);
  /** What the last attempt failed with that was not cut off at the end of the patience. */
  #lastFailure: string | undefined;

  /**
   * @param deadline of a request that is a part of a longer one.
   * @throws TypeError or RangeError for options that cannot be used.
   */
  constructor(options: RequestOptions, bounds: Bounds, deadline = new Deadline(options.timeoutMs)) {
    this.#caller = options.signal;
    this.#headers = options.headers && sendableHeaders(options.headers);
    this.#deadline = deadline;
    this.#bounds = bounds;
    this.#patience = new Patience(bounds.giveUpAfterMs);
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
    this.#lastFailure = undefined;
    this.#backoff.reset();
    this.#patience.renew();
  }

  /** Makes one attempt at an RPC with a stream. */
  async *stream<T>(open: (options: CallOptions) => AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    const attempt = this.#attempt();
    try {
      yield* open(attempt.options);
    } finally {
      attempt.end();
    }
  }

  /** Makes the one attempt at an RPC with one answer that may not be repeated. */
  async once<T>(call: (options: CallOptions) => Promise<T>): Promise<T> {
    const linked = this.#linked();
    try {
      this.#throwIfOver({});
      return await call(this.#callOptions(linked.signal, () => {}));
    } catch (error) {
      throw this.#errorOf(error);
    } finally {
      linked.release();
    }
  }

  /** Makes attempts at an RPC with one answer that may be repeated, until one gives it. */
  async repeat<T>(call: (options: CallOptions) => Promise<T>): Promise<T> {
    for (;;) {
      const attempt = this.#attempt();
      let cause: unknown;
      try {
        return await call(attempt.options);
      } catch (error) {
        cause = error;
      } finally {
        attempt.end();
      }
      await this.again(cause, {});
    }
  }

  /** Begins an attempt, unless all is over; one that reaches no server within what is left of the patience is given up. */
  #attempt(): Attempt {
    this.#throwIfOver({});
    if (this.#deadline.isOver) throw this.#late({}, undefined);
    const given = new AbortController();
    const impatience = setTimeout(() => given.abort(this.#unanswered), Math.min(this.#patience.leftMs, LONGEST_TIMER_MS));
    const linked = this.#linked(given.signal);
    const options = this.#callOptions(linked.signal, () => {
      clearTimeout(impatience);
      this.#patience.pause();
    });
    const end = () => {
      clearTimeout(impatience);
      this.#patience.resume();
      given.abort();
      linked.release();
    };
    return { options, end };
  }

  /** What ends a request from outside, and something more. */
  #linked(more?: AbortSignal): LinkedSignal {
    return new LinkedSignal(this.#caller, this.#bounds.closed, this.#ending.signal, more);
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

  /** What the failure of an attempt that is not repeated is to the caller. */
  #errorOf(cause: unknown): unknown {
    this.#throwIfOver({});
    const failure = this.#failureOf(cause);
    switch (failure.kind) {
      case "refused":
        return failure.error;
      case "deadline":
        return this.#late({}, failure.cause);
      case "lost":
        // What is short of room has not taken the request.
        if (failure.refusal?.status === "RESOURCE_EXHAUSTED") return failure.refusal;
        return new Unavailable(`${failure.message}; what was asked for may have happened`, {}, { cause });
    }
  }

  /** @throws the reason of the caller's cancellation, and {@link Unavailable} once the client is closed. */
  #throwIfOver({ batchId, lastSequence = 0 }: Standing): void {
    this.#caller?.throwIfAborted();
    if (!this.#bounds.closed.aborted) return;
    const rest =
      batchId === undefined ? "" : `; batch ${batchId} goes on if it was accepted: watch it after sequence ${lastSequence}`;
    throw new Unavailable(`the client is closed${rest}`, { batchId, lastSequence });
  }

  /**
   * Waits until the next attempt is due; without a `cause` the answer ended too early.
   *
   * @throws what the caller gets where there is none: a refusal, the end of its time, its own cancellation.
   */
  async again(cause: unknown, standing: Standing): Promise<void> {
    this.#throwIfOver(standing);
    if (this.#deadline.isOver) throw this.#late(standing, cause);
    const failure = cause === undefined ? undefined : this.#failureOf(cause);
    if (failure?.kind === "refused") throw failure.error;
    if (failure?.kind === "deadline") throw this.#late(standing, cause);
    const message = failure?.message ?? "the stream ended too early";
    this.#lastFailure = cause === this.#unanswered ? (this.#lastFailure ?? message) : message;
    const due = this.#backoff.next(failure?.retryDelayMs ?? 0);
    await this.#wait(Math.min(due, this.#patience.leftMs, this.#deadline.leftMs), standing);
    if (this.#deadline.isOver) throw this.#late(standing, cause);
    if (this.#patience.leftMs === 0) throw this.#gaveUp(standing, this.#lastFailure, cause);
  }

  /** Without a deadline of the caller's, one that is over is the server's word. */
  #failureOf(cause: unknown): Failure {
    return failureOf(cause, this.#deadline.timeoutMs !== undefined);
  }

  async #wait(ms: number, standing: Standing): Promise<void> {
    const linked = this.#linked();
    try {
      await wait(ms, linked.signal);
    } catch (error) {
      this.#throwIfOver(standing);
      throw error;
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
    const text = `no stream was open for ${this.#bounds.giveUpAfterMs} ms, and the last attempt failed with: ${message}${rest}`;
    return new Unavailable(text, { batchId, lastSequence }, { cause });
  }
}
