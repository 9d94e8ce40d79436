/**
 * Owns whether a request that was read may go to main at once, or is held until its lease is confirmed
 * (docs/decisions/0036). `RequestManager` asks it; `../main/lease-guard.ts` asks the same before each body.
 */
import type { ClockReading } from "@holdfast/core";
import { type ConnectionReady, type ExecutorRequest, WORKER_FALLBACK_INTERVALS } from "@holdfast/protocol";
import { parseIntervalMs, suspensionLimitMs } from "../machines/intervals.ts";
import { earlier, LeaseAges } from "../machines/lease-ages.ts";
import type { SharedCounters } from "../shared/shared-counters.ts";

const NO_PAYLOAD = new Uint8Array(0);

/** A request that was read and is not main's yet. */
export type HeldRequest = ExecutorRequest & {
  /** Its frame, as main gets it. */
  readonly bytes: Uint8Array;
};

/**
 * Whether a request that is read may go to main at once. After a silence of this process or its connection another worker
 * may have it by now; then it is held here until its lease is confirmed. `LeaseGuard` of the main thread asks the same
 * before each body. See docs/decisions/0036 and 0048.
 *
 * DOUBT-1. After a doubt (`beginDoubt`) main begins nothing until the lease of the request is confirmed: main sees the
 *     doubt's number in shared memory before it gets anything else.
 * DOUBT-2. A request that is read while in doubt goes to main, and is acknowledged, only when its lease is confirmed; nothing
 *     of one that is lost or cancelled before that is seen by main.
 * DOUBT-3. The doubt about what is read ends with the first answer that was given after it began: all that comes over the
 *     connection later was sent later.
 * DOUBT-4. A request that is later than others of its connection by more than a suspension is in doubt, too.
 * DOUBT-5. What was read but not acknowledged belongs to its connection: it is forgotten when that one is lost or replaced.
 */
export class HandoverGuard {
  readonly ages = new LeaseAges();
  readonly #counters: Pick<SharedCounters, "setDoubtNumber">;
  readonly #held = new Map<string, HeldRequest>();
  #doubtNumber: number;
  /** What is read now may have been sent before others got it. */
  #inDoubt = false;
  #maxLateMs = 0;

  /** @param doubtNumber of the first doubt, which everything that is adopted is in */
  constructor(counters: Pick<SharedCounters, "setDoubtNumber">, doubtNumber: number) {
    this.#counters = counters;
    this.#doubtNumber = doubtNumber;
  }

  get doubtNumber(): number {
    return this.#doubtNumber;
  }

  /** What comes over a new connection was sent to this process as it is now. */
  onLinkUp(ready: ConnectionReady): void {
    const extendLeaseMs = parseIntervalMs(ready.extendLeaseInterval, WORKER_FALLBACK_INTERVALS.extendLeaseMs);
    this.#inDoubt = false;
    this.#maxLateMs = suspensionLimitMs(extendLeaseMs);
    this.ages.reset();
  }

  beginDoubt(): void {
    this.#doubtNumber += 1;
    this.#inDoubt = true;
    this.#counters.setDoubtNumber(this.#doubtNumber);
  }

  endDoubt(): void {
    this.#inDoubt = false;
  }

  /** As of when a request that is read now is known to be ours; null = its lease has to be confirmed first. */
  knownAsOf(leaseId: string, now: ClockReading): ClockReading | null {
    const lateMs = this.ages.lateMs(leaseId, now.monotonicMs) ?? 0;
    return this.#inDoubt || lateMs > this.#maxLateMs ? null : earlier(now, lateMs);
  }

  hold(request: ExecutorRequest, bytes: Uint8Array): void {
    this.#held.set(request.requestId, { ...request, requestPayload: NO_PAYLOAD, bytes });
  }

  holds(requestId: string): boolean {
    return this.#held.has(requestId);
  }

  held(): readonly HeldRequest[] {
    return [...this.#held.values()];
  }

  /** Takes it out; undefined when it is not held. */
  release(requestId: string): HeldRequest | undefined {
    const request = this.#held.get(requestId);
    this.#held.delete(requestId);
    return request;
  }
}
