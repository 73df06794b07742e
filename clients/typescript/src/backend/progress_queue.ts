import type { Progress } from "./context.js";

/** How many reports wait for a reader that is slow; of more, the oldest are left out. */
const CAPACITY = 1000;

/** Reports of a running call, in their order. */
export class ProgressQueue implements AsyncIterable<Progress> {
  readonly #waiting: Progress[] = [];
  #isClosed = false;
  #wake = () => {};

  push(progress: Progress): void {
    if (this.#isClosed) return;
    if (this.#waiting.length === CAPACITY) this.#waiting.shift();
    this.#waiting.push(progress);
    this.#wake();
  }

  /** No more reports come; those that wait are still given out. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Progress, void, undefined> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        yield next;
      } else if (this.#isClosed) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
