/**
 * Owns when this gateway looks into the queue, and hands each claimed job to the part that works on its kind:
 * `Placement` for workers, `Scheduler`, `Fetches`, `WaitNotifier`, `RunUpdater` for timers.
 */
import { messageOf, plainError, type TimerHandle } from "@holdfast/core";
import { FETCH_QUEUE, FINISH_TIMEOUT, NEWER_QUEUE, needsWorker, type RunState } from "@holdfast/engine";
import { type Fence, isRunTimer, levelFor } from "@holdfast/store";
import type { Admission } from "../admission/admission.ts";
import type { Backlog } from "../admission/backlog.ts";
import type { DatabaseTime } from "../database-time.ts";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";

import type { RunCache } from "../run-cache.ts";
import type { Dispatches } from "../workers/dispatches.ts";
import { lossMessage } from "../workers/last-steps.ts";
import type { Workers } from "../workers/workers.ts";
import { ClaimSize } from "./claim-size.ts";
import { Claims, type LeasedClaim, TIMER_LEASE_MS } from "./claims.ts";
import { EARLIER_LEASE_MS, type EarlierEvents } from "./earlier-events.ts";
import type { FailedAttempts } from "./failed-attempts.ts";
import { FETCH_LEASE_MS, type Fetches } from "./fetches.ts";
import { Placement } from "./placement.ts";
import type { RunUpdater } from "./run-updater.ts";
import type { Scheduler } from "./scheduler.ts";
import { UnroutableWork } from "./unroutable.ts";
import type { VersionHolds } from "./version-holds.ts";
import type { WaitNotifier } from "./wait-notifier.ts";

const TIMER = "";
/** What is put off at the same time is asked for together. */
const RECALL_REST_MS = 20;

/** What is done with many runs; `../repair/bulk-jobs.ts` does it, above this room. */
export interface BulkWork {
  startJob(bulkId: string, fence: Fence): void;
}

export interface QueueLoopParts {
  readonly runs: RunCache;
  readonly workers: Workers;
  readonly admission: Admission;
  readonly dispatches: Dispatches;
  readonly updater: RunUpdater;
  readonly time: DatabaseTime;
  readonly waitNotifier: WaitNotifier;
  readonly earlierEvents: EarlierEvents;
  readonly bulkJobs: BulkWork;
  readonly fetches: Fetches;
  readonly functions: Functions;
  readonly scheduler: Scheduler;
  readonly counters: DispatcherCounters;
  readonly failed: FailedAttempts;
  readonly versionHolds: VersionHolds;
  readonly backlog: Backlog;
}

/**
 * Takes due jobs out of the queue: at once when woken, else after a wait that grows from `pollMinMs` to `pollMaxMs`
 * while nothing happens, and never longer than until the next job is due.
 */
export class QueueLoop {
  readonly #options: DispatcherOptions;
  readonly #parts: QueueLoopParts;
  readonly #placement: Placement;
  readonly #versionHolds: VersionHolds;
  readonly #unroutable: UnroutableWork | null;
  readonly #claims: Claims;
  readonly #backlog: Backlog;
  #timer: TimerHandle | null = null;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #idleMs: number;
  /** When a throttle lets the next run start. */
  #retryInMs: number | null = null;
  #ticking: Promise<void> | null = null;
  #tickAgain = false;
  /** Timers that are being decided on. */
  #firing = 0;
  #timersLeft = false;
  readonly #claimSize: ClaimSize;
  #stopped = false;

  constructor(options: DispatcherOptions, parts: QueueLoopParts) {
    this.#options = options;
    this.#parts = parts;
    this.#placement = new Placement(options, parts, (functionId) => this.addHeldFunctions([functionId]));
    this.#versionHolds = parts.versionHolds;
    this.#backlog = parts.backlog;
    this.#unroutable = options.settings.plain ? new UnroutableWork(options, parts) : null;
    this.#claims = new Claims(options, parts);
    this.#idleMs = options.settings.pollMinMs;
    this.#claimSize = new ClaimSize(options.settings.maxClaim);
  }

