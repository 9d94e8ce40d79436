/** Retention and holds of the memory store: the rules of `../rules/retention.ts`, on the tables. */
import type { PrunePreview, PruneProgress, RetentionPolicy, RunHold, TableSize } from "../port/retention.ts";
import { environmentOf } from "../rules/environment.ts";
import { isPastRetention, LEAST_EVENT_MS } from "../rules/retention.ts";
import { isRunNeeded, neededEvents } from "./needed.ts";
import type { Tables } from "./tables.ts";

function pastRuns(tables: Tables, policy: RetentionPolicy): string[] {
  const nowMs = tables.nowMs;
  return [...tables.runs.values()].flatMap(({ head }) =>
    isPastRetention(head, policy, nowMs) && !isRunNeeded(tables, head.id) ? [head.id] : [],
  );
}

function pastEvents(tables: Tables, { completedMs }: RetentionPolicy): string[] {
  if (completedMs === null) return [];
  const isNeeded = neededEvents(tables);
  const beforeMs = tables.nowMs - Math.max(completedMs, LEAST_EVENT_MS);
  return [...tables.events].flatMap(([id, { receivedMs, runIds }]) =>
    receivedMs < beforeMs && !isNeeded(id, runIds) ? [id] : [],
  );
}

/** All at once. */
export function prune(tables: Tables, policy: RetentionPolicy): PruneProgress {
  const runIds = pastRuns(tables, policy);
  for (const id of runIds) tables.forgetRun(id);
  const eventIds = pastEvents(tables, policy);
  for (const id of eventIds) tables.forgetEvent(id);
  return { state: "done", removedRuns: runIds.length, removedEvents: eventIds.length };
}

export function previewPrune(tables: Tables, policy: RetentionPolicy, environment: string | undefined): PrunePreview {
  const isHere = (name: string | undefined): boolean =>
    environment === undefined || (name !== undefined && environmentOf(name) === environment);
  const gone = new Set(pastRuns(tables, policy));
  const runs = [...gone].flatMap((id) => tables.runs.get(id) ?? []).filter(({ head }) => isHere(head.functionId));
  const stay = [...tables.heads()].filter((head) => !gone.has(head.id) && isHere(head.functionId));
  // Of runs that go the events go, too.
  const isOver = neededEvents(tables);
  const beforeMs = tables.nowMs - Math.max(policy.completedMs ?? Number.POSITIVE_INFINITY, LEAST_EVENT_MS);
  const events = [...tables.events].filter(
    ([id, { event, receivedMs, runIds }]) =>
      receivedMs < beforeMs &&
      isHere(event.name) &&
      !isOver(
        id,
        runIds.filter((runId) => !gone.has(runId)),
      ),
  );
  return {
    runs: runs.length,
    events: events.length,
    bytes: runs.reduce((sum, run) => sum + lengthOf(run.log.map(({ dataJson }) => dataJson)), 0),
    oldestRunMs: stay.length === 0 ? null : Math.min(...stay.map(({ createdMs }) => createdMs)),
  };
}

export function holdRun(tables: Tables, runId: string, reason: string): RunHold | null {
  const run = tables.runs.get(runId);
  if (!run) return null;
  run.hold = { heldMs: run.hold?.heldMs ?? tables.nowMs, reason };
  return run.hold;
}

export function releaseHold(tables: Tables, runId: string): boolean {
  const run = tables.runs.get(runId);
  if (!run?.hold) return false;
  run.hold = null;
  return true;
}

export function tableSizes(tables: Tables): readonly TableSize[] {
  const runs = [...tables.runs.values()];
  const oldest = (times: readonly number[]): number | null => (times.length === 0 ? null : Math.min(...times));
  const table = (name: string, rows: number, times: readonly number[], bytes: number): TableSize => {
    return { table: name, rows, bytes, partitions: 0, oldestMs: oldest(times) };
  };
  const created = runs.map(({ head }) => head.createdMs);
  const events = [...tables.events.values()];
  const payloads = events.map(({ event }) => event.payloadJson);
  const logs = runs.flatMap(({ log }) => log.map(({ dataJson }) => dataJson));
  return [
    table(
      "events",
      events.length,
      events.map(({ receivedMs }) => receivedMs),
      lengthOf(payloads),
    ),
    table(
      "queue",
      tables.queue.size,
      [...tables.queue.values()].map(({ createdMs }) => createdMs),
      0,
    ),
    table("run_log", logs.length, created, lengthOf(logs)),
    table("runs", runs.length, created, lengthOf(runs.map(({ head }) => head.outputJson ?? ""))),
  ];
}

const lengthOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);
