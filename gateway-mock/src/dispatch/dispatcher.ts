/**
 * The dispatcher as it is seen from outside: sockets (`../ws`), the HTTP API (`../http`) and wakes come in here. Its
 * parts emit effects and never call each other upwards; `#apply` is the one place that carries them out
 * (docs/decisions/0051).
 */
import { readClocks, unreachable } from "@holdfast/core";
import type { RunState } from "@holdfast/engine";
import type { AppRecord } from "@holdfast/store";
import type { DispatcherEffect } from "./dispatcher-effects.ts";

import { createDispatcherParts, type DispatcherParts } from "./dispatcher-parts.ts";
import type { AttachedWorker, DispatcherFrame, DispatcherStatus } from "./dispatcher-types.ts";
import type { RawEvent } from "./events/event-checks.ts";
import type { SendOptions } from "./events/event-intake.ts";
import type { Invocation, InvocationOutcome } from "./events/invocations.ts";
import type { FunctionCount } from "./function-counts.ts";
import type { DispatcherOptions } from "./ports.ts";
import { applyWake } from "./queue/apply-wake.ts";
import { cancelChain } from "./queue/cancel-chain.ts";
import type { DecideOutcome } from "./queue/decide-outcome.ts";
import type { HttpReports } from "./queue/http-reports.ts";
import type { LimitsInUse } from "./queue/limits-in-use.ts";
import type { Orphans } from "./queue/orphans.ts";
import type { WaitingRuns } from "./queue/waiting-runs.ts";
import type { RecentSlot } from "./recent-runs.ts";
import type { ControlCommands } from "./registry/control-commands.ts";
import type { Functions } from "./registry/functions.ts";
import { RegistryPoller } from "./registry/registry-poller.ts";
import type { BulkJobs } from "./repair/bulk-jobs.ts";
import type { Repairs } from "./repair/repairs.ts";
import type { WaitOutcome } from "./run-ends.ts";
import { acknowledgeRequest } from "./workers/acknowledge-request.ts";
import type { WorkerConditions } from "./workers/conditions.ts";
import type { ConnectedWorker, WorkerSession } from "./workers/connected-worker.ts";
import { giveResults } from "./workers/give-results.ts";
import type { SlowLease } from "./workers/late-leases.ts";
import { settleLeases } from "./workers/leases-at-stop.ts";
import type { RequestsInFlight } from "./workers/requests-in-flight.ts";
import { stopJobs, stopWork } from "./workers/stop-work.ts";

/** A worker that has just become ready is given nothing for this long. */
const NEWCOMER_REST_MS = 50;

