import { type Clock, systemClock } from "./clock.ts";
import type { ClockReading } from "./suspension.ts";

/** What is looked at of `process`. */
export interface ProcessVersions {
  readonly versions: Readonly<Record<string, string | undefined>>;
}

/**
 * The clock of a thread that measures as the thread does that started it, which read its own clock just before. On Node
 * all threads have one monotonic clock. On Bun and Deno it begins anew in every thread: there it goes on from that reading.
 * Only what passed until the thread runs is taken from the wall clock, so neither a clock that is set later nor a machine
 * that sleeps later sets the two apart.
 */
export function clockOfThread(started: ClockReading, { versions }: ProcessVersions, own: Clock = systemClock): Clock {
  if (versions.bun === undefined && versions.deno === undefined) return own;
  const sinceMs = Math.max(0, own.nowMs() - started.wallMs);
  const behindMs = started.monotonicMs + sinceMs - own.monotonicMs();
  return { nowMs: () => own.nowMs(), monotonicMs: () => own.monotonicMs() + behindMs };
}
