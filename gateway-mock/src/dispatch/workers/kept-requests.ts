/**
 * Unacknowledged requests of workers that cannot be told to drop them (the base protocol): here they keep their leases
 * until another connection has room.
 */
import { messageOf, readClocks, type TimerHandle } from "@holdfast/core";
import type { DispatcherOptions } from "../ports.ts";

import type { Controls } from "../registry/controls.ts";
import type { RunCache } from "../run-cache.ts";
import type { ConnectedWorker } from "./connected-worker.ts";
import type { Dispatch, StartRequest } from "./dispatch.ts";
import type { Workers } from "./workers.ts";

export interface KeptRequestsParts {
  readonly runs: RunCache;
  readonly workers: Workers;
  readonly functions: { readonly controls: Pick<Controls, "pauseOf"> };
  /** Whether it is still in the table. */
  readonly isOpen: (dispatch: Dispatch) => boolean;
  /** Gives the job to this worker, whose place is reserved, under the next epoch; ends the dispatch before. */
  readonly start: StartRequest;
  /** Another worker has the work. */
  readonly onLost: (dispatch: Dispatch) => void;
  /** Any worker may have the work. */
  readonly onDropped: (dispatches: readonly Dispatch[]) => void;
  /** A worker may be given work again. */
  readonly onRested: () => void;
}

/**
 * Requests that a worker of the base protocol did not acknowledge in time. They may be unread in its socket, as with a
 * connection that shares a blocked main thread, and it cannot be told to drop them: under another request id the same
 * worker would run the same work twice.
 *
 * KEPT-1. While its connection lives the request stays with it, under its id; its lease is kept here.
 * KEPT-2. The job goes to another connection as soon as one has capacity. From then on reports under the old id are
 *     late.
 * KEPT-3. The worker gets no new work until it has reported on what it has.
 * KEPT-4. A worker that sends other frames, but nothing about the request for the length of a lease, has dropped it:
 *     any worker may have it.
 * KEPT-5. When the connection ends or pauses, they are treated like all its requests.
 */
export class KeptRequests {
  readonly #options: DispatcherOptions;
  readonly #parts: KeptRequestsParts;
  readonly #kept = new Map<Dispatch, ConnectedWorker>();
  #timer: TimerHandle | null = null;
  #isChecking = false;

