/**
 * Why a run that has not ended is where it is, in one sentence for people: the reasons of `Admission` for work that no
 * worker has, and beside them what it waits for from outside and who is at it. Pure; `../queue/waiting-runs.ts` gathers
 * the facts.
 */
import { movesOn, type OpenJob, waitMovesOn } from "@holdfast/store";
import type { FoundReason, RunWaiting, WaitingFacts } from "./waiting-facts.ts";
import { plural } from "./waiting-text.ts";
import { heldReason } from "./why-at-work.ts";
import { callReason, laterReason, timerReason, waitReason } from "./why-later.ts";
import { dueReason } from "./why-no-worker-has-it.ts";

const NOTHING = { untilMs: null, step: null, runId: null, instanceId: null } as const;

/**
 * Of several things that a run waits for at once the first one in this order is named, and how many more there are: what
 * is at work, what is due and has no worker, calls, then what comes first of retries, sleeps and waits.
 *
 * Null: neither a job nor a wait moves the run on. That is never so (docs/waiting.md, "Orphans").
 */
export function whyRunWaits(facts: WaitingFacts): RunWaiting | null {
  const all = allReasons(facts);
  const [first] = all;
  if (!first) return null;
  const more = all.length - 1;
  const { lostWrites } = facts.steps;
  const message = [
    first.message,
    ...(more === 0 ? [] : [`It waits for ${plural(more, "more thing")} as well.`]),
    ...(lostWrites === 0 ? [] : [`The database has lost ${plural(lostWrites, "write")} of it: steps may run again.`]),
  ].join(" ");
  return { ...NOTHING, ...first, message };
}

function allReasons(facts: WaitingFacts): FoundReason[] {
  const { run, nowMs } = facts;
  const jobs = run.jobs.filter(movesOn);
  const isHeld = ({ leasedBy, availableMs }: OpenJob): boolean => leasedBy !== null && availableMs > nowMs;
  const isForWorkers = ({ kind }: OpenJob): boolean => kind === "pass" || kind === "step";
  const isDue = (job: OpenJob): boolean => !isHeld(job) && (job.availableMs <= nowMs || job.wantedVersion !== null);
  const work = jobs.filter(isForWorkers);
  const calls = jobs.filter(({ kind }) => kind === "fetch");
  const later = work.filter((job) => !isHeld(job) && !isDue(job));
  const timers = jobs.filter(({ kind }) => kind === "timer");
  const waits = run.waits.filter((wait) => waitMovesOn(wait) && !timers.some(({ key }) => key === wait.key));
  return [
    ...work.filter(isHeld).map((job) => heldReason(facts, job)),
    ...work
      .filter(isDue)
      .slice(0, 1)
      .map((job) => dueReason(facts, job)),
    ...calls.map((job) => callReason(facts, job, isHeld(job))),
    ...[...later, ...timers]
      .sort((a, b) => a.availableMs - b.availableMs)
      .map((job) => (job.kind === "timer" ? timerReason(facts, job) : laterReason(facts, job))),
    ...waits.map((wait) => waitReason(facts, wait, null)),
  ];
}
