/**
 * Statements that find waits for an event, a signal or the end of a run, by value where their condition allows it
 * (docs/decisions/0034).
 */

import { coalesced } from "@holdfast/core";
import type { Fence, Store, StoredWait, WaitKind, WaitQuery } from "@holdfast/store";
import { msOf, numberArray, rowsOf, textArray } from "./connection/pg-values.ts";
import type { Query } from "./connection/query.ts";
import { amongThe, heldJobs, inLockOrder } from "./queue/claim-rows.ts";

interface WaitRow {
  readonly run_id: string;
  readonly key: string;
  readonly kind: WaitKind;
  readonly name: string;
  readonly expression: string | null;
  readonly match: string;
  readonly began_ms: number;
  readonly expires_ms: number | null;
}

const COLUMNS = `w.run_id, w.key, w.kind, w.name, w.expression, w.match, ${msOf("w.began_at")} AS began_ms,
  ${msOf("w.expires_at")} AS expires_ms`;

/**
 * For many queries at once: `n` names the query, and each of its matches is looked up by itself, so that pages follow
 * the index, however many wait. Name and match are compared in its order, not for being equal: for rows that were equal
 * in both the order of the key by run would do as well, and it is what a generic plan takes where few names are known.
 */
const find = (from: string, more: string): string => `SELECT m.n, w.* FROM ${rowsOf(
  {
    n: "$1::int[]",
    name: "$2::text[]",
    match: "$3::text[]",
    kinds: "$4::text[]",
    after_run: "$5::text[]",
    after_key: "$6::text[]",
    most: "$7::int[]",
    event_id: "$8::text[]",
  },
  "m",
)} CROSS JOIN LATERAL (
  SELECT ${COLUMNS} FROM holdfast.waits w ${from}
  WHERE (w.name, w.match, w.run_id, w.key) > (m.name, m.match, m.after_run, m.after_key)
    AND (w.name, w.match) <= (m.name, m.match) AND w.kind = ANY(string_to_array(m.kinds, ' '))
    ${more} ORDER BY w.name, w.match, w.run_id, w.key LIMIT m.most
) w ORDER BY m.n, w.match, w.run_id, w.key`;

const FIND = find("", "");

/**
 * The event's time is its transaction's, as the wait's: what was known to wait when the event was sent began earlier.
 */
const FIND_FOR_EVENTS = find(
  `JOIN holdfast.events e ON e.id = m.event_id
  CROSS JOIN LATERAL (SELECT r.event_id FROM holdfast.runs r WHERE r.id = w.run_id OFFSET 0) r`,
  "AND w.began_at < e.received_at AND (w.expires_at IS NULL OR w.expires_at > e.received_at) AND r.event_id <> e.id",
);

/** A match of a query, from where its page begins. */
interface Sought {
  readonly n: number;
  readonly query: WaitQuery;
  readonly match: string;
}

const MAX_PAGE = 1000;
const pageSize = ({ limit }: WaitQuery): number => Math.min(Math.max(limit, 1), MAX_PAGE);

/** Each match of a query once; those before its page are over. */
function soughtBy(query: WaitQuery, n: number): Sought[] {
  const first = Buffer.from(query.after?.match ?? "");
  return [...new Set(query.matches ?? [""])].flatMap((match) =>
    Buffer.compare(Buffer.from(match), first) < 0 ? [] : [{ n, query, match }],
  );
}

async function findAll(query: Query, text: string, all: readonly Sought[]): Promise<(WaitRow & { n: number })[]> {
  if (all.length === 0) return [];
  const afterOf = ({ query: { after }, match }: Sought): WaitQuery["after"] =>
    after && after.match === match ? after : undefined;
  return query<WaitRow & { n: number }>(text, [
    numberArray(all.map(({ n }) => n)),
    textArray(all.map((one) => one.query.name)),
    textArray(all.map(({ match }) => match)),
    textArray(all.map((one) => one.query.kinds.join(" "))),
    textArray(all.map((one) => afterOf(one)?.runId ?? "")),
    textArray(all.map((one) => afterOf(one)?.key ?? "")),
    numberArray(all.map((one) => pageSize(one.query))),
    textArray(all.map((one) => one.query.eventId ?? null)),
  ]);
}

