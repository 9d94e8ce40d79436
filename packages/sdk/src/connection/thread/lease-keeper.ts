/**
 * Sends the extensions that the lease table asks for, on the gateway's interval and whenever a request must be
 * confirmed, and passes the answers on. See docs/decisions/0036 and 0048.
 */
import { type Clock, type ClockReading, type Log, readClocks, type TimerHandle, type Timers } from "@holdfast/core";
import {
  type ConnectionReady,
  type RunningStep,
  WORKER_FALLBACK_INTERVALS,
  type WorkerFrame,
} from "@holdfast/protocol";
import { parseIntervalMs, suspensionLimitMs } from "../machines/intervals.ts";
import { earlier, type LeaseAges } from "../machines/lease-ages.ts";
import type { Lease } from "../machines/lease-table.ts";
import type { LongStep } from "../shared/messages.ts";
import type { InFlightRequest, InFlightRequests } from "./in-flight-requests.ts";
import type { MainPort } from "./main-port.ts";

/** A gateway counts reports that come faster as noise. */
const MIN_STATUS_MS = 2_000;
/** A gateway has a lease extended so often before it ends. */
const INTERVALS_PER_LEASE = 4;
/** Leases that are shorter are only given by gateways that never extend what is over. */
const MIN_PLAIN_LEASE_MS = 60_000;

/**
 * A main thread that is blocked for longer than this many confirmations of a lease take gets the newest one afterwards.
 */
const MAX_CONFIRMATIONS = 60;

export interface LeaseKeeperDeps {
  readonly inFlight: InFlightRequests;
  /** How late what comes over the present connection is. */
  readonly ages: Pick<LeaseAges, "lateMs">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly port: Pick<MainPort, "post">;
  /** For what supersedes itself. */
  readonly coalescing: Pick<MainPort, "post">;
  readonly send: (frame: WorkerFrame) => void;
  /** It has been confirmed that no other worker has the work. Called before main is notified. */
  readonly onConfirmed: (requestId: string, asOf: ClockReading | null) => void;
  /** The work belongs to another worker now. */
  readonly onLost: (requestId: string) => void;
  readonly isShuttingDown: () => boolean;
  /** Nothing was agreed on with the present gateway. */
  readonly isPlain: () => boolean;
  /** The present gateway wants to hear which steps have been running for a while. */
  readonly saysSteps: () => boolean;
}

/** Extends the leases of everything in flight, and reports what is, as often as the gateway asks. */
export class LeaseKeeper {
  readonly #deps: LeaseKeeperDeps;
  #intervalMs: number = WORKER_FALLBACK_INTERVALS.extendLeaseMs;
  readonly #timers = new Map<string, TimerHandle>();
  /** Leases that were returned while main stalls. */
  readonly #givenUp = new Map<string, string>();
  /** Requests that main does not start because their last confirmation is too old, and how many newer ones it was posted. */
  readonly #awaited = new Map<string, number>();

  constructor(deps: LeaseKeeperDeps) {
    this.#deps = deps;
  }

  start(ready: ConnectionReady): void {
    this.stop();
    const { inFlight, clock } = this.#deps;
    this.#sendExtensions(inFlight.leases.extendAll(readClocks(clock)));
    const leaseMs = parseIntervalMs(ready.extendLeaseInterval, WORKER_FALLBACK_INTERVALS.extendLeaseMs);
    this.#intervalMs = leaseMs;
    this.#repeat("lease", leaseMs, () => this.#sendExtensions(inFlight.leases.sweep(readClocks(clock), leaseMs)));
    this.#repeat("awaited", suspensionLimitMs(leaseMs) / 2, () => this.#extendAwaited());
    const statusMs = parseIntervalMs(ready.statusInterval, 0);
    if (statusMs > 0) this.#repeat("status", Math.max(statusMs, MIN_STATUS_MS), () => this.#sendStatus());
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** True = the answer was given after the last doubt began. */
  onExtensionAnswer(requestId: string, newLeaseId: string | undefined): boolean {
    const { inFlight, clock } = this.#deps;
    const request = inFlight.get(requestId);
    const before = inFlight.leases.get(requestId)?.doubtNumber;
    const now = readClocks(clock);
    const granted = newLeaseId === undefined ? null : this.#grantedAt(newLeaseId, now);
    const { verdict, isFresh, asOf } = inFlight.leases.onAnswer(requestId, newLeaseId, now.monotonicMs);
    if (verdict === "extended" && newLeaseId !== undefined) {
      this.#onExtended(requestId, newLeaseId, before, isFresh ? later(granted, asOf) : null);
    }
    // A reply that is under way stays: its acknowledgement may have crossed, and a late result is the gateway's to judge.
    if (verdict === "lost" && request?.state === "running") this.#onLost(request);
    return isFresh;
  }

  /** When, at the earliest, if the quickest of what came over the connection took no time. */
  #grantedAt(leaseId: string, now: ClockReading): ClockReading | null {
    const lateMs = this.#deps.ages.lateMs(leaseId, now.monotonicMs);
    return lateMs === null ? null : earlier(now, lateMs);
  }

