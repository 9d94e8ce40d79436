/** Pages of runs read as little of a large table as of a small one, by whatever filter, and say where they go on. */
import type { RunFilter } from "@holdfast/store";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Database } from "../../src/store-postgres/connection/database.ts";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import type { Param } from "../../src/store-postgres/connection/query.ts";
import { listRuns } from "../../src/store-postgres/run-list.ts";
import { createTestDatabase, type TestDatabase } from "./harness.ts";
import { PLANS, pagesRead } from "./pages-read.ts";

const RUNS = 60_000;
/** A page of 50 runs: some of an index for each partition, and a few of the table for each run. */
const FEW_PAGES = 600;

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  await migrate(db.url);
  // Runs of three functions, a tenth of them in another environment, one in fifty failed; the oldest are of a rare one.
  // One has come each minute, for six weeks.
  await db.sql.unsafe(`INSERT INTO holdfast.runs
  (id, function_id, app_id, app_version, status, version, event_id, event_name, created_at, ended_at)
SELECT holdfast.first_id(at) || lpad(i::text, 16, '0'),
  CASE WHEN i <= 20 THEN 'rare' WHEN i % 10 = 9 THEN '@@env:fn-' || i % 3 ELSE 'fn-' || i % 3 END,
  'app', '1', CASE WHEN i % 50 = 0 THEN 'FAILED' ELSE 'COMPLETED' END, 2, 'e', 'event', at, at
FROM generate_series(1, ${RUNS}) i CROSS JOIN LATERAL (SELECT now() - (${RUNS} - i) * interval '1 min' AS at) t`);
  await db.sql.unsafe(`INSERT INTO holdfast.run_log (run_id, seq, at, version, status, facts, data)
SELECT id, row_number() OVER (), now(), 2, status, 'RUN_ENDED 0 0 ', '{}' FROM holdfast.runs`);
  // Two of many events have started runs, two hundred of them together.
  await db.sql.unsafe(`INSERT INTO holdfast.events (id, name, ts, received_at, payload, run_ids)
SELECT 'e' || i, 'event', now(), now(), '{}', CASE WHEN i <= 2 THEN (
  SELECT string_agg(id, ' ') FROM (SELECT id FROM holdfast.runs ORDER BY id LIMIT i * 100) r) ELSE '' END
FROM generate_series(1, 20000) i`);
  // Every second run is of a graph: nearly all of them of one, the oldest ones of a rare one, a few are tests.
  await db.sql.unsafe(`INSERT INTO holdfast.graph_runs (run_id, uid, version, test, created_at)
SELECT id, CASE WHEN n <= 20 THEN 'g-rare' WHEN n > ${RUNS} - 40 THEN '' ELSE 'g-often' END, 1, n > ${RUNS} - 40, created_at
FROM (SELECT id, created_at, row_number() OVER (ORDER BY id) AS n FROM holdfast.runs) r WHERE n % 2 = 0`);
  await db.sql.unsafe("VACUUM (ANALYZE) holdfast.runs, holdfast.run_log, holdfast.events, holdfast.graph_runs");
});

afterAll(() => db.drop());

/** One statement after the other: how many pages each reads is asked for on one connection. */
function list({ query }: Pick<Database, "query">, filter: Partial<RunFilter>): ReturnType<typeof listRuns> {
  let before: Promise<unknown> = Promise.resolve();
  const inTurn = (text: string, params?: readonly Param[]): Promise<never[]> => {
    const answer = before.then(() => query<never>(text, params));
    before = answer;
    return answer;
  };
  const database = { query: inTurn, options: {} } as unknown as Database;
  return listRuns(database, { limit: 50, ...filter });
}

const plainly = { query: (text: string, params: readonly Param[] = []) => db.sql.unsafe<never[]>(text, [...params]) };

const DAY = 24 * 60;
const ago = (minutes: number): number => Date.now() - minutes * 60_000;

