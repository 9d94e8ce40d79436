import { type Clock, pauseBetween, type Sign, signOf, type TimerHandle, type Timers } from "@holdfast/core";
import { pauseLimitMs } from "../core/intervals.ts";
import type { SharedCounters } from "../shared/shared-counters.ts";

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
  #limitMs = pauseLimitMs();
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

  /** So often leases are extended on the connection that is there now. */
  leasesLast(extendLeaseMs: number): void {
    this.look();
    this.#limitMs = pauseLimitMs(extendLeaseMs);
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
