/**
 * Notices that this thread, or the whole process, did not run for a while: then others may have got its work
 * (docs/decisions/0036). The same tick is the sign of life that main watches.
 */
import { type Clock, type ClockReading, pauseBetween, readClocks, type TimerHandle, type Timers } from "@holdfast/core";
import { pauseLimitMs } from "../machines/intervals.ts";
import type { SharedCounters } from "../shared/shared-counters.ts";
import type { Emit, ThreadEffect } from "./thread-effect.ts";

/** Signs per limit, so that only a pause looks like one. */
const SIGNS = 8;

export interface PauseDetectorDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly counters: Pick<SharedCounters, "signAlive" | "setPauseLimit">;
}

type Paused = Extract<ThreadEffect, { do: "THREAD_PAUSED" }>;

export class PauseDetector {
  readonly #deps: PauseDetectorDeps;
  readonly #emit: Emit<Paused>;
  #limitMs = pauseLimitMs();
  #last: ClockReading;
  #timer: TimerHandle | undefined;

  constructor(deps: PauseDetectorDeps, emit: Emit<Paused>) {
    this.#deps = deps;
    this.#emit = emit;
    this.#last = readClocks(deps.clock);
    deps.counters.setPauseLimit(this.#limitMs);
    deps.counters.signAlive(this.#last);
    this.#schedule();
  }

  /** Called by the timer, and before anything from outside is read: after a pause that may come first. */
  check(): void {
    const { clock, counters } = this.#deps;
    const now = readClocks(clock);
    const pausedMs = pauseBetween(this.#last, now, this.#limitMs);
    this.#last = now;
    if (pausedMs !== null) this.#emit({ do: "THREAD_PAUSED", pausedMs });
    // The last thing: who sees the sign sees what followed from the pause.
    counters.signAlive(now);
  }

  /** So often leases are extended on the connection that is there now. */
  setLeaseInterval(extendLeaseMs: number): void {
    this.check();
    this.#limitMs = pauseLimitMs(extendLeaseMs);
    this.#deps.counters.setPauseLimit(this.#limitMs);
    this.#timer?.cancel();
    this.#schedule();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #schedule(): void {
    const fire = (): void => {
      this.#schedule();
      this.check();
    };
    this.#timer = this.#deps.timers.set(this.#limitMs / SIGNS, fire, { unref: true });
  }
}
