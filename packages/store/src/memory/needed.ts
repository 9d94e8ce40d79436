/** What else depends on a run or an event, whatever its age: it is not forgotten before that is over. */
import type { Tables } from "./tables.ts";

/** On hold, or wanted by a job, or by a run that waits for its end. */
export function isRunNeeded({ jobs, runs, runsTable }: Tables, runId: string): boolean {
  const run = runs.get(runId);
  if (run && (run.hold !== null || run.jobs.size > 0 || run.waits.size > 0)) return true;
  return jobs.has({ runId: "", kind: "child", key: runId }) || runsTable.waits.hasParent(runId);
}

/** Of an event: a run of it is left, a window holds it, or its `event` job has not been done. */
export function neededEvents({
  jobs,
  runs,
  flowRules,
}: Tables): (eventId: string, runIds: readonly string[]) => boolean {
  const inWindows = new Set(flowRules.eventsInWindows());
  return (eventId, runIds) =>
    jobs.has({ runId: "", kind: "event", key: eventId }) ||
    inWindows.has(eventId) ||
    runIds.some((runId) => runs.has(runId));
}
