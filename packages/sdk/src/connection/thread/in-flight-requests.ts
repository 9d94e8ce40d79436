/**
 * The requests this connection thread has accepted and whose reply the gateway has not acknowledged, with their
 * leases. The main thread's ledger is the truth; this is the copy that the thread needs to extend leases, to answer
 * duplicates and to report in WORKER_STATUS. Only `RequestManager` writes it.
 */
import type { Clock } from "@holdfast/core";
import type { RequestIdentity } from "@holdfast/protocol";
import { createLeaseTable, type LeaseTable } from "../machines/lease-table.ts";

/** A request between its arrival and the acknowledgement of its reply. */
export interface InFlightRequest {
  readonly identity: RequestIdentity;
  readonly startedAtMs: number;
  state: "running" | "replied";
}

export class InFlightRequests {
  readonly leases: LeaseTable;
  readonly #clock: Clock;
  readonly #requests = new Map<string, InFlightRequest>();
  #running = 0;

  constructor(clock: Clock, doubtNumber: number) {
    this.#clock = clock;
    this.leases = createLeaseTable(doubtNumber);
  }

  get count(): number {
    return this.#requests.size;
  }

  get runningCount(): number {
    return this.#running;
  }

  /** `isConfirmed`: it is known that no other worker has it. */
  add(identity: RequestIdentity, leaseId: string, isConfirmed: boolean, ageMs = 0): InFlightRequest {
    const nowMs = this.#clock.monotonicMs();
    const request: InFlightRequest = { identity, startedAtMs: nowMs - ageMs, state: "running" };
    this.#requests.set(identity.requestId, request);
    this.leases.add(identity.requestId, leaseId, nowMs, isConfirmed);
    this.#running += 1;
    return request;
  }

  get(requestId: string): InFlightRequest | undefined {
    return this.#requests.get(requestId);
  }

  has(requestId: string): boolean {
    return this.#requests.has(requestId);
  }

  markReplied(request: InFlightRequest): void {
    if (request.state === "running") this.#running -= 1;
    request.state = "replied";
  }

  remove(requestId: string): InFlightRequest | undefined {
    const request = this.#requests.get(requestId);
    if (request === undefined) return undefined;
    this.#requests.delete(requestId);
    this.leases.remove(requestId);
    if (request.state === "running") this.#running -= 1;
    return request;
  }

  /** What has no reply yet, oldest first. */
  unfinished(): RequestIdentity[] {
    return [...this.#requests.values()].flatMap(({ state, identity }) => (state === "running" ? [identity] : []));
  }

  values(): Iterable<InFlightRequest> {
    return this.#requests.values();
  }
}
