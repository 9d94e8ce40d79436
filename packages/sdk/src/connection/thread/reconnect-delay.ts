/** How long the next attempt to connect waits. Pure. */
import { type BackoffPolicy, backoffDelayMs, type Random } from "@holdfast/core";

/**
 * With work the next connection must be there well before the lease ends, which is after 20 s by default: else another
 * worker does it once more.
 */
export const MAX_WAIT_WITH_WORK_MS = 2_000;

export interface ReconnectWait {
  readonly failures: number;
  /** As the gateway has asked; it is jittered, so that workers do not all come at once. */
  readonly atLeastMs: number;
  /** There are requests in flight, or replies that have not been acknowledged. */
  readonly hasWork: boolean;
}

export function reconnectDelayMs(policy: BackoffPolicy, wait: ReconnectWait, random: Random): number {
  const { failures, atLeastMs, hasWork } = wait;
  const maxMs = hasWork ? Math.min(MAX_WAIT_WITH_WORK_MS, policy.maxMs) : policy.maxMs;
  const delayMs = backoffDelayMs({ ...policy, maxMs }, failures, random);
  return atLeastMs === 0 ? delayMs : Math.max(delayMs, atLeastMs + backoffDelayMs(policy, 1, random));
}