/**
 * Takes events in, gives work to workers, decides on what they report. All truth is in the store; what is
 * kept here may be lost at any moment. Its parts emit what follows from what they did; `#apply` carries it out.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #parts: DispatcherParts;
  #registryPoller: RegistryPoller | null = null;
  #stopWaking: (() => void) | null = null;
  #stopWatching: (() => void) | null = null;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#parts = createDispatcherParts(options, (effect) => this.#apply(effect));
  }

  /** What workers report by HTTP. */
  get httpReports(): HttpReports {
    return this.#parts.httpReports;
  }

  /** As strict as the reference's. */
  get isPlain(): boolean {
    return this.#options.settings.plain;
  }

  get functions(): Functions {
    return this.#parts.functions;
  }

  /** Pauses functions, drains workers. */
  get controls(): ControlCommands {
    return this.#parts.controlCommands;
  }

  /** Why runs wait, from what was read of them. */
  get waitingRuns(): WaitingRuns {
    return this.#parts.waitingRuns;
  }

  /** Who has the places of limits, and who waits for them. */
  get limitsInUse(): LimitsInUse {
    return this.#parts.limitsInUse;
  }

  /** How the workers of this gateway are. */
  get conditions(): WorkerConditions {
    return this.#parts.conditions;
  }

  /** Runs that nothing moves on. */
  get orphans(): Orphans {
    return this.#parts.orphans;
  }

  async start(): Promise<void> {
    await this.#parts.proofs.open(this.#options.store);
    this.#registryPoller = new RegistryPoller(this.#options, this.#parts.functions);
    await this.#parts.functions.load();
    await this.#parts.time.ask(this.#options.store);
    this.#stopWaking = this.#options.store.onWake((wake) => {
      applyWake(wake, { ...this.#parts, reload: () => void this.#registryPoller?.now() });
    });
    this.#stopWatching = this.#options.store.onLoss((loss) => {
      void this.#parts.lostCommits.onLoss(loss).then(() => this.#parts.loop.wake());
    });
    this.#registryPoller?.start();
    const { gatewayId, renewedLeaseMs } = this.#options.settings;
    await this.#options.store.renewLeases(gatewayId, renewedLeaseMs);
    this.#parts.loop.wake();
  }

  /** One look into the queue; what the loop does by itself. Returns how many jobs were taken. */
  tick(): Promise<number> {
    return this.#parts.loop.tick();
  }

  /**
   * Stores the apps that a worker brought, before it may take work. `startedMs`: when its process began, monotonic;
   * undefined: that is not known.
   */
  async register(apps: readonly AppRecord[], startedMs?: number): Promise<void> {
    await this.#parts.proofs.open(this.#options.store);
    await this.#parts.functions.save(apps, startedMs);
  }

  /** Says that the apps which are connected here still are; call it every quarter of a minute or so. */
  touchApps(): Promise<void> {
    return this.#parts.functions.touch([...this.#parts.workers.all()].flatMap(({ session }) => session.apps));
  }

  /** A worker is there; with `open` it takes work. */
  attach(session: WorkerSession, open: boolean): AttachedWorker {
    const worker = this.#parts.workers.add(session, open);
    this.#parts.presence.onWorkerConnected(session);
    // What it has from before it says first: its lease extensions are to be in the store before we look for work for
    // it.
    this.#rest(worker);
    if (open) this.#onWorkerReady(session);
    return {
      receive: (frame) => this.#receive(worker, frame),
      pause: (said = false) => this.#parts.dispatches.pauseWorker(worker, said),
      resume: () => {
        this.#rest(worker);
        this.#parts.workers.reopen(worker);
        this.#onWorkerReady(session);
      },
      hasRoom: () => {
        this.#parts.workers.roomChanged(worker);
        this.#parts.loop.wakeIfBacklogged();
      },
      sentTooLarge: () => this.#parts.replies.onTooLarge(worker),
      lost: (how = "broken") => this.#parts.presence.onWorkerLost(worker, how),
    };
  }

  #rest(worker: ConnectedWorker): void {
    this.#parts.workers.rest(worker, this.#options.clock.monotonicMs() + NEWCOMER_REST_MS);
  }

  /**
   * Stores events and starts the runs they trigger.
   * @throws HoldfastError `EVENT_INVALID`, `STORE_FAILED`
   */
  sendEvents(events: readonly RawEvent[], how: SendOptions = {}): Promise<string[]> {
    return this.#parts.intake.send(events, how);
  }

  /** Reruns, forks and resumes. */
  get repairs(): Repairs {
    return this.#parts.repairs;
  }

  /** What is done with many runs at once. */
  get bulkJobs(): BulkJobs {
    return this.#parts.bulkJobs;
  }

  /**
   * Makes a run of one function, or finds the one that was made with the same id.
   * @throws HoldfastError `NOT_FOUND`, `OPTION_INVALID`, `EVENT_INVALID`, `STORE_FAILED`
   */
  invoke(invocation: Invocation): Promise<InvocationOutcome> {
    return this.#parts.invocations.invoke(invocation);
  }

  /** Ends a run, or what it has gone on as. `nothing`: it had ended already. */
  cancel(runId: string, reason: string): Promise<DecideOutcome> {
    return cancelChain({ store: this.#options.store, ...this.#parts }, runId, reason);
  }

  /** Gives a signal to the step of this environment that waits for it; null when none does. */
  sendSignal(environment: string, name: string, dataJson: string): Promise<{ readonly runId: string } | null> {
    return this.#parts.waitNotifier.sendSignal(environment, name, dataJson);
  }

  /**
   * Waits for the end of a run, at most so long.
   * @throws HoldfastError `WATCHERS_FULL`, `GATEWAY_CLOSING`, `STORE_FAILED`
   */
  waitForEnd(runId: string, maxMs: number, signal: AbortSignal): Promise<WaitOutcome> {
    return this.#parts.ends.wait(runId, maxMs, signal);
  }

  /** Callers that wait for runs are answered, and from now on none waits. */
  endWaits(): void {
    this.#parts.ends.close();
  }

  /** The requests that workers of this gateway have. */
  get requests(): RequestsInFlight {
    return this.#parts.requests;
  }

  status(): DispatcherStatus {
    return {
      ...this.#parts.counters,
      workers: this.#parts.workers.size,
      inFlight: this.#parts.dispatches.size,
      runsInMemory: this.#parts.runs.size,
      waiting: this.#parts.ends.waiting,
      orphans: this.#parts.orphans.count,
    };
  }

  /** How long the database took when it was last too slow to give work out; null: not for a while. */
  get slowLease(): SlowLease | null {
    return this.#parts.dispatches.late.slow;
  }

  /** What this gateway has stored since its start, by function. */
  functionCounts(): ReadonlyMap<string, FunctionCount> {
    return this.#parts.functionCounts.read();
  }

  /** How the runs of a function ended in the last hour that this gateway has decided on; null: it is not counted alone. */
  recentRuns(functionId: string): RecentSlot[] | null {
    return this.#parts.functionCounts.recent(functionId, this.#parts.time.nowMs());
  }

  /** It is `nowMs` now, whatever it was a moment ago: what is due by then is looked for at once. */
  onTimeMoved(nowMs: number): void {
    this.#parts.time.observe(nowMs, readClocks(this.#options.clock));
    this.#parts.loop.wake();
  }

  /** No new work is given out; reports are still taken. */
  async drain(): Promise<void> {
    this.#parts.admission.drain();
    this.#registryPoller?.stop();
    await Promise.all([this.#parts.adoptions.stop(), this.#parts.loop.stop()]);
  }

  /** Resolves when workers whose socket is gone have had the time to go on with their work at another gateway. */
  whenSettled(): Promise<void> {
    return this.#parts.presence.whenSettled();
  }

  /**
   * Stops, and gives back what no worker was sent. What workers have they go on with, at another gateway or at this one
   * when it is started again (`settleLeases`).
   */
  async stop(): Promise<void> {
    this.endWaits();
    await this.drain();
    this.#stopWaking?.();
    this.#stopWatching?.();
    const { waitNotifier, earlierEvents, fetches, scheduler, bulkJobs } = this.#parts;
    await Promise.all([waitNotifier, earlierEvents, fetches, scheduler, bulkJobs].map((part) => part.stop()));
    this.#parts.presence.stop();
    this.#parts.dispatches.stop();
    const left = [...this.#parts.dispatches.all()];
    for (const dispatch of left) this.#parts.dispatches.finish(dispatch);
    await settleLeases(this.#options, left);
  }

  /** Its functions in partitions get work all the while. */
  #onMainPause(worker: ConnectedWorker, isPaused: boolean): void {
    if (worker.session.partitions.length === 0 || worker.main.isPaused === isPaused) return;
    this.#parts.workers.setMainPaused(worker, isPaused);
    if (!isPaused) this.#onWorkerReady(worker.session);
  }

  /** What waits for its version is asked for; so is what no worker has had yet, for which it may be the newest. */
  #onWorkerReady({ functionIds }: WorkerSession): void {
    const served = functionIds.filter((functionId) => this.#parts.workers.accepts(functionId));
    this.#parts.backlog.onServed(served);
    this.#parts.loop.addHeldFunctions(functionIds);
    this.#parts.loop.reviewFunctions(functionIds);
    this.#parts.loop.wake(NEWCOMER_REST_MS);
  }

  /** A worker that had these functions is gone, and no longer listed: another version of them may be the newest now. */
  onWorkerGone(functionIds: readonly string[]): void {
    this.#parts.loop.reviewFunctions(functionIds);
    this.#options.store.notify({ type: "VERSIONS_CHANGED", functionIds });
  }

  #receive(worker: ConnectedWorker, frame: DispatcherFrame): void {
    switch (frame.kind) {
      case "WORKER_REQUEST_ACK":
        return acknowledgeRequest(worker, frame, this.#parts);
      case "WORKER_REPLY":
        return this.#parts.replies.onReply(worker, frame);
      case "WORKER_CHECKPOINT":
        return this.#parts.replies.onCheckpoint(worker, frame);
      case "WORKER_REQUEST_EXTEND_LEASE":
        return this.#parts.leases.extend(worker, frame);
      case "WORKER_REQUEST_NACK":
        return this.#parts.replies.onNack(worker, frame);
      case "WORKER_MAIN_PAUSE":
      case "WORKER_MAIN_READY":
        return this.#onMainPause(worker, frame.kind === "WORKER_MAIN_PAUSE");
      case "WORKER_STALL":
        return this.#parts.stalls.onStall(worker, frame);
      case "WORKER_STATE":
      case "WORKER_STATUS":
        return this.#parts.states.onFrame(worker, frame);
      default:
        return unreachable(frame);
    }
  }

  /** The one place that says what follows here from a commit, or from what becomes of a request. */
  #apply(effect: DispatcherEffect): void {
    const { dispatches, failed, waitNotifier, loop, workers } = this.#parts;
    const { store } = this.#options;
    switch (effect.do) {
      case "DISPATCH":
        for (const { job, worker, leasedAt } of effect.jobs) dispatches.start(job, 1, worker, effect.run, leasedAt);
        return;
      case "WAKE_QUEUE":
        return this.#wakeQueue(effect.functionId, effect.dueInMs);
      case "CAPACITY_FREED":
        loop.wake();
        return store.notify({ type: "JOBS_DUE", functionIds: [effect.functionId] });
      case "WAITS_ENDED":
        if (!giveResults(dispatches, effect.run)) store.notify({ type: "WAITS_ENDED", runIds: [effect.run.runId] });
        return;
      case "CANCEL_JOBS":
        if (!stopJobs(dispatches, effect.jobIds)) store.notify({ type: "JOBS_REMOVED", jobIds: effect.jobIds });
        return;
      case "NOTIFY_PARENT":
        return waitNotifier.startJob({ kind: "child", key: effect.runId }, { jobId: effect.jobId, epoch: 1 });
      case "NOTIFY_WAITERS": {
        const { event } = effect;
        return waitNotifier.startJob({ kind: "event", key: event.id, event }, { jobId: event.id, epoch: 1 });
      }
      case "FIND_EARLIER":
        return this.#parts.earlierEvents.startJob(effect.key, { jobId: effect.jobId, epoch: 1 });
      case "RUN_ENDED":
        return this.#runEnded(effect.run, effect.mayRunElsewhere);
      case "WORKER_FREED":
        return loop.wakeIfBacklogged();
      case "JOBS_DUE":
      case "LANES_ADOPTED":
        return loop.wake();
      case "REQUEST_TOO_LARGE":
        return failed.failTooLarge(effect.job, effect.bytes);
      case "REQUEST_UNACKNOWLEDGED":
        return failed.failAttempt(effect.dispatch, "connect_worker_stopped_responding");
      case "FUNCTIONS_RESUMED":
        loop.addHeldFunctions(effect.functionIds);
        loop.reviewFunctions(effect.functionIds);
        return loop.wake();
      case "ROLLOUTS_CHANGED":
        loop.reviewFunctions(workers.functionIds());
        return loop.wake();
      case "DRAINS_CHANGED":
        for (const { session } of workers.reviewDrains()) this.#onWorkerReady(session);
        return;
      default:
        return unreachable(effect);
    }
  }

  #wakeQueue(functionId: string, dueInMs: number): void {
    const { functions, workers, loop, backlog } = this.#parts;
    const isNew = dueInMs <= 0 && functions.get(functionId) !== undefined;
    // There is nothing to claim it for.
    if (isNew && !workers.accepts(functionId)) return backlog.addUnserved(functionId);
    if (isNew) backlog.add(functionId);
    loop.wake(dueInMs);
  }

  #runEnded({ runId, status }: RunState, mayRunElsewhere: boolean): void {
    const { counters, dispatches, runs } = this.#parts;
    counters.runsEnded += 1;
    runs.forget(runId);
    stopWork(dispatches, dispatches.ofRun(runId), `The run is ${status.toLowerCase()}.`);
    const isWatched = this.#parts.ends.onEnded(runId);
    if (mayRunElsewhere || isWatched) this.#options.store.notify({ type: "RUNS_ENDED", runIds: [runId] });
  }
}
