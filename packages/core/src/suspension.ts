import type { Clock } from "./clock.ts";

/** When a process or thread was last known to run, by both clocks. */
export interface ClockReading {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * How long the party that gave the sign `before` and then the sign `now` did nothing in between: a stopped process, a
 * suspended machine, code that did not return, no processor time. Null = it was not suspended.
 *
 * SUSPENSION-1. More than `limitMs` between the two on the monotonic clock is a suspension.
 * SUSPENSION-2. So is a wall clock that went further than the monotonic one by more than that, or back: while a machine is
 *     suspended its monotonic clock may stall. It cannot be told from a clock that was merely set.
 * SUSPENSION-3. A suspension is never shorter than what the monotonic clock says.
 */
export function suspensionBetween(before: ClockReading, now: ClockReading, limitMs: number): number | null {
  const monotonicMs = now.monotonicMs - before.monotonicMs;
  const aheadMs = now.wallMs - before.wallMs - monotonicMs;
  if (monotonicMs <= limitMs && Math.abs(aheadMs) <= limitMs) return null;
  return monotonicMs + Math.max(0, aheadMs);
}

export function readClocks(clock: Clock): ClockReading {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
}
