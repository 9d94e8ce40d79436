/**
 * Decides what a worker may act on. Every frame and HTTP report about a request passes here before it changes anything.
 */
import type { Log } from "@holdfast/core";
import { environmentOf } from "@holdfast/store";

import type { DispatcherCounters } from "../ports.ts";
import type { Dispatches } from "./dispatches.ts";
import type { LeaseProofs, RequestName } from "./lease-proofs.ts";
import type { Slot } from "./workers.ts";

export interface OwnershipParts {
  readonly proofs: LeaseProofs;
  readonly dispatches: Dispatches;
  readonly counters: DispatcherCounters;
  readonly log: Log;
}

/** What a worker speaks of: a request, and the lease that it says to have. */
export interface LeasedName extends RequestName {
  readonly leaseId: string;
}

/** Who reports on a request, and which apps' requests are theirs. */
export interface Reporter {
  /** Null: it came by HTTP. */
  readonly slot: Slot | null;
  owns(appId: string): boolean;
}

/**
 * What workers may act on. Knowing a request's id gives no right to the request. Invariants:
 *
 * OWNER-1. A worker's word about a request counts only if the request's run is one of an app that its session
 *     registered, and is the run that the worker names. By HTTP, where there is no session, the request's lease or its
 *     app's id shows it.
 * OWNER-2. A lease is extended, and work handed back, only with a lease id of that very request, run and app.
 * OWNER-3. What is refused changes nothing: neither the run, nor who holds the work, nor when its lease ends.
 */
export class Ownership {
  readonly #parts: OwnershipParts;
  readonly #warned = new WeakSet<Slot>();

  constructor(parts: OwnershipParts) {
    this.#parts = parts;
  }

  /** The app, one of the session's, to which this lease was given; undefined when it is not theirs. */
  leaseholder(slot: Slot, { requestId, runId, leaseId }: LeasedName): string | undefined {
    const { dispatches, proofs } = this.#parts;
    const named = runId === "" ? dispatches.get(requestId)?.runId : runId;
    if (named === undefined) return undefined;
    return proofs.appOf(leaseId, { requestId, runId: named }, slot.appIds);
  }

  /** A worker that reports over its socket; with a lease id, which its report may name. */
  bySocket(slot: Slot, lease?: LeasedName): Reporter {
    const isValid = lease === undefined || lease.leaseId === "" || this.leaseholder(slot, lease) !== undefined;
    return { slot, owns: (appId) => isValid && slot.appIds.has(appId) };
  }

  /** A reply by HTTP: it carries the id under which only the app's own workers know the app. */
  byReply({ appId: uuid }: { readonly appId: string }, environment: string): Reporter {
    const { proofs } = this.#parts;
    return { slot: null, owns: (appId) => environmentOf(appId) === environment && proofs.isAppUuid(uuid, appId) };
  }

  /** A checkpoint by HTTP: it names its lease. */
  byCheckpoint({ leaseId, ...request }: LeasedName, environment: string): Reporter {
    const { proofs } = this.#parts;
    const holds = (appId: string): boolean => proofs.appOf(leaseId, request, [appId]) !== undefined;
    return { slot: null, owns: (appId) => environmentOf(appId) === environment && holds(appId) };
  }

  /** Notes that something was refused; the log has it once for each connection. */
  recordRefusal(slot: Slot | null, what: string, name: Partial<RequestName>): void {
    const { counters, log } = this.#parts;
    counters.foreignRefused += 1;
    if (slot && this.#warned.has(slot)) return;
    if (slot) this.#warned.add(slot);
    log("warn", `Rejected ${what} about a request of another worker.`, {
      code: "REQUEST_NOT_OWNED",
      requestId: name.requestId,
      runId: name.runId,
      instanceId: slot?.session.instanceId,
    });
  }
}
