/**
 * How long a frame was under way, read from the lease ids of requests of one connection. `HandoverGuard` asks it of
 * requests, `LeaseKeeper` of extensions; see docs/decisions/0036 and 0048.
 */
import { type ClockReading, isUlid, ulidTimeMs } from "@holdfast/core";

/**
 * How much older requests are when they are read than others of the same connection: what the network, or a process that gets
 * little processor time, has kept back. A lease id says when the lease ends, by the gateway's clock; how far that lies ahead of ours
 * is the same for all requests that came at once, whatever the two clocks are, and less for one that was kept back.
 *
 * AGE-1. Of requests that all were under way for the same time none is late.
 * AGE-2. One that was under way for longer than the quickest so far is late by just that much.
 * AGE-3. A lease that was confirmed is the measure from then on: a gateway whose clock was set, or whose leases got shorter, costs
 *     one confirmation.
 * AGE-4. Ids that are no ULIDs say nothing, and the first one nothing of itself.
 */
export class LeaseAges {
  /** The end of the lease ahead of our clock, at most so far. */
  #mostMs: number | null = null;

  /** By how much it is late; null = unknown. */
  lateMs(leaseId: string, nowMs: number): number | null {
    const aheadMs = endOf(leaseId);
    if (aheadMs === null) return null;
    const leftMs = aheadMs - nowMs;
    const mostMs = this.#mostMs;
    this.#mostMs = Math.max(mostMs ?? leftMs, leftMs);
    return mostMs === null ? null : this.#mostMs - leftMs;
  }

  /** It is ours all the same; `readMs` is when it was read. */
  onConfirmed(leaseId: string, readMs: number): void {
    const aheadMs = endOf(leaseId);
    if (aheadMs !== null) this.#mostMs = aheadMs - readMs;
  }

  /** Another connection, perhaps another gateway. */
  reset(): void {
    this.#mostMs = null;
  }
}

function endOf(leaseId: string): number | null {
  return isUlid(leaseId) ? ulidTimeMs(leaseId) : null;
}

/** When the peer was there so much before. */
export const earlier = ({ monotonicMs, wallMs }: ClockReading, byMs: number): ClockReading => ({
  monotonicMs: monotonicMs - byMs,
  wallMs: wallMs - byMs,
});
