import type { Clock, TimerHandle, Timers } from "@holdfast/core";
import { PULSE_MS, type SharedCounters } from "../shared/shared-counters.ts";

/** Watches main's sign of life. */
export interface MainLag {
  /** How long main has been standing still beyond its usual interval; 0 = it moves. */
  readonly lagMs: number;
  stop(): void;
}

export function watchMainLag(counters: SharedCounters, clock: Clock, timers: Timers): MainLag {
  let pulse = counters.readPulse();
  let seenAtMs = clock.monotonicMs();
  let timer: TimerHandle;
  const look = (): void => {
    const now = counters.readPulse();
    if (now !== pulse) {
      pulse = now;
      seenAtMs = clock.monotonicMs();
    }
  };
  const watch = (): void => {
    look();
    timer = timers.set(PULSE_MS, watch, { unref: true });
  };
  watch();
  return {
    get lagMs() {
      look();
      const stillMs = clock.monotonicMs() - seenAtMs;
      // Both sides look every PULSE_MS, so up to two of them mean nothing.
      return stillMs <= 3 * PULSE_MS ? 0 : Math.round(stillMs - PULSE_MS);
    },
    stop: () => timer.cancel(),
  };
}
