/**
 * Owns the requests in flight from this gateway: sent, acknowledged, moved to another socket, finished, or abandoned so
 * that another worker gets the job. Leases, replies and presence all act on this table.
 */
import { type ClockReading, messageOf } from "@holdfast/core";
import { hasStepJobs, type RunState } from "@holdfast/engine";
import type { GatewayFrame } from "@holdfast/protocol";
import { type Fence, type LeaseRelease, levelFor } from "@holdfast/store";
import type { DatabaseTime } from "../database-time.ts";
import type { AfterRequest, Emit } from "../dispatcher-effects.ts";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";

import type { RunCache } from "../run-cache.ts";
import type { Spans } from "../spans.ts";
import { AckTimeouts } from "./ack-timeouts.ts";
import type { ConnectedWorker } from "./connected-worker.ts";
import { ContinuedRequests } from "./continued-requests.ts";
import { type Dispatch, type JobToRun, newDispatch } from "./dispatch.ts";
import { DispatchTable } from "./dispatch-table.ts";
import { KeptRequests } from "./kept-requests.ts";
import { LastSteps } from "./last-steps.ts";
import { LateLeases } from "./late-leases.ts";
import type { LeaseProofs, RequestName } from "./lease-proofs.ts";
import { PlainRoutes } from "./plain-rules.ts";
import { requestFrame } from "./request-frame.ts";
import { requestIdOf } from "./request-id.ts";
import { SendQueue } from "./send-queue.ts";
import { SilentRequests } from "./silent-requests.ts";
import { SupersededRequests } from "./superseded-requests.ts";
import type { Workers } from "./workers.ts";

export interface DispatchesParts {
  readonly runs: RunCache;
  readonly workers: Workers;
  readonly functions: Functions;
  readonly counters: DispatcherCounters;
  readonly proofs: LeaseProofs;
  readonly time: DatabaseTime;
  readonly spans: Spans;
}

/** The table of requests in flight from this gateway. */
export class Dispatches {
  readonly #options: DispatcherOptions;
  readonly #runs: RunCache;
  readonly #workers: Workers;
  readonly #functions: Functions;
  readonly #counters: DispatcherCounters;
  readonly #proofs: LeaseProofs;
  readonly #table = new DispatchTable();
  readonly #ackTimeouts: AckTimeouts;
  readonly #sendQueue: SendQueue;
  /** Requests whose leases came late. */
  readonly late: LateLeases;
  readonly #kept: KeptRequests;
  readonly #silent: SilentRequests;
  readonly #routes = new PlainRoutes();
  readonly #superseded: SupersededRequests;
  /** Requests of workers here that this gateway did not give out. */
  readonly continued: ContinuedRequests;
  readonly lastSteps = new LastSteps();
  readonly #time: DatabaseTime;
  readonly #spans: Spans;
  readonly #emit: Emit<AfterRequest>;
  /** Requests whose leases are being ended. */
  readonly #releasing = new Map<string, Promise<void>>();

