import { type Clock, pauseBetween, type Sign, signOf, type TimerHandle, type Timers } from "@holdfast/core";
import type { SharedCounters } from "../shared/shared-counters.ts";

/**
 * A gateway gives away what nobody acknowledges within 5 s, and what a broken connection held after 5 s: a thread that was
 * away for longer than this, and then takes its time, may find its work with others.
 */
export const MAX_PAUSE_MS = 2_000;
const MIN_PAUSE_MS = 500;
/** Signs per limit, so that only a pause looks like one. */
const SIGNS = 8;

export interface LifeSignDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly counters: Pick<SharedCounters, "alive" | "pauseLimit">;
  /** The thread, or all of its process, did nothing for so long. Called before anything that came meanwhile is looked at. */
  readonly onPaused: (pausedMs: number) => void;
}

/** The thread's sign of life for main; and it notices when it has given none. */
export class LifeSign {
  readonly #deps: LifeSignDeps;
  #limitMs = MAX_PAUSE_MS;
  #last: Sign;
  #timer: TimerHandle | undefined;

  constructor(deps: LifeSignDeps) {
    this.#deps = deps;
    this.#last = signOf(deps.clock);
    deps.counters.pauseLimit(this.#limitMs);
    deps.counters.alive(this.#last);
    this.#again();
  }

  /** Called by the timer, and before anything from outside is looked at: after a pause that may come first. */
  look(): void {
    const { clock, counters, onPaused } = this.#deps;
    const now = signOf(clock);
    const pausedMs = pauseBetween(this.#last, now, this.#limitMs);
    this.#last = now;
    if (pausedMs !== null) onPaused(pausedMs);
    // The last thing: who sees the sign sees what followed from the pause.
    counters.alive(now);
  }

  /** A lease lasts for several of its extensions' intervals: a pause is noticed well before its end. */
  leasesLast(extendLeaseMs: number): void {
    this.look();
    this.#limitMs = Math.max(MIN_PAUSE_MS, Math.min(MAX_PAUSE_MS, extendLeaseMs));
    this.#deps.counters.pauseLimit(this.#limitMs);
    this.#timer?.cancel();
    this.#again();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #again(): void {
    const fire = (): void => {
      this.#again();
      this.look();
    };
    this.#timer = this.#deps.timers.set(this.#limitMs / SIGNS, fire, { unref: true });
  }
}
