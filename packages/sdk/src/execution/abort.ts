/**
 * The ways to say "this work is not wanted any more" between the connection and the author's code: the ledger of the main
 * thread owns a `CancelSource` per request, the pass listens to it as a `CancelSignal` and gives handlers a real
 * `AbortSignal`, made on demand. A real one for each request would cost as much as a step.
 */

/** What a pass needs of an AbortSignal. */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

const NO_LISTENERS: readonly (() => void)[] = [];

/** The owner's side of a `CancelSignal`. Fires once. */
export class CancelSource implements CancelSignal {
  /** There is one, mostly: a list of it costs a sixth of a set. */
  #listeners: readonly (() => void)[] = NO_LISTENERS;
  aborted = false;
  reason: unknown;

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.aborted && !this.#listeners.includes(listener)) this.#listeners = [...this.#listeners, listener];
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener);
  }

  cancel(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    // One that an earlier one removes is not called.
    for (let [next, ...rest] = this.#listeners; next !== undefined; [next, ...rest] = this.#listeners) {
      this.#listeners = rest;
      next();
    }
  }
}

/** Has an AbortSignal, made when it is asked for. */
export interface SignalSource {
  readonly signal: AbortSignal;
}

/** An AbortController whose signal is made when it is asked for: most handlers never look at it. Fires once. */
export class LazyAbortController implements SignalSource {
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  abort(reason?: unknown): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(this.#aborted.reason);
  }
}
