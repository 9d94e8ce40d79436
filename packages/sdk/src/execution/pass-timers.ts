/** The timers of a pass: those that have not fired when it replies are cancelled. */
import type { TimerHandle, Timers } from "@holdfast/core";

export class PassTimers implements Timers {
  readonly #timers: Timers;
  /** Most passes set none. */
  #handles: TimerHandle[] | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  set(delayMs: number, fire: () => void): TimerHandle {
    const handle = this.#timers.set(delayMs, fire);
    this.#handles ??= [];
    this.#handles.push(handle);
    return handle;
  }

  cancelAll(): void {
    for (const handle of this.#handles ?? []) handle.cancel();
  }
}
