/**
 * Decides what a worker may act on. Every frame and HTTP report about a request passes here before it changes anything.
 */
import type { Log } from "@holdfast/core";
import { environmentOf } from "@holdfast/store";

import type { DispatcherCounters } from "../ports.ts";
import type { ConnectedWorker } from "./connected-worker.ts";
import type { Dispatches } from "./dispatches.ts";
import type { LeaseProofs, RequestName } from "./lease-proofs.ts";

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
  readonly worker: ConnectedWorker | null;
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
  readonly #warned = new WeakSet<ConnectedWorker>();

  constructor(parts: OwnershipParts) {
    this.#parts = parts;
  }

  /** The app, one of the session's, to which this lease was given; undefined when it is not theirs. */
  leaseholder(worker: ConnectedWorker, { requestId, runId, leaseId }: LeasedName): string | undefined {
    const { dispatches, proofs } = this.#parts;
    const named = runId === "" ? dispatches.get(requestId)?.runId : runId;
    if (named === undefined) return undefined;
    return proofs.appOf(leaseId, { requestId, runId: named }, worker.appIds);
  }

  /** A worker that reports over its socket; with a lease id, which its report may name. */
  bySocket(worker: ConnectedWorker, lease?: LeasedName): Reporter {
    const isValid = lease === undefined || lease.leaseId === "" || this.leaseholder(worker, lease) !== undefined;
    return new SocketReporter(worker, isValid);
  }

  /** A reply by HTTP: it carries the id under which only the app's own workers know the app. */
  byReply({ appId: uuid }: { readonly appId: string }, environment: string): Reporter {
    const { proofs } = this.#parts;
    return { worker: null, owns: (appId) => environmentOf(appId) === environment && proofs.isAppUuid(uuid, appId) };
  }

  /** A checkpoint by HTTP: it names its lease. */
  byCheckpoint({ leaseId, ...request }: LeasedName, environment: string): Reporter {
    const { proofs } = this.#parts;
    const holds = (appId: string): boolean => proofs.appOf(leaseId, request, [appId]) !== undefined;
    return { worker: null, owns: (appId) => environmentOf(appId) === environment && holds(appId) };
  }

  /** Notes that something was refused; the log has it once for each connection. */
  recordRefusal(worker: ConnectedWorker | null, what: string, name: Partial<RequestName>): void {
    const { counters, log } = this.#parts;
    counters.foreignRefused += 1;
    if (worker && this.#warned.has(worker)) return;
    if (worker) this.#warned.add(worker);
    log("warn", `Rejected ${what} about a request of another worker.`, {
      code: "REQUEST_NOT_OWNED",
      requestId: name.requestId,
      runId: name.runId,
      instanceId: worker?.session.instanceId,
    });
  }
}

/** Each reply and each checkpoint has one. */
class SocketReporter implements Reporter {
  readonly worker: ConnectedWorker;
  readonly #isValid: boolean;

  constructor(worker: ConnectedWorker, isValid: boolean) {
    this.worker = worker;
    this.#isValid = isValid;
  }

  owns(appId: string): boolean {
    return this.#isValid && this.worker.appIds.has(appId);
  }
}