  constructor(options: DispatcherOptions, parts: KeptRequestsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Keeps those of live connections that cannot be told to stop; returns the others. */
  keep(late: readonly Dispatch[]): Dispatch[] {
    const rest: Dispatch[] = [];
    for (const dispatch of late) {
      const { worker } = dispatch;
      if (worker && this.#isLive(worker) && !worker.session.extensions.has("cancel")) {
        this.#kept.set(dispatch, worker);
        // However long the next look takes.
        this.#parts.workers.rest(worker, Number.POSITIVE_INFINITY);
      } else rest.push(dispatch);
    }
    if (this.#kept.size > 0 && !this.#isChecking) void this.#check();
    return rest;
  }

  /** The worker spoke of it. */
  onAcknowledged(dispatch: Dispatch): void {
    const worker = this.#kept.get(dispatch);
    if (!worker) return;
    this.#forget(dispatch);
    if (this.#hasKept(worker)) return;
    this.#parts.workers.rest(worker, 0);
    this.#parts.onRested();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#kept.clear();
  }

  #isLive(worker: ConnectedWorker): boolean {
    return this.#parts.workers.get(worker.id) === worker;
  }

  /** It is not to be kept any more. False: it was not. A worker of which nothing else is rests a little longer. */
  #forget(dispatch: Dispatch): boolean {
    const worker = this.#kept.get(dispatch);
    if (!worker) return false;
    this.#kept.delete(dispatch);
    const { clock, settings } = this.#options;
    if (!this.#hasKept(worker)) this.#parts.workers.rest(worker, clock.monotonicMs() + settings.requestAckMs);
    return true;
  }

  #hasKept(worker: ConnectedWorker): boolean {
    for (const other of this.#kept.values()) if (other === worker) return true;
    return false;
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#kept.size === 0) return;
    const { settings, timers } = this.#options;
    const everyMs = Math.min(
      settings.requestAckMs,
      ...[...this.#kept.values()].map(({ session }) => session.extendLeaseMs),
    );
    this.#timer = timers.set(everyMs, () => void this.#check(), { unref: true });
  }

  async #check(): Promise<void> {
    const { log } = this.#options;
    this.#isChecking = true;
    try {
      const left: Dispatch[] = [];
      for (const dispatch of this.#stillKept()) if (!(await this.#tryReassign(dispatch))) left.push(dispatch);
      await this.#extend(left);
    } catch (error) {
      // The next time, or the leases end.
      log("debug", `The leases of unacknowledged requests could not be extended: ${messageOf(error)}`);
    }
    this.#isChecking = false;
    this.#arm();
  }

  /** Those that are still to be kept. */
  #stillKept(): Dispatch[] {
    const { clock, settings } = this.#options;
    const nowMs = clock.monotonicMs();
    const dropped: Dispatch[] = [];
    for (const [dispatch, worker] of this.#kept) {
      if (!this.#isStillKept(dispatch, worker)) this.#forget(dispatch);
      else if (isDropped(dispatch, worker, nowMs, settings.requestAckMs)) dropped.push(dispatch);
    }
    for (const dispatch of dropped) this.#forget(dispatch);
    if (dropped.length > 0) this.#parts.onDropped(dropped);
    return [...this.#kept.keys()];
  }

  /** Neither acknowledged nor over, and still of this connection. */
  #isStillKept(dispatch: Dispatch, worker: ConnectedWorker): boolean {
    return !dispatch.acked && dispatch.worker === worker && this.#parts.isOpen(dispatch) && this.#isLive(worker);
  }

  /** To another connection, if one has room. */
  async #tryReassign(dispatch: Dispatch): Promise<boolean> {
    const { clock, settings } = this.#options;
    const { workers, runs, functions } = this.#parts;
    const { runId, functionId } = dispatch;
    // No other worker begins it; the one that was sent it may have.
    if (functions.controls.pauseOf(functionId)) return false;
    runs.retain(runId);
    try {
      const state = await runs.load(runId);
      const version = settings.versionPolicy === "any" ? null : (state?.appVersion ?? null);
      if (!this.#kept.has(dispatch)) return true;
      const worker = workers.reserve(functionId, clock.monotonicMs(), version);
      if (!worker) return false;
      const started = await this.#reassign(dispatch, worker).catch((error: unknown) => {
        workers.release(worker, functionId);
        throw error;
      });
      if (!started) workers.release(worker, functionId);
      return true;
    } finally {
      runs.release(runId);
    }
  }

  /** False when the work is another worker's, or over. */
  async #reassign(dispatch: Dispatch, worker: ConnectedWorker): Promise<boolean> {
    const { store, settings, log } = this.#options;
    const { runs, start, onLost } = this.#parts;
    const { fence, runId, functionId } = dispatch;
    const leasedAt = readClocks(this.#options.clock);
    const lease = { ...fence, gatewayId: settings.gatewayId, leaseMs: worker.session.leaseMs, next: true };
    const [extended] = await store.extendLeases([lease]);
    this.#forget(dispatch);
    // As after a claim: the cached state may be older than the stored one.
    if (extended) runs.forget(runId);
    const state = extended ? await runs.load(runId) : null;
    const job = state && [...state.jobs.values()].find(({ id }) => id === fence.jobId);
    if (!state || !job) {
      onLost(dispatch);
      return false;
    }
    log("info", "A request that was not acknowledged in time is reassigned to another connection.", { runId });
    start({ ...job, runId, functionId }, fence.epoch + 1, worker, state, leasedAt);
    return true;
  }

  async #extend(dispatches: readonly Dispatch[]): Promise<void> {
    const { store, settings } = this.#options;
    const { gatewayId } = settings;
    const leased = dispatches.flatMap((dispatch) => {
      const worker = this.#kept.get(dispatch);
      return worker ? [{ dispatch, lease: { ...dispatch.fence, gatewayId, leaseMs: worker.session.leaseMs } }] : [];
    });
    if (leased.length === 0) return;
    const ours = await store.extendLeases(leased.map(({ lease }) => lease));
    for (const [index, { dispatch }] of leased.entries()) {
      if (ours[index] === false && this.#forget(dispatch) && !dispatch.acked) this.#parts.onLost(dispatch);
    }
  }
}

function isDropped(
  { sentMs }: Dispatch,
  { session, seenMs }: ConnectedWorker,
  nowMs: number,
  requestAckMs: number,
): boolean {
  if (sentMs === null) return false;
  return nowMs - sentMs > session.leaseMs + requestAckMs && seenMs - sentMs > requestAckMs;
}
