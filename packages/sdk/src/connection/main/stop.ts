import type { StopSignal } from "../../execution/execution.ts";

/** Tells a pass that its work is not wanted any more, once. */
export class Stop implements StopSignal {
  readonly #listeners = new Set<() => void>();
  aborted = false;
  reason: unknown;

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.aborted) this.#listeners.add(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.delete(listener);
  }

  fire(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }
}
