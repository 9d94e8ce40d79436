import type { Clock } from "@holdfast/core";
import type { RequestIdentity } from "@holdfast/protocol";
import { createLeaseTable, type LeaseTable } from "../machines/lease-table.ts";

/** A request between its arrival and the acknowledgement of its reply. */
export interface InFlightRequest {
  readonly identity: RequestIdentity;
  readonly startedAtMs: number;
  state: "running" | "replied";
}

/** Everything in flight, with its leases. */
export class InFlightRequests {
  readonly leases: LeaseTable;
  readonly #clock: Clock;
  readonly #inFlight = new Map<string, InFlightRequest>();
  #running = 0;

  constructor(clock: Clock, epoch: number) {
    this.#clock = clock;
    this.leases = createLeaseTable(epoch);
  }

  get count(): number {
    return this.#inFlight.size;
  }

  get running(): number {
    return this.#running;
  }

  /** `isConfirmed`: it is known that no other worker has it. */
  add(identity: RequestIdentity, leaseId: string, isConfirmed: boolean, ageMs = 0): InFlightRequest {
    const nowMs = this.#clock.monotonicMs();
    const flight: InFlightRequest = { identity, startedAtMs: nowMs - ageMs, state: "running" };
    this.#inFlight.set(identity.requestId, flight);
    this.leases.add(identity.requestId, leaseId, nowMs, isConfirmed);
    this.#running += 1;
    return flight;
  }

  get(requestId: string): InFlightRequest | undefined {
    return this.#inFlight.get(requestId);
  }

  has(requestId: string): boolean {
    return this.#inFlight.has(requestId);
  }

  replied(flight: InFlightRequest): void {
    if (flight.state === "running") this.#running -= 1;
    flight.state = "replied";
  }

  remove(requestId: string): InFlightRequest | undefined {
    const flight = this.#inFlight.get(requestId);
    if (flight === undefined) return undefined;
    this.#inFlight.delete(requestId);
    this.leases.remove(requestId);
    if (flight.state === "running") this.#running -= 1;
    return flight;
  }

  /** What has no reply yet, oldest first. */
  unfinished(): RequestIdentity[] {
    return [...this.#inFlight.values()].flatMap(({ state, identity }) => (state === "running" ? [identity] : []));
  }

  values(): Iterable<InFlightRequest> {
    return this.#inFlight.values();
  }
}