  #onLost({ identity: { requestId, runId }, cancelled }: InFlightRequest): void {
    const { log, onLost } = this.#deps;
    if (cancelled === undefined) {
      const message = "Lost the lease of a request; its result will not be used.";
      log("warn", message, { code: "LEASE_LOST", requestId, runId });
    } else {
      const message = `A request was cancelled; its result will not be used. ${cancelled}`.trimEnd();
      log("info", message, { code: "RUN_CANCELLED", requestId, runId });
    }
    onLost(requestId);
  }

  /** What came from elsewhere or before may be another worker's by now: it is asked for, where there is a connection. */
  beginDoubt(doubtNumber: number): void {
    const { inFlight, clock } = this.#deps;
    this.#loseEnded();
    inFlight.leases.beginDoubt(doubtNumber);
    if (this.#timers.size > 0) this.#sendExtensions(inFlight.leases.extendUnconfirmed(readClocks(clock)));
  }

  /**
   * A gateway of the base protocol may extend a lease that has ended, although the attempt is over for it. Measured on the
   * monotonic clock alone: a wall clock that was set does not end a lease.
   */
  #loseEnded(): void {
    const { inFlight, clock, isPlain } = this.#deps;
    if (!isPlain()) return;
    const endedMs = clock.monotonicMs() - Math.max(MIN_PLAIN_LEASE_MS, INTERVALS_PER_LEASE * this.#intervalMs);
    for (const request of [...inFlight.values()]) {
      const grantedAtMs = inFlight.leases.get(request.identity.requestId)?.grantedAtMs ?? endedMs;
      if (request.state === "running" && grantedAtMs < endedMs) this.#onLost(request);
    }
  }

  askForExtension(requestId: string): void {
    const { inFlight, clock } = this.#deps;
    this.#sendExtensions(inFlight.leases.extend(requestId, readClocks(clock)));
  }

  /** Main waits with it: it is confirmed again and again until that one goes on, however long its turns are. */
  keepConfirming(requestId: string): void {
    this.#awaited.set(requestId, 0);
    if (this.#timers.size > 0) this.askForExtension(requestId);
  }

  stopConfirming(requestId: string): void {
    this.#awaited.delete(requestId);
  }

  /** Which steps of it have been running for a while has changed: said now, and with each extension from now on. */
  sayLongSteps(request: InFlightRequest, steps: readonly LongStep[]): void {
    request.longSteps = steps;
    const isLinked = this.#timers.size > 0;
    if (request.state === "running" && isLinked && this.#deps.saysSteps()) {
      this.askForExtension(request.identity.requestId);
    }
  }

  #extendAwaited(): void {
    const { inFlight } = this.#deps;
    for (const requestId of this.#awaited.keys()) {
      if (inFlight.get(requestId)?.state === "running") this.askForExtension(requestId);
      else this.#awaited.delete(requestId);
    }
  }

  #onExtended(requestId: string, leaseId: string, before: number | null | undefined, asOf: ClockReading | null): void {
    const { inFlight, port, coalescing } = this.#deps;
    const doubtNumber = inFlight.leases.get(requestId)?.doubtNumber ?? null;
    if (doubtNumber === null) return;
    const message = { type: "LEASE_EXTENDED", requestId, leaseId, doubtNumber, asOf } as const;
    const confirmations = this.#awaited.get(requestId) ?? MAX_CONFIRMATIONS;
    if (confirmations < MAX_CONFIRMATIONS) this.#awaited.set(requestId, confirmations + 1);
    // Main may wait for the first one after a doubt; of those that it does not wait for it needs only the newest.
    if (doubtNumber === before)
      return confirmations < MAX_CONFIRMATIONS ? port.post(message) : coalescing.post(message);
    this.#deps.onConfirmed(requestId, asOf);
    port.post(message);
  }

  /** From now on the lease is not extended. Returns its id. */
  giveUpLease(requestId: string): string {
    const leaseId = this.#deps.inFlight.leases.get(requestId)?.leaseId ?? "";
    this.#deps.inFlight.leases.remove(requestId);
    this.#givenUp.set(requestId, leaseId);
    return leaseId;
  }

  /** Reclaims returned leases: each is ours again unless another worker has it by now, which loses it. */
  reclaimLeases(): void {
    const { inFlight, clock } = this.#deps;
    const now = readClocks(clock);
    for (const [requestId, leaseId] of this.#givenUp) {
      if (inFlight.get(requestId)?.state === "running") inFlight.leases.add(requestId, leaseId, now.monotonicMs, false);
    }
    const asked = [...this.#givenUp.keys()].flatMap((requestId) => inFlight.leases.extend(requestId, now));
    this.#givenUp.clear();
    this.#sendExtensions(asked);
  }

  #sendExtensions(leases: readonly Lease[]): void {
    for (const { requestId, leaseId } of leases) {
      const request = this.#deps.inFlight.get(requestId);
      if (!request) continue;
      const steps = this.#runningSteps(request);
      this.#deps.send({ ...request.identity, kind: "WORKER_REQUEST_EXTEND_LEASE", leaseId, ...steps });
    }
  }

  #runningSteps({ longSteps = [] }: InFlightRequest): { readonly runningSteps?: readonly RunningStep[] } {
    if (longSteps.length === 0 || !this.#deps.saysSteps()) return {};
    const nowMs = this.#deps.clock.monotonicMs();
    return {
      runningSteps: longSteps.map(({ id, fromMs }) => ({ id, runningMs: Math.max(0, Math.round(nowMs - fromMs)) })),
    };
  }

  #sendStatus(): void {
    this.#deps.send({
      kind: "WORKER_STATUS",
      inFlightRequestIds: [...this.#deps.inFlight.values()].map((request) => request.identity.requestId),
      shutdownRequested: this.#deps.isShuttingDown(),
    });
  }

  #repeat(name: string, intervalMs: number, act: () => void): void {
    const again = (): void => {
      const fire = (): void => {
        again();
        act();
      };
      this.#timers.set(name, this.#deps.timers.set(intervalMs, fire));
    };
    again();
  }
}

function later(one: ClockReading | null, other: ClockReading | null): ClockReading | null {
  if (one === null || other === null) return one ?? other;
  return one.monotonicMs < other.monotonicMs ? other : one;
}
