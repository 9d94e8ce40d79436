/** How long a pass waits, all being quiet, for what the handler's code may still ask for. */
import type { TimerHandle, Timers } from "@holdfast/core";

export interface GraceHost {
  /** Rises with everything that the handler asks for. */
  readonly askedCount: number;
  /** It asked for something meanwhile: it is waited for again, once it is quiet. */
  onNews(): void;
}

/** One wait at a time; a new one replaces it. */
export class PassGrace {
  readonly #timers: Timers;
  readonly #host: GraceHost;
  #timer: TimerHandle | undefined;

  constructor(timers: Timers, host: GraceHost) {
    this.#timers = timers;
    this.#host = host;
  }

  /** Code between steps may still be at work: calls `onTimeout` if it has asked for nothing by then. */
  start(graceMs: number, onTimeout: () => void): void {
    const host = this.#host;
    const before = host.askedCount;
    this.#timer?.cancel();
    this.#timer = this.#timers.set(graceMs, () => (host.askedCount === before ? onTimeout() : host.onNews()));
  }
}
