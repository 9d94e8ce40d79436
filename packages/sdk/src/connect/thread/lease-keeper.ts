import type { Clock, Log, TimerHandle, Timers } from "@holdfast/core";
import { AGENT_FALLBACK_INTERVALS, type ConnectionReady, type WorkerFrame } from "@holdfast/protocol";
import { parseIntervalMs } from "../core/intervals.ts";
import type { Lease } from "../core/lease-table.ts";
import type { Flights } from "./flights.ts";
import type { MainPort } from "./main-port.ts";

/** A gateway counts reports that come faster as noise. */
const MIN_STATUS_MS = 2_000;

export interface LeaseKeeperDeps {
  readonly flights: Flights;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly port: Pick<MainPort, "post">;
  readonly send: (frame: WorkerFrame) => void;
  /** The work belongs to somebody else now. */
  readonly onLost: (requestId: string) => void;
  readonly isShuttingDown: () => boolean;
}

/** Extends the leases of everything in flight, and reports what is, as often as the gateway asks. */
export class LeaseKeeper {
  readonly #deps: LeaseKeeperDeps;
  readonly #rounds = new Map<string, TimerHandle>();
  /** Leases that were given up while main stands still. */
  readonly #givenUp = new Map<string, string>();

  constructor(deps: LeaseKeeperDeps) {
    this.#deps = deps;
  }

  start(ready: ConnectionReady): void {
    this.stop();
    const { flights, clock } = this.#deps;
    this.#extend(flights.leases.extendAll(clock.monotonicMs()));
    const leaseMs = parseIntervalMs(ready.extendLeaseInterval, AGENT_FALLBACK_INTERVALS.extendLeaseMs);
    this.#every("lease", leaseMs, () => this.#extend(flights.leases.sweep(clock.monotonicMs(), leaseMs)));
    const statusMs = parseIntervalMs(ready.statusInterval, 0);
    if (statusMs > 0) this.#every("status", Math.max(statusMs, MIN_STATUS_MS), () => this.#report());
  }

  stop(): void {
    for (const timer of this.#rounds.values()) timer.cancel();
    this.#rounds.clear();
  }

  onAnswer(requestId: string, newLeaseId: string | undefined): void {
    const { flights, clock, port, log } = this.#deps;
    const flight = flights.get(requestId);
    const answer = flights.leases.answer(requestId, newLeaseId, clock.monotonicMs());
    if (answer === "extended" && newLeaseId !== undefined) {
      port.post({ type: "LEASE_EXTENDED", requestId, leaseId: newLeaseId });
    }
    // A reply that is under way stays: its acknowledgement may have crossed, and a late result is the gateway's to judge.
    if (answer !== "lost" || flight?.state !== "running") return;
    log("warn", "The lease of a request was lost; its result will not be used.", {
      code: "LEASE_LOST",
      requestId,
      runId: flight.identity.runId,
    });
    this.#deps.onLost(requestId);
  }

  /** From now on the lease is not extended. Returns its id. */
  giveUp(requestId: string): string {
    const leaseId = this.#deps.flights.leases.get(requestId)?.leaseId ?? "";
    this.#deps.flights.leases.remove(requestId);
    this.#givenUp.set(requestId, leaseId);
    return leaseId;
  }

  /** Asks for what was given up: it is ours again where nobody else has it by now, and lost where somebody has. */
  takeUp(): void {
    const { flights, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    for (const [requestId, leaseId] of this.#givenUp) {
      if (flights.get(requestId)?.state === "running") flights.leases.add(requestId, leaseId, nowMs);
    }
    const asked = [...this.#givenUp.keys()].flatMap((requestId) => flights.leases.get(requestId) ?? []);
    this.#givenUp.clear();
    this.#extend(asked);
  }

  #extend(leases: readonly Lease[]): void {
    for (const { requestId, leaseId } of leases) {
      const flight = this.#deps.flights.get(requestId);
      if (flight) this.#deps.send({ ...flight.identity, kind: "WORKER_REQUEST_EXTEND_LEASE", leaseId });
    }
  }

  #report(): void {
    this.#deps.send({
      kind: "WORKER_STATUS",
      inFlightRequestIds: [...this.#deps.flights.values()].map((flight) => flight.identity.requestId),
      shutdownRequested: this.#deps.isShuttingDown(),
    });
  }

  #every(name: string, intervalMs: number, act: () => void): void {
    const again = (): void => {
      const fire = (): void => {
        again();
        act();
      };
      this.#rounds.set(name, this.#deps.timers.set(intervalMs, fire));
    };
    again();
  }
}
