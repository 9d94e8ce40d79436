/** How long a pass waits, all being quiet, for what the handler's code may still ask for. */
import type { TimerHandle, Timers } from "@holdfast/core";

export interface GraceDeps {
  readonly timers: Timers;
  /** Rises with everything that the handler asks for. */
  readonly askedCount: () => number;
  /** It asked for something meanwhile: it is waited for again, once it is quiet. */
  readonly onNews: () => void;
}

/** One wait at a time; a new one replaces it. */
export class PassGrace {
  readonly #deps: GraceDeps;
  #timer: TimerHandle | undefined;

  constructor(deps: GraceDeps) {
    this.#deps = deps;
  }

  /** Code between steps may still be at work: calls `onTimeout` if it has asked for nothing by then. */
  start(graceMs: number, onTimeout: () => void): void {
    const { timers, askedCount, onNews } = this.#deps;
    const before = askedCount();
    this.#timer?.cancel();
    this.#timer = timers.set(graceMs, () => (askedCount() === before ? onTimeout() : onNews()));
  }
}
