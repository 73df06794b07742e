import { setTimeout as sleep } from "node:timers/promises";

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** The longest time that a timer of Node's can wait. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** How long to wait before asking again: doubling from 100 ms to 5 s, each with full jitter. */
export class Backoff {
  #ceilingMs = FIRST_WAIT_MS;

  /** The next wait, at least what the server asks for. */
  next(atLeastMs: number): number {
    const wait = Math.max(Math.random() * this.#ceilingMs, atLeastMs);
    this.#ceilingMs = Math.min(this.#ceilingMs * 2, LONGEST_WAIT_MS);
    return wait;
  }

  reset(): void {
    this.#ceilingMs = FIRST_WAIT_MS;
  }
}

/** The time that may go by without an open stream and without an event. It stands still while a stream is open. */
export class Patience {
  readonly #limitMs: number;
  #spentMs = 0;
  #since: number | undefined = performance.now();

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  get leftMs(): number {
    const running = this.#since === undefined ? 0 : performance.now() - this.#since;
    return Math.max(0, this.#limitMs - this.#spentMs - running);
  }

  /** A stream is open: time stands still. */
  pause(): void {
    if (this.#since !== undefined) this.#spentMs += performance.now() - this.#since;
    this.#since = undefined;
  }

  /** No stream is open: time goes on. */
  resume(): void {
    this.#since ??= performance.now();
  }

  /** An event came: all of it is there again. */
  renew(): void {
    this.#spentMs = 0;
    if (this.#since !== undefined) this.#since = performance.now();
  }
}

/** A point in time by which all attempts have to be done; without a bound it never comes. */
export class Deadline {
  readonly #at: number;

  /** @throws RangeError for what is no time above 0. */
  constructor(timeoutMs: number | undefined) {
    if (timeoutMs !== undefined && !(timeoutMs > 0)) {
      throw new RangeError(`expected timeoutMs above 0, in milliseconds, found ${timeoutMs}`);
    }
    this.#at = timeoutMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeoutMs;
  }

  get leftMs(): number {
    return Math.max(0, this.#at - performance.now());
  }

  /** What is left for a request that is a part of a longer one: above 0, or nothing where there is no bound. */
  get restMs(): number | undefined {
    return this.#at === Number.POSITIVE_INFINITY ? undefined : Math.max(1, this.leftMs);
  }

  get isOver(): boolean {
    return this.leftMs === 0;
  }

  /** What an RPC is told: whole milliseconds, at least one, or nothing where there is no bound. */
  get timeoutMs(): number | undefined {
    const left = Math.ceil(this.leftMs);
    return left > LONGEST_TIMER_MS ? undefined : Math.max(1, left);
  }
}

/** Waits; an abort ends it at once by throwing. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(ms, LONGEST_TIMER_MS), undefined, { signal });
}
