import type { Clock } from "@holdfast/core";
import type { RequestIdentity } from "@holdfast/protocol";
import { createLeaseTable, type LeaseTable } from "../core/lease-table.ts";

/** A request between its arrival and the acknowledgement of its reply. */
export interface Flight {
  readonly identity: RequestIdentity;
  readonly startedAtMs: number;
  state: "running" | "replied";
}

/** Everything in flight, with its leases. */
export interface Flights {
  readonly count: number;
  readonly running: number;
  readonly leases: LeaseTable;
  add(identity: RequestIdentity, leaseId: string, ageMs?: number): Flight;
  get(requestId: string): Flight | undefined;
  has(requestId: string): boolean;
  replied(flight: Flight): void;
  remove(requestId: string): Flight | undefined;
  values(): Iterable<Flight>;
}

export function createFlights(clock: Clock): Flights {
  const flights = new Map<string, Flight>();
  const leases = createLeaseTable();
  let running = 0;
  return {
    get count() {
      return flights.size;
    },
    get running() {
      return running;
    },
    leases,
    add: (identity, leaseId, ageMs = 0) => {
      const nowMs = clock.monotonicMs();
      const flight: Flight = { identity, startedAtMs: nowMs - ageMs, state: "running" };
      flights.set(identity.requestId, flight);
      leases.add(identity.requestId, leaseId, nowMs);
      running += 1;
      return flight;
    },
    get: (requestId) => flights.get(requestId),
    has: (requestId) => flights.has(requestId),
    replied: (flight) => {
      if (flight.state === "running") running -= 1;
      flight.state = "replied";
    },
    remove: (requestId) => {
      const flight = flights.get(requestId);
      if (flight === undefined) return undefined;
      flights.delete(requestId);
      leases.remove(requestId);
      if (flight.state === "running") running -= 1;
      return flight;
    },
    values: () => flights.values(),
  };
}