  constructor(options: DispatcherOptions, parts: DispatchesParts, emit: Emit<AfterRequest>) {
    this.#options = options;
    this.#runs = parts.runs;
    this.#workers = parts.workers;
    this.#functions = parts.functions;
    this.#counters = parts.counters;
    this.#proofs = parts.proofs;
    this.#time = parts.time;
    this.#spans = parts.spans;
    this.#emit = emit;
    this.#superseded = new SupersededRequests(parts.workers);
    this.continued = new ContinuedRequests(options, parts.workers, () => emit({ do: "WORKER_FREED" }));
    this.#ackTimeouts = new AckTimeouts(options, (late) => this.#releaseUnacked(late));
    this.#sendQueue = new SendQueue(options, (dispatch) => this.finish(dispatch));
    const shared = {
      ...parts,
      isOpen: (dispatch: Dispatch) => this.#table.has(dispatch),
      onLost: (dispatch: Dispatch) => this.finish(dispatch),
      onDropped: (dispatches: readonly Dispatch[]) => this.abandon(dispatches, () => false),
    };
    this.late = new LateLeases(options, shared);
    this.#silent = new SilentRequests(options, {
      all: () => this.#table.all(),
      onSilent: (dispatch) => this.finish(dispatch),
    });
    this.#kept = new KeptRequests(options, {
      ...shared,
      start: (...request) => this.start(...request),
      onRested: () => emit({ do: "JOBS_DUE" }),
    });
  }

  get size(): number {
    return this.#table.size;
  }

  get(requestId: string): Dispatch | undefined {
    return this.#table.get(requestId);
  }

  all(): Iterable<Dispatch> {
    return this.#table.all();
  }

  ofRun(runId: string): Iterable<Dispatch> {
    return this.#table.ofRun(runId);
  }

  leaseId(request: RequestName, appId: string, leaseMs: number): string {
    return this.#proofs.leaseId(request, appId, this.#options.clock.nowMs() + leaseMs);
  }

  /**
   * Sends a leased job to the worker whose place is reserved. `leasedAt`: from before the lease was asked for. Where the
   * store's answer is so late that the job is given out under a later epoch here, it is the lease before that, and over.
   */
  start(job: JobToRun, epoch: number, worker: ConnectedWorker, state: RunState, leasedAt: ClockReading): void {
    const fence = { jobId: job.id, epoch };
    const known = this.#table.ofJob(job.id);
    if (known && known.fence.epoch > epoch) return this.#workers.release(worker, job.functionId);
    this.supersede(fence);
    // Workers at other gateways may have it under an earlier epoch.
    if (epoch > 1) this.#options.store.notify({ type: "JOBS_REDISPATCHED", requestIds: [requestIdOf(fence)] });
    if (!worker.open) {
      this.#workers.release(worker, job.functionId);
      this.release([{ ...fence, lost: false }]);
      return;
    }
    const canGoOn = worker.session.extensions.has("checkpoint") && job.kind === "pass";
    const inPlace = canGoOn && !state.spreads && !hasStepJobs(state);
    const heardMs = this.#options.clock.monotonicMs();
    const dispatch = newDispatch(fence, job, { appId: state.appId, inPlace, worker, leasedAt, heardMs });
    this.#insert(dispatch);
    const send = (): void => {
      worker.session.sendWhenRoom(() => this.#buildRequest(dispatch, job, worker, state));
      if (worker.session.congested) this.#workers.roomChanged(worker);
      if (dispatch.sentMs === null && this.#table.has(dispatch)) this.#sendQueue.add(dispatch);
    };
    if (this.late.isLate(dispatch, worker)) this.late.renew(dispatch, worker, send);
    else send();
  }

  /**
   * Null when it is over by now, or goes back. The state may have moved on since the start, as it may before a claim.
   */
  #buildRequest(dispatch: Dispatch, job: JobToRun, worker: ConnectedWorker, state: RunState): GatewayFrame | null {
    const { requestId, fence, runId, functionId } = dispatch;
    if (!this.#table.has(dispatch) || dispatch.worker !== worker) return null;
    if (!worker.open || this.late.goesBack(dispatch, worker)) {
      this.abandon([dispatch], () => false);
      return null;
    }
    const leaseId = this.leaseId({ requestId, runId }, state.appId, worker.session.leaseMs);
    const { frame, bytes } = requestFrame({
      dispatch,
      job,
      worker,
      state,
      functionUuid: this.#functions.get(functionId)?.uuid,
      nowMs: this.#time.nowMs(),
      appUuid: this.#proofs.appUuid(state.appId),
      leaseId,
      retry: this.#options.settings.retry,
      trace: this.#spans.requestTrace(state, job),
    });
    if (frame === null) {
      this.finish(dispatch);
      this.#emit({ do: "REQUEST_TOO_LARGE", job: { runId, fence }, bytes });
      return null;
    }
    const sentMs = this.#options.clock.monotonicMs();
    dispatch.sentMs = sentMs;
    dispatch.recorded = state.memo.size;
    dispatch.lease = { id: leaseId, before: null, instanceId: worker.session.instanceId };
    dispatch.lastHeardMs = sentMs;
    this.#sendQueue.delete(dispatch);
    this.#ackTimeouts.add(dispatch, sentMs);
    this.#counters.dispatches += 1;
    return frame;
  }

  /** The worker spoke of it: it is alive there. */
  acknowledge(dispatch: Dispatch, worker: ConnectedWorker | null): void {
    dispatch.acked = true;
    this.#kept.onAcknowledged(dispatch);
    this.#routes.onAcknowledged(dispatch);
    // Its socket may have gone while the answer was on its way from the store: then this is no sign of life.
    if (worker && this.#workers.get(worker.id) !== worker) return;
    dispatch.lastHeardMs = this.#options.clock.monotonicMs();
    if (worker) this.move(dispatch, worker);
  }

  move(dispatch: Dispatch, worker: ConnectedWorker): void {
    if (dispatch.worker === worker) return;
    this.detach(dispatch);
    dispatch.worker = worker;
    worker.requests.add(dispatch.requestId);
    this.#workers.hold(worker, dispatch.functionId);
  }

  /** Its worker asks to extend its lease. */
  recordExtensionAsked(requestId: string): void {
    const dispatch = this.#table.get(requestId);
    if (dispatch) dispatch.lastAskedMs = this.#options.clock.monotonicMs();
  }

  /** Its socket is gone; the lease stays. */
  detach(dispatch: Dispatch): void {
    const { worker } = dispatch;
    if (!worker) return;
    worker.requests.delete(dispatch.requestId);
    this.#workers.release(worker, dispatch.functionId);
    dispatch.worker = null;
  }

  /** It is over, or no longer ours. */
  finish(dispatch: Dispatch): void {
    if (!this.#table.delete(dispatch)) return;
    this.#sendQueue.delete(dispatch);
    this.detach(dispatch);
    this.#runs.release(dispatch.runId);
    this.#emit({ do: "WORKER_FREED" });
  }

  ofJobs(jobIds: readonly string[]): Dispatch[] {
    return jobIds.flatMap((jobId) => this.#table.ofJob(jobId) ?? []);
  }

  /**
   * The job is given out under this epoch, here or by another gateway: the worker that had it before is told to stop,
   * if possible.
   */
  supersede(fence: Fence): void {
    const before = this.#table.ofJob(fence.jobId);
    const isOver = before !== undefined && before.fence.epoch < fence.epoch;
    this.#superseded.supersede(fence, isOver ? before : undefined);
    this.continued.supersede(fence);
    if (isOver) this.finish(before);
  }

  /** The worker extends the lease of a request that another gateway gave out. */
  keepForeign(requestId: string, worker: ConnectedWorker): void {
    this.#superseded.add({ requestId, worker });
  }

  /** Ends leases, so that a worker takes the jobs at once. What fails here the leases' own end does. */
  release(releases: readonly LeaseRelease[], onEnded: (count: number) => void = () => {}): void {
    if (releases.length === 0) return;
    for (const fence of releases) this.continued.finish(fence);
    const released = (ended: readonly boolean[]): void => {
      const count = ended.filter(Boolean).length;
      this.#counters.leasesLost += releases.filter(({ lost }, index) => lost && ended[index]).length;
      if (count > 0) onEnded(count);
      this.#emit({ do: "JOBS_DUE" });
    };
    const underWay = this.#options.store.releaseLeases(releases).then(released, (error: unknown) => {
      this.#options.log(
        levelFor(error, "warn"),
        `${releases.length} lease(s) could not be released: ${messageOf(error)}`,
      );
    });
    const requestIds = releases.map(requestIdOf);
    const done = underWay.finally(() => {
      for (const id of requestIds) if (this.#releasing.get(id) === done) this.#releasing.delete(id);
    });
    for (const id of requestIds) this.#releasing.set(id, done);
  }

  /** Resolves when the lease of this request has ended, if that is under way. */
  releasing(requestId: string): Promise<void> | undefined {
    return this.#releasing.get(requestId);
  }

  /** Drops dispatches: removes them from the table and ends their leases. `onEnded` gets how many were still ours. */
  abandon(
    dispatches: readonly Dispatch[],
    lost: (dispatch: Dispatch) => boolean,
    onEnded: (count: number) => void = () => {},
  ): void {
    const heldBy = this.#options.settings.gatewayId;
    const releases = dispatches.map((dispatch) => ({ ...dispatch.fence, lost: lost(dispatch), heldBy }));
    for (const [index, dispatch] of dispatches.entries()) {
      if (releases[index]?.lost) this.lastSteps.note(dispatch);
      this.finish(dispatch);
    }
    this.release(releases, onEnded);
  }

  /** Their leases end now, as lost: who has the work is told to stop once another one has it. */
  expire(dispatches: readonly Dispatch[]): void {
    for (const dispatch of dispatches) this.#superseded.add(dispatch);
    this.abandon(dispatches, () => true);
  }

  stop(): void {
    this.#ackTimeouts.stop();
    this.#sendQueue.stop();
    this.late.stop();
    this.#kept.stop();
    this.#silent.stop();
    this.continued.stop();
  }

  #insert(dispatch: Dispatch): void {
    this.#table.add(dispatch);
    this.#silent.start();
    this.#runs.retain(dispatch.runId);
    dispatch.worker?.requests.add(dispatch.requestId);
  }

  /**
   * The worker gets nothing more. One of the base protocol that `said` so leaves alone what it has not acknowledged by
   * then.
   */
  pauseWorker(worker: ConnectedWorker, byWorker: boolean): void {
    this.#workers.close(worker);
    const { requests, session } = worker;
    if (!byWorker || session.extensions.has("nack") || session.extensions.has("stall")) return;
    const dispatches = [...requests].flatMap((requestId) => this.#table.get(requestId) ?? []);
    this.reroute(dispatches.filter(({ acked, sentMs }) => !acked && sentMs !== null));
  }

  /** They go to another worker. A plain gateway tries only so often. */
  reroute(dispatches: readonly Dispatch[]): void {
    const { plain } = this.#options.settings;
    const failed = plain ? dispatches.filter((dispatch) => this.#routes.recordMiss(dispatch)) : [];
    for (const dispatch of failed) {
      this.finish(dispatch);
      this.#emit({ do: "REQUEST_UNACKNOWLEDGED", dispatch });
    }
    this.abandon(failed.length === 0 ? dispatches : dispatches.filter((one) => !failed.includes(one)), () => false);
  }

  /**
   * Its lease has ended, and it was claimed anew: nothing is waited for. The reference's router draws lots, so that the
   * next attempt mostly meets another worker; here those have a turn first.
   */
  forgetJob(jobId: string): void {
    const dispatch = this.#table.ofJob(jobId);
    if (!dispatch) return;
    if (dispatch.worker) this.#workers.putLast(dispatch.worker);
    this.finish(dispatch);
  }

  #releaseUnacked(unacked: readonly Dispatch[]): void {
    const open = unacked.filter((dispatch) => this.#table.has(dispatch));
    this.#counters.acksMissed += open.length;
    const { clock, settings, log } = this.#options;
    if (settings.plain) return this.reroute(open);
    const late = this.#kept.keep(open);
    if (late.length === 0) return;
    for (const { worker } of late) if (worker) this.#workers.rest(worker, clock.monotonicMs() + settings.requestAckMs);
    log("warn", `${late.length} request(s) were not acknowledged in time and are reassigned.`);
    // Until another worker has the work this one may continue: its acknowledgement was only late.
    for (const dispatch of late) this.#superseded.add(dispatch);
    this.abandon(late, () => false);
  }
}
