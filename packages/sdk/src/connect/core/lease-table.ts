/**
 * The leases of everything in flight. One timer serves the whole table: its owner calls `sweep` every interval.
 *
 * T1. At most one extension per lease is under way on one connection; one whose answer did not come for two intervals
 *     is asked again with the same lease id, which the gateway answers as it did before.
 * T2. An extension carries the newest lease id.
 * T3. A refusal loses the lease, once: it is in the table no more.
 * T4. After a reconnect `extendAll` asks for every lease, whatever was under way on the old connection.
 * T5. An answer for a request that is not in the table changes nothing.
 * T6. A sweep passes over leases that were granted less than half an interval ago.
 */
export interface Lease {
  readonly requestId: string;
  readonly leaseId: string;
  readonly grantedAtMs: number;
  /** When the extension under way was asked for; null = none is. */
  readonly askedAtMs: number | null;
}

export type LeaseAnswer = "extended" | "lost" | "unknown";

export interface LeaseTable {
  readonly size: number;
  add(requestId: string, leaseId: string, nowMs: number): void;
  remove(requestId: string): void;
  get(requestId: string): Lease | undefined;
  /** Which leases to ask an extension for now; they count as asked. */
  sweep(nowMs: number, intervalMs: number): readonly Lease[];
  extendAll(nowMs: number): readonly Lease[];
  answer(requestId: string, newLeaseId: string | undefined, nowMs: number): LeaseAnswer;
}

export function createLeaseTable(): LeaseTable {
  const leases = new Map<string, Lease>();

  const ask = (lease: Lease, nowMs: number): Lease => {
    const asked = { ...lease, askedAtMs: nowMs };
    leases.set(lease.requestId, asked);
    return asked;
  };

  return {
    get size() {
      return leases.size;
    },
    add: (requestId, leaseId, nowMs) => {
      leases.set(requestId, { requestId, leaseId, grantedAtMs: nowMs, askedAtMs: null });
    },
    remove: (requestId) => {
      leases.delete(requestId);
    },
    get: (requestId) => leases.get(requestId),
    sweep: (nowMs, intervalMs) => {
      const due = [...leases.values()].filter((lease) =>
        lease.askedAtMs === null
          ? nowMs - lease.grantedAtMs >= intervalMs / 2
          : nowMs - lease.askedAtMs >= 2 * intervalMs,
      );
      return due.map((lease) => ask(lease, nowMs));
    },
    extendAll: (nowMs) => [...leases.values()].map((lease) => ask(lease, nowMs)),
    answer: (requestId, newLeaseId, nowMs) => {
      if (!leases.has(requestId)) return "unknown";
      if (newLeaseId === undefined) {
        leases.delete(requestId);
        return "lost";
      }
      leases.set(requestId, { requestId, leaseId: newLeaseId, grantedAtMs: nowMs, askedAtMs: null });
      return "extended";
    },
  };
}
