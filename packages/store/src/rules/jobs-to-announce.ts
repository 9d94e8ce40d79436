/** Which jobs of a commit other gateways are notified of. */
import type { IntakeItem } from "../port/events.ts";
import type { NewJob } from "../port/work.ts";

export type AnnouncedJob = Pick<NewJob, "functionId" | "lease" | "delayMs" | "notBeforeMs">;

/** Jobs that come with an event. `awaited`: ids of events for which an `event` job was made. */
export function jobsOfItem(item: IntakeItem, awaited: readonly string[]): AnnouncedJob[] {
  const jobs: AnnouncedJob[] = item.runs.flatMap((run) => run.jobs);
  if (awaited.includes(item.event.id)) jobs.push({ functionId: "", lease: item.lease ?? null });
  return jobs;
}

/** Functions of jobs that were put due now and not leased on creation: other gateways are notified of those. */
export function functionsToAnnounce(jobs: readonly AnnouncedJob[]): string[] {
  const due = jobs.filter((job) => !job.lease && !job.delayMs && !job.notBeforeMs);
  if (due.length === 0) return [];
  return [...new Set(due.map(({ functionId }) => functionId))];
}
