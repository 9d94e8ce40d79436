/** Says which effects a committed decision has on this gateway; `RunUpdater` emits them (docs/decisions/0051). Pure. */
import { type Decision, isEnded, type JobState, needsWorker, type RunState } from "@holdfast/engine";
import type { Fence, NewJob } from "@holdfast/store";

import type { AfterCommit, LeasedJob } from "../after-commit.ts";

/** A decision that was stored. */
export interface Committed {
  /** As it is since. */
  readonly state: RunState;
  /** Jobs that it gave up: see `jobsGivenUp`. */
  readonly abandoned: readonly JobState[];
  readonly addJobs: readonly NewJob[];
  /** Those of `addJobs` that are leased to workers here. */
  readonly leased: readonly LeasedJob[];
  /** The database's time of the commit. */
  readonly atMs: number;
}

/** Jobs that a worker may have and that a decision on `state` removes, except the one that it came from. */
export function abandonedJobs(state: RunState, { removeJobs }: Decision, fence: Fence | null): JobState[] {
  if (removeJobs !== "all" && removeJobs.every((id) => id === fence?.jobId)) return [];
  return [...state.jobs.values()].filter(
    (job) => needsWorker(job) && job.id !== fence?.jobId && (removeJobs === "all" || removeJobs.includes(job.id)),
  );
}

/** What follows from a decision for this gateway. Pure. */
export function effectsOfCommit({ state, abandoned, addJobs, leased, atMs }: Committed): AfterCommit[] {
  const effects: AfterCommit[] = [];
  const { functionId } = state;
  if (state.flow && state.flow.slots.length > 0) effects.push({ do: "CAPACITY_FREED", functionId });
  if (isEnded(state.status)) {
    for (const { lease, key, id } of addJobs) if (lease) effects.push({ do: "NOTIFY_PARENT", runId: key, jobId: id });
    effects.push({ do: "RUN_ENDED", run: state, mayRunElsewhere: abandoned.length > 0 });
    return effects;
  }
  // What was not due yet cannot have been claimed.
  const jobIds = abandoned.flatMap(({ id, dueMs }) => (dueMs <= atMs ? [id] : []));
  if (jobIds.length > 0) effects.push({ do: "CANCEL_JOBS", jobIds });
  if (leased.length > 0) effects.push({ do: "DISPATCH", run: state, jobs: leased });
  const dueInMs = new Map<string, number>();
  for (const { lease, functionId: ofFunction, delayMs = 0, notBeforeMs } of addJobs) {
    if (lease) continue;
    const inMs = Math.max(delayMs, (notBeforeMs ?? 0) - atMs);
    dueInMs.set(ofFunction, Math.min(inMs, dueInMs.get(ofFunction) ?? inMs));
  }
  for (const [id, inMs] of dueInMs) effects.push({ do: "WAKE_QUEUE", functionId: id, dueInMs: inMs });
  return effects;
}
