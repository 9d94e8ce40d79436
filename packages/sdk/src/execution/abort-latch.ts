import type { StopSignal } from "./execution.ts";

/** An AbortSignal that is made when it is asked for: most handlers never look at it. Fires once. */
export class AbortLatch {
  #controller: AbortController | undefined;
  #fired: { readonly reason: unknown } | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#fired) this.#controller.abort(this.#fired.reason);
    }
    return this.#controller.signal;
  }

  fire(reason?: unknown): void {
    this.#fired ??= { reason };
    this.#controller?.abort(this.#fired.reason);
  }

  /** Fires when `source` does, and calls `onFired` then; gives what ends that. */
  follow(source: StopSignal, onFired: () => void): () => void {
    const onAbort = (): void => {
      this.fire(source.reason);
      onFired();
    };
    source.addEventListener("abort", onAbort, { once: true });
    return () => source.removeEventListener("abort", onAbort);
  }
}
