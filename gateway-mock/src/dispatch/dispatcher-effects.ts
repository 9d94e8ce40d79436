/**
 * The effects by which the dispatcher's parts say what follows from what they did, and which of them a committed decision
 * has; `Dispatcher.#apply` carries them out (docs/decisions/0051). Pure.
 */
import type { ClockReading } from "@holdfast/core";
import { type Decision, isEnded, type JobState, needsWorker, type RunState } from "@holdfast/engine";
import type { Fence, NewEvent, NewJob } from "@holdfast/store";
import type { AfterControls } from "./registry/controls.ts";
import type { AfterAdoption } from "./registry/lane-adoptions.ts";
import type { ConnectedWorker } from "./workers/connected-worker.ts";
import type { Dispatch } from "./workers/dispatch.ts";

/** A job that was leased to this gateway on creation, for a worker whose place is reserved. */
export interface LeasedJob {
  readonly job: NewJob;
  readonly worker: ConnectedWorker;
  /** From before the commit that leases it; see `workers/lease-age.ts`. */
  readonly leasedAt: ClockReading;
}

/**
 * What follows from a commit for the rest of this gateway. The committing part emits the effects in the order in which
 * they are to be carried out; only the dispatcher carries them out.
 */
export type AfterCommit =
  /** Give these to their workers now. */
  | { readonly do: "DISPATCH"; readonly run: RunState; readonly jobs: readonly LeasedJob[] }
  /** Jobs of the function were made that no worker here took; the earliest is due in this long. */
  | { readonly do: "WAKE_QUEUE"; readonly functionId: string; readonly dueInMs: number }
  /** Places of this function's limits may be free again, here and at other gateways. */
  | { readonly do: "CAPACITY_FREED"; readonly functionId: string }
  /** Waits of the run have ended while a worker may be at a pass of it, here or elsewhere. */
  | { readonly do: "WAITS_ENDED"; readonly run: RunState }
  /** These jobs are no more, though a worker may be at them, here or elsewhere. */
  | { readonly do: "CANCEL_JOBS"; readonly jobIds: readonly string[] }
  /** The step that invoked this run is to be notified of its end; the job for that is leased to this gateway. */
  | { readonly do: "NOTIFY_PARENT"; readonly runId: string; readonly jobId: string }
  /**
   * Runs that wait for the event are to be notified; the job for that is leased to this gateway, and has the event's
   * id.
   */
  | { readonly do: "NOTIFY_WAITERS"; readonly event: NewEvent }
  /** An event that came before a wait began is to be looked for; the job for that is leased to this gateway. */
  | { readonly do: "FIND_EARLIER"; readonly key: string; readonly jobId: string }
  /** `mayRunElsewhere`: a worker of another gateway may be at one of its jobs. */
  | { readonly do: "RUN_ENDED"; readonly run: RunState; readonly mayRunElsewhere: boolean };

/** What follows for the rest of this gateway from what becomes of a request, or of a call. */
export type AfterRequest =
  /** A worker has room again. */
  | { readonly do: "WORKER_FREED" }
  /** Jobs became due, or may be claimed. */
  | { readonly do: "JOBS_DUE" }
  /** The run's state alone is more than a request can hold. */
  | {
      readonly do: "REQUEST_TOO_LARGE";
      readonly job: { readonly runId: string; readonly fence: Fence };
      readonly bytes: number;
    }
  /** A plain gateway has found no worker that acknowledges it. */
  | { readonly do: "REQUEST_UNACKNOWLEDGED"; readonly dispatch: Dispatch };

export type DispatcherEffect = AfterCommit | AfterRequest | AfterControls | AfterAdoption;
export type Emit<Effect> = (effect: Effect) => void;

/** A decision that was stored. */
export interface Committed {
  /** As it was decided. */
  readonly state: RunState;
  /** As it is stored, with what other gateways have added: requests and results are made of this one. */
  readonly stored: RunState;
  /** It ended steps of a run whose pass goes on. */
  readonly endedWaits: boolean;
  /** Jobs that it gave up: see `jobsGivenUp`. */
  readonly abandoned: readonly JobState[];
  readonly addJobs: readonly NewJob[];
  /** Those of `addJobs` that are leased to workers here. */
  readonly leased: readonly LeasedJob[];
  /** The database's time of the commit. */
  readonly atMs: number;
  /** While a worker has it, it takes a place within the limits of its function. */
  readonly takesPlace: boolean;
}

/** Jobs that a worker may have and that a decision on `state` removes, except the one that it came from. */
export function abandonedJobs(state: RunState, { removeJobs }: Decision, fence: Fence | null): JobState[] {
  if (removeJobs !== "all" && removeJobs.every((id) => id === fence?.jobId)) return [];
  return [...state.jobs.values()].filter(
    (job) => needsWorker(job) && job.id !== fence?.jobId && (removeJobs === "all" || removeJobs.includes(job.id)),
  );
}

/** Whether a pass that may be under way, and goes on, does not know of results that a decision adds. */
export function endsWaits(state: RunState, { log, removeJobs, addJobs }: Decision): boolean {
  const pass = state.jobs.get("pass");
  if (pass === undefined || removeJobs === "all" || removeJobs.includes(pass.id)) return false;
  if (addJobs.some(({ kind }) => kind === "pass")) return false;
  return log.some(({ kind }) => kind === "STEP_COMPLETED" || kind === "STEP_FAILED");
}

/** What follows from a decision for this gateway. */
export function effectsOfCommit({
  state,
  stored,
  endedWaits,
  abandoned,
  addJobs,
  leased,
  atMs,
  takesPlace,
}: Committed): AfterCommit[] {
  const effects: AfterCommit[] = [];
  const { functionId } = state;
  if (takesPlace) effects.push({ do: "CAPACITY_FREED", functionId });
  if (isEnded(state.status)) {
    for (const { lease, key, id } of addJobs) if (lease) effects.push({ do: "NOTIFY_PARENT", runId: key, jobId: id });
    effects.push({ do: "RUN_ENDED", run: state, mayRunElsewhere: abandoned.length > 0 });
    return effects;
  }
  if (endedWaits) effects.push({ do: "WAITS_ENDED", run: stored });
  // What was not due yet cannot have been claimed.
  const jobIds = abandoned.flatMap(({ id, dueMs }) => (dueMs <= atMs ? [id] : []));
  if (jobIds.length > 0) effects.push({ do: "CANCEL_JOBS", jobIds });
  if (leased.length > 0) effects.push({ do: "DISPATCH", run: stored, jobs: leased });
  const dueInMs = new Map<string, number>();
  for (const { id, kind, key, lease, functionId: ofFunction, delayMs = 0, notBeforeMs } of addJobs) {
    if (lease && kind === "earlier") effects.push({ do: "FIND_EARLIER", key, jobId: id });
    if (lease) continue;
    const inMs = Math.max(delayMs, (notBeforeMs ?? 0) - atMs);
    dueInMs.set(ofFunction, Math.min(inMs, dueInMs.get(ofFunction) ?? inMs));
  }
  for (const [ofFunction, inMs] of dueInMs) {
    effects.push({ do: "WAKE_QUEUE", functionId: ofFunction, dueInMs: inMs });
  }
  return effects;
}
