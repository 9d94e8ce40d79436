/**
 * How old a lease may be when the work under it begins. The store's answer may have been on its way for longer than the
 * lease lasts: then another gateway has given the work out, and a worker may have finished it.
 */
import { type Clock, type ClockReading, readClocks, suspensionBetween } from "@holdfast/core";

/**
 * YOUNG-1. A request leaves, and a call is made, only in the first half of its lease, counted from before the lease was
 *     asked for: it began no earlier than that, however long the store's answer took. The other half is for the way to
 *     the worker, which does not ask about a request that has just arrived.
 * YOUNG-2. The wall clock counts as well: the monotonic one may stall with its machine.
 * YOUNG-3. A worker that extends its lease is told so in the first half of what it got, or not at all: it asks again.
 */
export function isLeaseOld(leasedAt: ClockReading, leaseMs: number, clock: Clock): boolean {
  return suspensionBetween(leasedAt, readClocks(clock), leaseMs / 2) !== null;
}
