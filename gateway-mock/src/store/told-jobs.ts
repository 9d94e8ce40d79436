import type { IntakeItem, NewJob } from "./port/index.ts";

export type ToldJob = Pick<NewJob, "functionId" | "lease" | "delayMs" | "notBeforeMs">;

/** Jobs that come with an event. `awaited`: ids of events for which an `event` job was made. */
export function jobsOfItem(item: IntakeItem, awaited: readonly string[]): ToldJob[] {
  const jobs: ToldJob[] = item.runs.flatMap((run) => run.jobs);
  if (awaited.includes(item.event.id)) jobs.push({ functionId: "", lease: item.lease ?? null });
  return jobs;
}

/** Functions of jobs that were put due now and not born leased: other gateways are told of those. */
export function toldFunctions(jobs: readonly ToldJob[]): string[] {
  const due = jobs.filter((job) => !job.lease && !job.delayMs && !job.notBeforeMs);
  return [...new Set(due.map(({ functionId }) => functionId))];
}