const filters: Readonly<Record<string, { readonly filter: Partial<RunFilter>; readonly found: number }>> = {
  "all of them": { filter: {}, found: 50 },
  "the default environment": { filter: { environment: "" }, found: 50 },
  "another environment": { filter: { environment: "env" }, found: 50 },
  "an environment without runs": { filter: { environment: "nowhere" }, found: 0 },
  "a function": { filter: { functionId: "fn-1" }, found: 50 },
  "a rare function": { filter: { functionId: "rare" }, found: 20 },
  "a function without runs": { filter: { functionId: "none" }, found: 0 },
  "completed ones": { filter: { status: "COMPLETED" }, found: 50 },
  "failed ones": { filter: { status: "FAILED" }, found: 50 },
  "running ones": { filter: { status: "RUNNING" }, found: 0 },
  "failed and cancelled ones": { filter: { status: ["FAILED", "CANCELLED"] }, found: 50 },
  "an event's name that all have": { filter: { eventName: "event" }, found: 50 },
  "two events": { filter: { eventIds: ["e1", "e2"] }, found: 50 },
  "an event without runs": { filter: { eventIds: ["e3"] }, found: 0 },
  "failed ones of an event": { filter: { eventIds: ["e1"], status: "FAILED" }, found: 2 },
  "a graph": { filter: { graphUid: "g-often" }, found: 50 },
  "a rare graph": { filter: { graphUid: "g-rare" }, found: 10 },
  "a graph without runs": { filter: { graphUid: "none" }, found: 0 },
  "completed ones of a graph": { filter: { graphUid: "g-often", status: "COMPLETED" }, found: 50 },
  "a graph on a day four weeks ago": {
    filter: { graphUid: "g-often", createdAfterMs: ago(28 * DAY), createdBeforeMs: ago(27 * DAY) },
    found: 50,
  },
  "tests of graphs": { filter: { test: true }, found: 20 },
  "the last hour": { filter: { createdAfterMs: ago(60) }, found: 50 },
  "ten minutes": { filter: { createdAfterMs: ago(10.5), createdBeforeMs: ago(0.5) }, found: 10 },
  "a day four weeks ago": { filter: { createdAfterMs: ago(28 * DAY), createdBeforeMs: ago(27 * DAY) }, found: 50 },
  "a function on a day four weeks ago": {
    filter: { functionId: "fn-1", createdAfterMs: ago(28 * DAY), createdBeforeMs: ago(27 * DAY) },
    found: 50,
  },
  "failed ones of a week": { filter: { status: "FAILED", createdAfterMs: ago(7 * DAY) }, found: 50 },
};

test.each(Object.entries(filters))("a page of %s reads few pages of the database, however planned", async (_, one) => {
  for (const plans of PLANS) {
    const { pages, result } = await pagesRead(db.sql, plans, (on) => list(on, one.filter));
    expect(result.runs).toHaveLength(one.found);
    expect(result.nextCursor === null).toBe(one.found < 50);
    expect(pages, plans).toBeLessThan(FEW_PAGES);
  }
});

test.each([
  { what: "running ones of a function", filter: { functionId: "fn-1", status: "RUNNING" }, found: 0 },
  { what: "failed ones of a rare function", filter: { functionId: "rare", status: "FAILED" }, found: 0 },
] as const)("a page of $what ends with the index that has least of them", async ({ filter, found }) => {
  for (const plans of PLANS) {
    const { pages, result } = await pagesRead(db.sql, plans, (on) => list(on, filter));
    expect(result).toEqual({ runs: expect.objectContaining({ length: found }), nextCursor: null });
    // 500 candidates of the other index were looked at, and no more.
    expect(pages, plans).toBeLessThan(500 * 5);
  }
});

test("what no run has is looked for in pieces: an empty page says where to go on, until the end", async () => {
  let cursor: string | null = "~";
  let pages = 0;
  for (; cursor !== null && pages < 10; pages += 1) {
    const page = await list(plainly, {
      eventName: "none",
      cursor,
    });
    expect(page.runs).toEqual([]);
    if (page.nextCursor !== null) expect(page.nextCursor < cursor).toBe(true);
    cursor = page.nextCursor;
  }
  expect(cursor).toBeNull();
  expect(pages).toBe(3);
});

test("following the cursors gives each run once, the newest first, whatever fits", async () => {
  for (const filter of [
    { functionId: "rare" },
    { status: "FAILED" },
    { functionId: "fn-2", status: "FAILED" },
  ] as const) {
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof listRuns>> = await list(plainly, {
        ...filter,
        limit: 7,
        ...(cursor === null ? {} : { cursor }),
      });
      ids.push(...page.runs.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    const { functionId = null, status = null } = filter as Partial<Record<"functionId" | "status", string>>;
    const wanted = await db.sql.unsafe(
      `SELECT id FROM holdfast.runs WHERE ($1::text IS NULL OR function_id = $1) AND ($2::text IS NULL OR status = $2)
ORDER BY id DESC`,
      [functionId, status],
    );
    expect(ids).toEqual(wanted.map(({ id }) => id));
    expect(ids.length).toBeGreaterThan(10);
  }
});

test("a run whose status changes between two statements of a page is there once, as it was last", async () => {
  const status = ["FAILED", "COMPLETED"] as const;
  const { runs } = await list(plainly, { functionId: "fn-1", status: "FAILED", limit: 1 });
  const id = runs[0]?.id ?? "";
  let statements = 0;
  let before: Promise<unknown> = Promise.resolve();
  const query = (text: string, params: readonly Param[] = []): Promise<never[]> => {
    const answer = before.then(() => plainly.query(text, params));
    statements += 1;
    // Both of the first status.
    before =
      statements === 2
        ? answer.then(() => db.sql`UPDATE holdfast.runs SET status = 'COMPLETED', version = 3 WHERE id = ${id}`)
        : answer;
    return answer;
  };
  const page = await listRuns({ query, options: {} } as unknown as Database, {
    functionId: "fn-1",
    status,
    limit: 100,
  });
  await db.sql`UPDATE holdfast.runs SET status = 'FAILED', version = 2 WHERE id = ${id}`;
  expect(page.runs.filter((run) => run.id === id).map((run) => run.status)).toEqual(["COMPLETED"]);
});
