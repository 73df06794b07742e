/**
 * A signal that aborts with the first of others. Unlike `AbortSignal.any` it leaves nothing behind at them once it is released, so that
 * those of a process can be followed by any number of requests. A source has one listener, however many follow it.
 */
export class LinkedSignal {
  static readonly #followers = new WeakMap<AbortSignal, Set<LinkedSignal>>();
  readonly #controller = new AbortController();
  readonly #sources: readonly AbortSignal[];

  constructor(...sources: readonly (AbortSignal | undefined)[]) {
    this.#sources = sources.filter((source) => source !== undefined);
    const aborted = this.#sources.find((source) => source.aborted);
    if (aborted !== undefined) this.#controller.abort(aborted.reason);
    else for (const source of this.#sources) this.#follow(source);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Follows the others no more. */
  release(): void {
    for (const source of this.#sources) {
      const followers = LinkedSignal.#followers.get(source);
      if (followers?.delete(this) && followers.size === 0) {
        LinkedSignal.#followers.delete(source);
        source.removeEventListener("abort", LinkedSignal.#onAbort);
      }
    }
  }

  #follow(source: AbortSignal): void {
    const followers = LinkedSignal.#followers.get(source);
    if (followers !== undefined) {
      followers.add(this);
      return;
    }
    LinkedSignal.#followers.set(source, new Set([this]));
    source.addEventListener("abort", LinkedSignal.#onAbort);
  }

  static readonly #onAbort = ({ target }: Event): void => {
    const source = target as AbortSignal;
    for (const follower of LinkedSignal.#followers.get(source) ?? []) {
      follower.release();
      follower.#controller.abort(source.reason);
    }
  };
}