/** The pages of many queries; each as if it had been asked for alone. */
export async function findWaits(query: Query, queries: readonly WaitQuery[]): Promise<StoredWait[][]> {
  const all = queries.flatMap(soughtBy);
  const isOfEvent = (one: Sought): boolean => one.query.eventId !== undefined;
  const rows = await Promise.all([
    findAll(
      query,
      FIND,
      all.filter((one) => !isOfEvent(one)),
    ),
    findAll(query, FIND_FOR_EVENTS, all.filter(isOfEvent)),
  ]);
  const pages: StoredWait[][] = queries.map(() => []);
  for (const row of rows.flat()) {
    const page = pages[row.n];
    const asked = queries[row.n];
    if (page && asked && page.length < pageSize(asked)) page.push(waitOf(row));
  }
  return pages;
}

/** From one to the next through the index: as many steps as there are paths, not as there are waits. */
const PATHS = `SELECT n.name, p.path FROM ${rowsOf({ name: "$1::text[]" })} CROSS JOIN LATERAL (
  WITH RECURSIVE found(match) AS (
    (SELECT w.match FROM holdfast.waits w WHERE w.name = n.name AND w.match > '' ORDER BY w.match LIMIT 1)
    UNION ALL SELECT (
      SELECT w.match FROM holdfast.waits w WHERE w.name = n.name AND w.match > split_part(found.match, E'\\n', 1) || E'\\x0b'
      ORDER BY w.match LIMIT 1
    ) FROM found WHERE found.match IS NOT NULL
  ) SELECT split_part(match, E'\\n', 1) AS path, match FROM found WHERE match IS NOT NULL
) p ORDER BY n.name, p.match`;

export async function waitPaths(query: Query, names: readonly string[]): Promise<string[][]> {
  const byName = new Map<string, string[]>(names.map((name) => [name, []]));
  const rows = await query<{ name: string; path: string }>(PATHS, [textArray([...byName.keys()])]);
  for (const { name, path } of rows) byName.get(name)?.push(path);
  return names.map((name) => byName.get(name) ?? []);
}

/**
 * What comes with each event or end of a run that others wait for, and with each job that is done. A crowd of them costs
 * a few statements and leaves the connections to others.
 */
export function coalescedWaits(query: Query): Pick<Store, "findWaits" | "waitPaths" | "finishJob"> {
  return {
    findWaits: coalesced(TOGETHER, (queries: readonly WaitQuery[]) => findWaits(query, queries)),
    waitPaths: coalesced(TOGETHER, (names: readonly string[]) => waitPaths(query, names)),
    finishJob: coalesced(TOGETHER, (fences: readonly Fence[]) => finishJobs(query, fences)),
  };
}

/** Of one statement, as many as one commit tells of; a page of each of these is in memory. */
const TOGETHER = { atOnce: 2, most: 128 } as const;

export async function waitsOfRuns(query: Query, runIds: readonly string[]): Promise<StoredWait[]> {
  const rows = await query<WaitRow>(
    `SELECT ${COLUMNS} FROM holdfast.waits w WHERE w.run_id = ANY($1::text[]) ORDER BY w.began_at, w.key`,
    [textArray(runIds)],
  );
  return rows.map(waitOf);
}

/** Locked in the order of ids, as everywhere. */
const FINISH = `WITH ${heldJobs({ id: "$1::text[]", epoch: "$2::int[]" }, "q.run_id = '' OR q.kind = 'start'")}
DELETE FROM holdfast.queue q USING held WHERE q.id = held.id AND ${amongThe("held")}
RETURNING q.id, q.epoch`;

export async function finishJobs(query: Query, fences: readonly Fence[]): Promise<boolean[]> {
  const sorted = inLockOrder(fences);
  const rows = await query<{ id: string; epoch: number }>(FINISH, [
    textArray(sorted.map(({ jobId }) => jobId)),
    numberArray(sorted.map(({ epoch }) => epoch)),
  ]);
  const finished = new Set(rows.map(({ id, epoch }) => `${id}.${epoch}`));
  // Of two that finish the same dispatch the first did.
  return fences.map(({ jobId, epoch }) => finished.delete(`${jobId}.${epoch}`));
}

const waitOf = (row: WaitRow): StoredWait => ({
  runId: row.run_id,
  key: row.key,
  kind: row.kind,
  name: row.name,
  expression: row.expression,
  match: row.match,
  beganMs: row.began_ms,
  expiresMs: row.expires_ms,
});
