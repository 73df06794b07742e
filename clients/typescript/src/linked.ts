/**
 * A signal that aborts with the first of others. Unlike `AbortSignal.any` it leaves nothing behind at them once it is released, so that
 * those of a process can be followed by any number of requests.
 */
export class LinkedSignal {
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];
  readonly #follow = (event: Event) => this.#abort(event.target as AbortSignal);

  constructor(...sources: readonly (AbortSignal | undefined)[]) {
    this.#sources = sources.filter((source) => source !== undefined);
    const aborted = this.#sources.find((source) => source.aborted);
    if (aborted !== undefined) this.#controller.abort(aborted.reason);
    else for (const source of this.#sources) source.addEventListener("abort", this.#follow);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Follows the others no more. */
  release(): void {
    for (const source of this.#sources) source.removeEventListener("abort", this.#follow);
  }

  #abort(source: AbortSignal): void {
    this.release();
    this.#controller.abort(source.reason);
  }
}
