/** Jobs that a decision adds: in the lanes of their function, and leased at once to workers that have room. */
import { readClocks } from "@holdfast/core";
import { laneOf, needsWorker, type RunState } from "@holdfast/engine";
import type { NewJob } from "@holdfast/store";
import type { Admission } from "../admission/admission.ts";
import type { LeasedJob } from "../dispatcher-effects.ts";
import type { DispatcherCounters, DispatcherOptions } from "../ports.ts";
import type { Functions } from "../registry/functions.ts";
import { leaseOf } from "../workers/connected-worker.ts";
import type { Workers } from "../workers/workers.ts";

export interface NextJobsParts {
  readonly workers: Workers;
  readonly functions: Functions;
  readonly admission: Admission;
  readonly counters: DispatcherCounters;
  /** The lease of jobs that send notifications; null when this gateway takes no more of them. */
  readonly notifyLease: () => NewJob["lease"];
}

export interface PreparedJobs {
  readonly jobs: readonly NewJob[];
  /** Those for which a place is reserved. */
  readonly leased: readonly LeasedJob[];
}

export class NextJobs {
  readonly #options: Pick<DispatcherOptions, "clock" | "settings">;
  readonly #parts: NextJobsParts;

  constructor(options: Pick<DispatcherOptions, "clock" | "settings">, parts: NextJobsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Reserves places for those that are due at once. `mayWait`: also of workers whose requests wait for room. */
  prepare(state: RunState, jobs: readonly NewJob[], appVersion: string, mayWait: boolean): PreparedJobs {
    if (jobs.length === 0) return NONE;
    const inLanes = this.#inLanes(state, jobs);
    const leased = this.#lease(inLanes, appVersion, mayWait);
    return { jobs: this.#withLeases(inLanes, leased), leased };
  }

  /** They were not stored, or are not to be given out. */
  giveBack(leased: readonly LeasedJob[], { functionId }: RunState): void {
    for (const { worker } of leased) this.#parts.workers.release(worker, functionId);
  }

  /** Jobs of a run that is held back are held back as its first one was, or as its function says of all its runs. */
  #inLanes({ flow, functionId }: RunState, jobs: readonly NewJob[]): readonly NewJob[] {
    const fn = this.#parts.functions.get(functionId);
    const limited = flow ? flow.slots.length > 0 : fn?.limits;
    if (!flow && !limited) return jobs;
    const lane = limited || fn?.limits ? laneOf(fn?.onlyLane?.slots ?? flow?.slots ?? []) : null;
    const priority = flow?.priority ?? 0;
    return jobs.map((job) => (needsWorker(job) ? { ...job, priority, ...(lane ? { lane } : {}) } : job));
  }

  /** Reserves places for jobs that are due at once. */
  #lease(jobs: readonly NewJob[], appVersion: string, mayWait: boolean): LeasedJob[] {
    const leased: LeasedJob[] = [];
    const leasedAt = readClocks(this.#options.clock);
    for (const job of jobs) {
      if (!needsWorker(job)) continue;
      const { functionId, lane, delayMs, notBeforeMs } = job;
      const [isDue, isLimited] = [!delayMs && !notBeforeMs, Boolean(lane)];
      const work = { at: "NEXT_JOB", functionId, version: appVersion, isDue, isLimited } as const;
      const reserved = this.#parts.admission.reserve(work, mayWait);
      if (reserved.may) leased.push({ job, worker: reserved.worker, leasedAt });
      else if (reserved.why === "NO_ROOM" || reserved.why === "NO_WORKER_IN_QUEUE") break;
    }
    this.#parts.counters.leasedOnCreation += leased.length;
    return leased;
  }

  #withLeases(jobs: readonly NewJob[], leased: readonly LeasedJob[]): readonly NewJob[] {
    const { gatewayId } = this.#options.settings;
    const workerOf = new Map(leased.map(({ job, worker }) => [job, worker]));
    return jobs.map((job) => {
      const worker = workerOf.get(job);
      if (worker) return leasedJob(job, leaseOf(worker, gatewayId));
      return job.kind === "child" || job.kind === "earlier" ? leasedJob(job, this.#parts.notifyLease() ?? null) : job;
    });
  }
}

const NONE: PreparedJobs = { jobs: [], leased: [] };

/** What it was made without comes first, here and where more is copied in each run: `docs/decisions/0148`. */
const leasedJob = (job: NewJob, lease: NewJob["lease"]): NewJob => ({ lease: lease ?? null, ...job });
