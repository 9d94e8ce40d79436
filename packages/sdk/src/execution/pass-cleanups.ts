/** What a pass takes back when it replies: listeners, and timers that have not fired. */
import type { TimerHandle, Timers } from "@holdfast/core";

export class PassCleanups implements Timers {
  readonly #timers: Timers;
  readonly #cleanups: (() => void)[] = [];

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  add(cleanup: () => void): void {
    this.#cleanups.push(cleanup);
  }

  /** Cancelled with the rest. */
  set(delayMs: number, fire: () => void): TimerHandle {
    const timer = this.#timers.set(delayMs, fire);
    this.add(() => timer.cancel());
    return timer;
  }

  run(): void {
    for (const cleanup of this.#cleanups) cleanup();
  }
}
