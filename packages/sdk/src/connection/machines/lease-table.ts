/**
 * The leases that the connection thread holds: when to extend each, and since when it is known to be ours.
 * `LeaseKeeper` sends what this table says; see docs/decisions/0036.
 */
import type { ClockReading } from "@holdfast/core";

/**
 * The leases of everything in flight. One timer serves the whole table: its owner calls `sweep` every interval.
 *
 * LEASE-1. At most one extension per lease is under way on one connection; one whose answer did not come for two intervals
 *     is asked again with the same lease id, which the gateway answers as it did before.
 * LEASE-2. An extension carries the newest lease id.
 * LEASE-3. A refusal loses the lease, once: it is in the table no more.
 * LEASE-4. After a reconnect `extendAll` asks for every lease, whatever was under way on the old connection.
 * LEASE-5. An answer for a request that is not in the table changes nothing.
 * LEASE-6. A sweep ignores leases that were granted less than half an interval ago.
 * LEASE-7. From `beginDoubt` on a lease is confirmed only by an answer that was given later. Of the
 *     answers that come first as many do not count as extensions were under way when the doubt began: they may have
 *     been given before. On a new connection all count.
 * LEASE-8. What is added counts as confirmed only if its owner says so.
 * LEASE-9. When an answer comes the lease was ours at least when the oldest extension under way was asked for: `asOf`.
 */
export interface Lease {
  readonly requestId: string;
  readonly leaseId: string;
  readonly grantedAtMs: number;
  /** When the extension under way was asked for; null = none is. */
  readonly askedAtMs: number | null;
  /** When the extensions under way on this connection were asked for, oldest first. */
  readonly asks: readonly ClockReading[];
  /** How many of their answers may be older than the last doubt. */
  readonly stale: number;
  /** The number of the last doubt before the gateway said that it is ours; null = it never has. */
  readonly doubtNumber: number | null;
}

export interface LeaseAnswer {
  readonly verdict: "extended" | "lost" | "unknown";
  /** It was given after the last doubt began, so all that came over the connection before it is older, and what comes later is not. */
  readonly isFresh: boolean;
  /** No other worker had the work then; null = it does not say. */
  readonly asOf: ClockReading | null;
}

export interface LeaseTable {
  readonly size: number;
  add(requestId: string, leaseId: string, nowMs: number, isConfirmed: boolean): void;
  remove(requestId: string): void;
  get(requestId: string): Lease | undefined;
  /** Which leases to ask an extension for now; they count as asked. */
  sweep(now: ClockReading, intervalMs: number): readonly Lease[];
  extendAll(now: ClockReading): readonly Lease[];
  /** Those that are not confirmed. */
  extendUnconfirmed(now: ClockReading): readonly Lease[];
  extend(requestId: string, now: ClockReading): readonly Lease[];
  beginDoubt(doubtNumber: number): void;
  onAnswer(requestId: string, newLeaseId: string | undefined, nowMs: number): LeaseAnswer;
}

const NO_ASKS: readonly ClockReading[] = [];

export function createLeaseTable(firstDoubtNumber = 0): LeaseTable {
  const leases = new Map<string, Lease>();
  let doubtNumber = firstDoubtNumber;

  const ask = (lease: Lease, now: ClockReading, before = lease.asks): Lease => {
    const next = { ...lease, askedAtMs: now.monotonicMs, asks: [...before, now] };
    leases.set(lease.requestId, next);
    return next;
  };

  return {
    get size() {
      return leases.size;
    },
    add: (requestId, leaseId, nowMs, isConfirmed) => {
      const confirmed = isConfirmed ? doubtNumber : null;
      leases.set(requestId, {
        requestId,
        leaseId,
        grantedAtMs: nowMs,
        askedAtMs: null,
        asks: NO_ASKS,
        stale: 0,
        doubtNumber: confirmed,
      });
    },
    remove: (requestId) => {
      leases.delete(requestId);
    },
    get: (requestId) => leases.get(requestId),
    sweep: (now, intervalMs) => {
      const nowMs = now.monotonicMs;
      const due = [...leases.values()].filter((lease) =>
        lease.askedAtMs === null
          ? nowMs - lease.grantedAtMs >= intervalMs / 2
          : nowMs - lease.askedAtMs >= 2 * intervalMs,
      );
      return due.map((lease) => ask(lease, now));
    },
    extendAll: (now) => [...leases.values()].map((lease) => ask({ ...lease, stale: 0 }, now, [])),
    extendUnconfirmed: (now) =>
      [...leases.values()].filter((lease) => lease.doubtNumber !== doubtNumber).map((lease) => ask(lease, now)),
    extend: (requestId, now) => {
      const lease = leases.get(requestId);
      return lease ? [ask(lease, now)] : [];
    },
    beginDoubt: (next) => {
      doubtNumber = next;
      for (const lease of leases.values()) leases.set(lease.requestId, { ...lease, stale: lease.asks.length });
    },
    onAnswer: (requestId, newLeaseId, nowMs) => {
      const lease = leases.get(requestId);
      if (lease === undefined) return { verdict: "unknown", isFresh: false, asOf: null };
      const isFresh = lease.stale === 0;
      if (newLeaseId === undefined) {
        leases.delete(requestId);
        return { verdict: "lost", isFresh, asOf: null };
      }
      const [oldest, ...asks] = lease.asks;
      const stale = Math.max(0, lease.stale - 1);
      const confirmed = isFresh ? doubtNumber : lease.doubtNumber;
      leases.set(requestId, {
        ...lease,
        leaseId: newLeaseId,
        grantedAtMs: nowMs,
        // What is asked for in a doubt is asked again soon when its answer does not come.
        askedAtMs: isFresh ? null : lease.askedAtMs,
        asks,
        stale,
        doubtNumber: confirmed,
      });
      return { verdict: "extended", isFresh, asOf: (isFresh && oldest) || null };
    },
  };
}
