/**
 * The requests this connection thread has accepted and whose reply the gateway has not acknowledged, with their
 * leases. The main thread's ledger is the truth; this is the copy that the thread needs to extend leases, to answer
 * duplicates and to report in WORKER_STATUS. Only `RequestManager` writes it.
 */
import type { Clock } from "@holdfast/core";
import type { RequestIdentity } from "@holdfast/protocol";
import { Capacity, type CapacityConfig, type Part } from "../machines/capacity.ts";
import { createLeaseTable, type LeaseTable } from "../machines/lease-table.ts";
import type { LongStep } from "../shared/messages.ts";

/** A request between its arrival and the acknowledgement of its reply. */
export interface InFlightRequest {
  readonly identity: RequestIdentity;
  readonly startedAtMs: number;
  state: "running" | "replied";
  /** Its steps that have been running for a while, oldest first; the gateway is told when their lease is extended. */
  longSteps?: readonly LongStep[];
  /** Why the gateway has cancelled it: what its code still gives is not used, and its lease not extended. */
  cancelled?: string;
}

export class InFlightRequests {
  readonly leases: LeaseTable;
  readonly #clock: Clock;
  readonly #requests = new Map<string, InFlightRequest>();
  readonly #capacity: Capacity;
  readonly #running = new Map<Part, number>();
  #runningCount = 0;

  constructor(clock: Clock, doubtNumber: number, capacity: CapacityConfig) {
    this.#clock = clock;
    this.#capacity = new Capacity(capacity);
    this.leases = createLeaseTable(doubtNumber);
  }

  get count(): number {
    return this.#requests.size;
  }

  get runningCount(): number {
    return this.#runningCount;
  }

  /** Of the part of the capacity that this function takes: how much is running, and how much may. */
  partOf(functionSlug: string): { readonly running: number; readonly maxRunning: number } {
    const part = this.#capacity.partOf(functionSlug);
    return { running: this.#running.get(part) ?? 0, maxRunning: this.#capacity.limitOf(part) };
  }

  /** `isConfirmed`: it is known that no other worker has it. */
  add(identity: RequestIdentity, leaseId: string, isConfirmed: boolean, ageMs = 0): InFlightRequest {
    const nowMs = this.#clock.monotonicMs();
    const request: InFlightRequest = { identity, startedAtMs: nowMs - ageMs, state: "running" };
    this.#requests.set(identity.requestId, request);
    this.leases.add(identity.requestId, leaseId, nowMs, isConfirmed);
    this.#count(request, 1);
    return request;
  }

  get(requestId: string): InFlightRequest | undefined {
    return this.#requests.get(requestId);
  }

  has(requestId: string): boolean {
    return this.#requests.has(requestId);
  }

  /** False when there is none. */
  cancel(requestId: string, reason: string): boolean {
    const request = this.#requests.get(requestId);
    if (request !== undefined) request.cancelled = reason;
    return request !== undefined;
  }

  markReplied(request: InFlightRequest): void {
    if (request.state === "running") this.#count(request, -1);
    request.state = "replied";
  }

  remove(requestId: string): InFlightRequest | undefined {
    const request = this.#requests.get(requestId);
    if (request === undefined) return undefined;
    this.#requests.delete(requestId);
    this.leases.remove(requestId);
    if (request.state === "running") this.#count(request, -1);
    return request;
  }

  #count({ identity: { functionSlug } }: InFlightRequest, by: 1 | -1): void {
    const part = this.#capacity.partOf(functionSlug);
    this.#running.set(part, (this.#running.get(part) ?? 0) + by);
    this.#runningCount += by;
  }

  /** What has no reply yet, oldest first. */
  unfinished(): RequestIdentity[] {
    return [...this.#requests.values()].flatMap(({ state, identity }) => (state === "running" ? [identity] : []));
  }

  values(): Iterable<InFlightRequest> {
    return this.#requests.values();
  }
}