  /** A worker has capacity for what waits. */
  wakeIfBacklogged(): void {
    if (!this.#backlog.isEmpty) this.wake();
  }

  /** Jobs of these functions were put off; some may be for versions that are connected here. */
  addHeldFunctions(functionIds: Iterable<string>): void {
    if (this.#versionHolds.addFunctions(functionIds)) this.wake(RECALL_REST_MS);
  }

  /** Jobs of these functions that no worker has had yet may find a place, now that a worker came or went. */
  reviewFunctions(functionIds: Iterable<string>): void {
    if (this.#versionHolds.addForReview(functionIds)) this.wake(RECALL_REST_MS);
  }

  /** Looks into the queue now, or after `delayMs`. */
  wake(delayMs = 0): void {
    if (this.#stopped) return;
    if (delayMs <= 0) {
      this.#idleMs = this.#options.settings.pollMinMs;
      if (this.#ticking) this.#tickAgain = true;
      else this.#startTick();
      return;
    }
    this.#arm(delayMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = null;
    await this.#ticking;
  }

  /** One look into the queue: claim what fits, dispatch it, decide on due timers. Returns how many jobs there were. */
  async tick(): Promise<number> {
    const { clock, settings, store } = this.#options;
    const { admission, counters, time } = this.#parts;
    if (time.isDoubtful) await time.ask(store);
    await this.#versionHolds.recall(clock.monotonicMs(), settings.maxClaim, admission);
    await this.#unroutable?.failUnroutable();
    const { limit: most } = this.#claimSize;
    const timerRoom = Math.max(0, most - this.#firing);
    const timers = timerRoom > 0 ? [{ functionId: TIMER, limit: timerRoom, leaseMs: TIMER_LEASE_MS }] : [];
    const calls = admission.mayStart({ at: "CLAIM", functionId: FETCH_QUEUE }).may ? this.#parts.fetches.room : 0;
    const fetches = { functionId: FETCH_QUEUE, limit: calls, leaseMs: FETCH_LEASE_MS };
    const earlier = { functionId: NEWER_QUEUE, limit: this.#parts.earlierEvents.room, leaseMs: EARLIER_LEASE_MS };
    const { mark } = this.#parts.runs;
    const { jobs, wants, blocked, retryInMs, outdated } = await this.#claims.claimJobs(most, [
      ...timers,
      fetches,
      earlier,
    ]);
    if (outdated) this.#tickAgain = true;
    this.#retryInMs = retryInMs;
    counters.claimedJobs += jobs.length;
    this.#claimSize.recordClaim(jobs.length, lengthOf(jobs));
    const counts = new Map<string, number>();
    // What is decided on now is decided by the time at which it was found due.
    const timer = jobs.find((job) => job.kind === "timer");
    if (timer) time.observe(timer.leaseUntilMs - TIMER_LEASE_MS, timer.leasedAt);
    for (const job of jobs) {
      counts.set(job.functionId, (counts.get(job.functionId) ?? 0) + 1);
      this.#handleJob(job, mark);
    }
    for (const { functionId, limit, mayHaveMore } of wants) {
      this.#backlog.delete(functionId);
      if (mayHaveMore || (counts.get(functionId) ?? 0) >= limit) this.#backlog.add(functionId);
    }
    this.#backlog.onAsked(new Set(wants.map(({ functionId }) => functionId)));
    for (const functionId of blocked) this.#backlog.addLimited(functionId);
    if ((counts.get(TIMER) ?? 0) >= timerRoom) this.#claimMoreTimers();
    for (const { functionId, limit } of wants) {
      if (limit >= most && (counts.get(functionId) ?? 0) >= limit) this.#tickAgain = true;
    }
    return jobs.length;
  }

  #handleJob(job: LeasedClaim, mark: number): void {
    const { runs, waitNotifier } = this.#parts;
    const fence = { jobId: job.id, epoch: job.epoch };
    if (this.#parts.scheduler.startJob(job)) return;
    if (job.kind === "event" || job.kind === "child")
      return waitNotifier.startJob({ kind: job.kind, key: job.key }, fence);
    if (job.kind === "bulk") return this.#parts.bulkJobs.startJob(job.key, fence);
    if (job.kind === "earlier") return this.#parts.earlierEvents.startJob(job.key, fence);
    if (job.runId === "") return;
    runs.retain(job.runId);
    // Without its run, it is here, unless it was forgotten a moment ago.
    const state = job.run ? runs.mergeClaimed(job.run, mark, needsWorker(job)) : runs.peek(job.runId);
    if (state) {
      this.#startJob(job, state, fence);
      runs.release(job.runId);
      return;
    }
    runs.forget(job.runId);
    const begun = runs.load(job.runId).then((fresh) => {
      if (fresh) this.#startJob(job, fresh, fence);
    });
    begun
      .catch((error: unknown) => {
        // Its lease ends, and another gateway claims it again.
        this.#options.log(levelFor(error, "warn"), `Run ${job.runId} could not be read: ${messageOf(error)}`, {
          runId: job.runId,
        });
      })
      .finally(() => runs.release(job.runId));
  }

  #startJob(job: LeasedClaim, state: RunState, fence: Fence): void {
    const { updater, fetches } = this.#parts;
    const { settings, log } = this.#options;
    const losses = state.losses.get(job.id) ?? 0;
    const failed = (error: unknown): void => {
      log(levelFor(error, "error"), `A job of run ${job.runId} could not be processed: ${messageOf(error)}`, {
        runId: job.runId,
      });
    };
    if (job.kind === "timer") {
      this.#firing += 1;
      const fired = (): void => {
        this.#firing -= 1;
        if (this.#timersLeft) this.#claimMoreTimers();
      };
      this.#fireTimer(job, fence).catch(failed).finally(fired);
    } else if (job.kind === "fetch" && losses < settings.maxLosses) {
      fetches.startCall(state, job);
    } else if (job.kind !== "fetch" && settings.plain && job.lost) {
      this.#parts.dispatches.forgetJob(job.id);
      this.#parts.failed.failAttempt({ runId: job.runId, fence }, "connect_worker_stopped_responding");
    } else if (losses >= settings.maxLosses) {
      const message = lossMessage(losses, state, this.#parts.dispatches.lastSteps.of(job.id));
      const error = plainError("RUN_LOST", message);
      updater.apply(job.runId, { type: "fail", jobId: fence.jobId, error }, fence).catch(failed);
    } else {
      this.#placement.place(job, state);
    }
  }

  /** There are more than were claimed: as soon as enough of those are decided on. */
  #claimMoreTimers(): void {
    this.#timersLeft = this.#firing > this.#claimSize.limit / 2;
    if (!this.#timersLeft) this.wake();
  }

  async #fireTimer(job: LeasedClaim, fence: Fence): Promise<void> {
    const { updater } = this.#parts;
    if (!isRunTimer(job.key)) {
      await updater.endStep(job.runId, { type: "timer", jobId: job.id }, fence);
      return;
    }
    const startedMs = job.key === FINISH_TIMEOUT ? await this.#startedMsOf(job.runId) : null;
    await updater.apply(job.runId, { type: "timer", jobId: job.id, startedMs }, fence);
  }

  /** When a worker first had the run, as well as it is known; null = none had it yet. */
  async #startedMsOf(runId: string): Promise<number | null> {
    const run = await this.#options.store.getRun(runId);
    if (!run) return null;
    const claims = run.jobs.flatMap(({ kind, claimedMs }) =>
      kind === "pass" && claimedMs !== null ? [claimedMs] : [],
    );
    return run.head.startedMs ?? (claims.length > 0 ? Math.min(...claims) : null);
  }

  #startTick(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    this.#tickAgain = false;
    this.#ticking = this.#tickAndArm().finally(() => {
      this.#ticking = null;
      if (this.#stopped) return;
      if (this.#tickAgain) this.#startTick();
    });
  }

  async #tickAndArm(): Promise<void> {
    const { settings, random, log, clock } = this.#options;
    const { workers } = this.#parts;
    let waitMs = settings.pollMaxMs;
    // Of a rest that ends during the look it does not know.
    const beganMs = clock.monotonicMs();
    const restedAtMs = beganMs + (workers.restsForMs(beganMs) ?? Number.POSITIVE_INFINITY);
    try {
      const found = await this.tick();
      this.#idleMs = found > 0 ? settings.pollMinMs : Math.min(this.#idleMs * 2, settings.pollMaxMs);
      waitMs = this.#idleMs * (0.8 + 0.4 * random());
      if (found === 0 && !this.#tickAgain) waitMs = Math.min(waitMs, await this.#nextDueInMs());
    } catch (error) {
      log(levelFor(error, "warn"), `The queue could not be read: ${messageOf(error)}`);
    }
    waitMs = Math.min(waitMs, this.#retryInMs ?? waitMs);
    const nowMs = clock.monotonicMs();
    const restMs = Math.min(restedAtMs - nowMs, workers.restsForMs(nowMs) ?? Number.POSITIVE_INFINITY);
    this.#arm(Math.max(1, Math.min(waitMs, restMs)));
  }

  async #nextDueInMs(): Promise<number> {
    const dueInMs = await this.#options.store.nextDueInMs([
      ...this.#parts.workers.functionIds(),
      TIMER,
      FETCH_QUEUE,
      NEWER_QUEUE,
    ]);
    // Due now but not claimed: there is no room, or another gateway is at it.
    return dueInMs === null || dueInMs <= 0 ? Number.POSITIVE_INFINITY : dueInMs;
  }

  #arm(delayMs: number): void {
    if (this.#stopped) return;
    const { timers, clock } = this.#options;
    const atMs = clock.monotonicMs() + delayMs;
    if (this.#timer && this.#timerAtMs <= atMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = timers.set(delayMs, () => {
      this.#timer = null;
      this.#timerAtMs = Number.POSITIVE_INFINITY;
      if (this.#ticking) this.#tickAgain = true;
      else this.#startTick();
    });
  }
}

/** Characters that the runs of these jobs hold; a run counts once, however many of its jobs have come. */
function lengthOf(jobs: readonly LeasedClaim[]): number {
  let length = 0;
  for (const run of new Set(jobs.map((job) => job.run))) {
    for (const { dataJson } of run?.log ?? []) length += dataJson.length;
  }
  return length;
}
