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
export class Flights {
  readonly leases: LeaseTable;
  readonly #clock: Clock;
  readonly #flights = new Map<string, Flight>();
  #running = 0;

  constructor(clock: Clock, epoch: number) {
    this.#clock = clock;
    this.leases = createLeaseTable(epoch);
  }

  get count(): number {
    return this.#flights.size;
  }

  get running(): number {
    return this.#running;
  }

  /** `isConfirmed`: it is known that nobody else has it. */
  add(identity: RequestIdentity, leaseId: string, isConfirmed: boolean, ageMs = 0): Flight {
    const nowMs = this.#clock.monotonicMs();
    const flight: Flight = { identity, startedAtMs: nowMs - ageMs, state: "running" };
    this.#flights.set(identity.requestId, flight);
    this.leases.add(identity.requestId, leaseId, nowMs, isConfirmed);
    this.#running += 1;
    return flight;
  }

  get(requestId: string): Flight | undefined {
    return this.#flights.get(requestId);
  }

  has(requestId: string): boolean {
    return this.#flights.has(requestId);
  }

  replied(flight: Flight): void {
    if (flight.state === "running") this.#running -= 1;
    flight.state = "replied";
  }

  remove(requestId: string): Flight | undefined {
    const flight = this.#flights.get(requestId);
    if (flight === undefined) return undefined;
    this.#flights.delete(requestId);
    this.leases.remove(requestId);
    if (flight.state === "running") this.#running -= 1;
    return flight;
  }

  /** What has no reply yet, oldest first. */
  unfinished(): RequestIdentity[] {
    return [...this.#flights.values()].flatMap(({ state, identity }) => (state === "running" ? [identity] : []));
  }

  values(): Iterable<Flight> {
    return this.#flights.values();
  }
}
