/** Runs that are deleted, and those that were made of others. */
import type { DeleteOutcome, Descendant } from "../port/repair.ts";
import { isRunNeeded, neededEvents } from "./needed.ts";
import { byText } from "./rows.ts";
import type { Tables } from "./tables.ts";

export function deleteRuns(tables: Tables, runIds: readonly string[]): DeleteOutcome[] {
  const outcomes = new Map([...new Set(runIds)].map((runId) => [runId, deleteRun(tables, runId)]));
  return runIds.map((runId) => outcomes.get(runId) ?? "gone");
}

function deleteRun(tables: Tables, runId: string): DeleteOutcome {
  const run = tables.runs.get(runId);
  if (!run) return "gone";
  if (run.head.endedMs === null) return "living";
  if (run.hold !== null) return "held";
  if (isRunNeeded(tables, runId)) return "needed";
  tables.forgetRun(runId);
  const isNeeded = neededEvents(tables);
  for (const [eventId, event] of tables.events) {
    // What says how it ended is called as the run.
    if (!event.runIds.includes(runId) && eventId !== runId) continue;
    event.runIds = event.runIds.filter((id) => id !== runId);
    if (isNeeded(eventId, event.runIds)) continue;
    tables.forgetEvent(eventId);
    tables.eventTable.forgetKeys(eventId);
  }
  return "deleted";
}

export function descendantsOf({ origins }: Tables, originId: string, limit: number): Descendant[] {
  const found = [...origins].flatMap(([runId, { runId: of, kind, step }]) =>
    of === originId ? [{ runId, kind, step }] : [],
  );
  return found.sort((a, b) => byText(b.runId, a.runId)).slice(0, limit);
}
