/**
 * Deletes runs, with what belongs to nothing else. The locks of the runs come first: who writes to one afterwards finds
 * it gone, and who ended it before has left the job that notifies the run which invoked it.
 */
import type { DeleteOutcome } from "@holdfast/store";
import { wholeEvent } from "../connection/compact-events.ts";
import { contextOf, wholeFact } from "../connection/compact-facts.ts";
import type { Database } from "../connection/database.ts";
import { isAmong, textArray } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";
import { freeKeys } from "../writer/event-keys.ts";

interface RunRow {
  readonly id: string;
  readonly event_id: string;
  readonly event_name: string;
  readonly is_living: boolean;
  readonly is_held: boolean;
  readonly is_needed: boolean;
  /** The beginning of its first fact. */
  readonly created: string | null;
}

interface EventRow {
  readonly id: string;
  readonly name: string;
  readonly run_ids: string;
  readonly start: string;
}

const LOCK = `SELECT r.id FROM holdfast.runs r WHERE ${isAmong("r.id", "$1::text[]")} ORDER BY r.id FOR UPDATE`;

/** A statement of its own, after the locks: it sees what those wrote whom the locks have waited for. */
const LOOK = `SELECT r.id, r.event_id, r.event_name, r.ended_at IS NULL AS is_living,
  EXISTS (SELECT FROM holdfast.run_holds h WHERE h.run_id = r.id) AS is_held,
  EXISTS (SELECT FROM holdfast.queue q WHERE q.run_id = '' AND q.kind = 'child' AND q.key = r.id)
    OR EXISTS (SELECT FROM holdfast.waits w WHERE w.name = r.id AND w.kind = 'invoke') AS is_needed,
  (SELECT left(l.data, 4096) FROM holdfast.run_log l WHERE l.run_id = r.id ORDER BY l.seq LIMIT 1) AS created
FROM holdfast.runs r WHERE ${isAmong("r.id", "$1::text[]")}`;

const LOCK_EVENTS = `SELECT id, name, run_ids, left(payload, 4096) AS start FROM holdfast.events e
WHERE ${isAmong("e.id", "$1::text[]")} ORDER BY e.id FOR UPDATE`;

/** Of a batch the run knows its first event alone; the others came after that, and before the run was made. */
const EVENTS_OF_BATCH = `SELECT e.id FROM holdfast.events e
WHERE e.id >= $1 AND e.id <= $2 AND $2 = ANY(string_to_array(e.run_ids, ' '))`;

/** Events that no run, job or window has; each is a look into the indexes (docs/decisions/0177). */
const LOOSE_EVENTS = `SELECT e.id FROM holdfast.events e WHERE ${isAmong("e.id", "$1::text[]")}
AND NOT EXISTS (SELECT FROM unnest(string_to_array(e.run_ids, ' ')) AS i(id)
  WHERE EXISTS (SELECT FROM holdfast.runs r WHERE r.id = i.id OFFSET 0) OFFSET 0)
AND NOT EXISTS (SELECT FROM holdfast.queue q WHERE q.run_id = '' AND q.kind = 'event' AND q.key = e.id OFFSET 0)
AND NOT EXISTS (SELECT FROM holdfast.functions f JOIN holdfast.gates g ON g.function_id = f.slug
  WHERE g.kind IN ('debounce', 'batch', 'full') AND g.run_id <> '' AND e.id = ANY(string_to_array(g.data, ' ')))`;

export async function deleteRuns(database: Database, runIds: readonly string[]): Promise<DeleteOutcome[]> {
  if (runIds.length === 0) return [];
  // A transaction whose answer was lost may have been committed: what is gone then was deleted by it.
  const tried = new Set<string>();
  const outcomes = await database.transaction("Runs could not be deleted", async (query) => {
    const ids = [...new Set(runIds)].sort();
    await query(LOCK, [textArray(ids)]);
    const rows = new Map((await query<RunRow>(LOOK, [textArray(ids)])).map((row) => [row.id, row]));
    const chosen = [...rows.values()].filter((row) => outcomeOf(row) === "deleted");
    if (chosen.length > 0) await deleteAll(query, chosen);
    const result = new Map(ids.map((id) => [id, tried.has(id) && !rows.has(id) ? "deleted" : outcomeOf(rows.get(id))]));
    for (const { id } of chosen) tried.add(id);
    return result;
  });
  return runIds.map((id) => outcomes.get(id) ?? "gone");
}

function outcomeOf(row: RunRow | undefined): DeleteOutcome {
  if (!row) return "gone";
  if (row.is_living) return "living";
  if (row.is_held) return "held";
  return row.is_needed ? "needed" : "deleted";
}

async function deleteAll(query: Query, runs: readonly RunRow[]): Promise<void> {
  const ids = textArray(runs.map(({ id }) => id).sort());
  // What says how a run ended is called as the run.
  const eventIds = new Set(runs.flatMap(({ id, event_id }) => [id, event_id]));
  for (const run of runs) {
    if (!isBatch(run)) continue;
    for (const { id } of await query<{ id: string }>(EVENTS_OF_BATCH, [run.event_id, run.id])) eventIds.add(id);
  }
  await query(`DELETE FROM holdfast.run_log WHERE ${isAmong("run_id", "$1::text[]")}`, [ids]);
  await query(`DELETE FROM holdfast.runs WHERE ${isAmong("id", "$1::text[]")}`, [ids]);
  await query("DELETE FROM holdfast.run_origins WHERE run_id = ANY($1::text[])", [ids]);
  await query("DELETE FROM holdfast.graph_runs WHERE run_id = ANY($1::text[])", [ids]);
  await releaseEvents(query, [...eventIds].sort(), new Set(runs.map(({ id }) => id)));
}

/** A batch that was collected, and no rerun of one, which only knows its first event. */
const isBatch = ({ id, event_id, event_name, created }: RunRow): boolean => {
  const whole = wholeFact(created ?? "", contextOf({ id, event_id, event_name }));
  const meta = whole.slice(0, whole.indexOf(',"event":'));
  return meta.includes('"eventLength":') && !meta.includes('"rerunOf":') && !meta.includes('"forkedFrom":');
};

async function releaseEvents(query: Query, eventIds: readonly string[], gone: ReadonlySet<string>): Promise<void> {
  const events = await query<EventRow>(LOCK_EVENTS, [textArray(eventIds)]);
  if (events.length === 0) return;
  const ids = events.map(({ id }) => id);
  const left = events.map(({ run_ids }) =>
    run_ids
      .split(" ")
      .filter((id) => !gone.has(id))
      .join(" "),
  );
  await query(
    `UPDATE holdfast.events e SET run_ids = n.run_ids FROM unnest($1::text[], $2::text[]) AS n(id, run_ids)
WHERE e.id = n.id AND ${isAmong("e.id", "$1::text[]")}`,
    [textArray(ids), textArray(left)],
  );
  const loose = await query<{ id: string }>(LOOSE_EVENTS, [textArray(ids)]);
  if (loose.length === 0) return;
  const looseIds = loose.map(({ id }) => id).sort();
  await query(`DELETE FROM holdfast.events e WHERE ${isAmong("e.id", "$1::text[]")}`, [textArray(looseIds)]);
  const keyed = events.flatMap(({ id, name, start }) => {
    const key = looseIds.includes(id) ? senderIdIn(wholeEvent(start, { id, name, tsMs: 0 })) : undefined;
    return key === undefined ? [] : [{ name, key, eventId: id }];
  });
  const { text, params } = freeKeys(keyed);
  await query(text, params);
}

/** Events are stored with their id first: the sender's, where there is one. */
function senderIdIn(start: string): string | undefined {
  const text = /^\{"id":("(?:[^"\\]|\\.)*")/.exec(start)?.[1];
  return text === undefined ? undefined : String(JSON.parse(text));
}
