import { afterAll, beforeAll, expect, test } from "vitest";
import type { Statement } from "../../src/store-postgres/connection/database.ts";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import type { Query } from "../../src/store-postgres/connection/query.ts";
import { findWaits, waitPaths } from "../../src/store-postgres/waits.ts";
import { deleteWaits } from "../../src/store-postgres/writer/waits.ts";

import { createTestDatabase, type TestDatabase } from "./harness.ts";
import { PLANS, pagesRead, type Statements } from "./pages-read.ts";

const MANY = 100_000;
const FEW = 1_000;
const AT_ONCE = 50;

const some = Array.from({ length: AT_ONCE }, (_, index) => index * 17 + 1);
const runId = (index: number): string => `run-${String(index).padStart(8, "0")}`;
const matchOf = (index: number): string => `["data","id"]\n${index}`;

/** How many waits the statements remove, one after the other. */
async function removed(query: Query, statements: readonly Statement[]): Promise<number> {
  let count = 0;
  for (const { text, params } of statements) count += (await query(`${text} RETURNING 1`, params)).length;
  return count;
}

const acts: Readonly<Record<string, (on: Statements) => Promise<number>>> = {
  "the paths of a name": async ({ query }) => (await waitPaths(query, ["some/event", "none"])).flat().length,
  "the waits for events": async ({ query }) => {
    const queries = some.map((index) => ({
      name: "some/event",
      kinds: ["event", "cancel"] as const,
      eventId: "event",
      matches: ["", matchOf(index)],
      limit: 200,
    }));
    return (await findWaits(query, queries)).flat().length;
  },
  "the end of waits": async ({ query }) => {
    const statements = deleteWaits(
      some.map((index) => ({ runId: runId(index), key: "w" })),
      [],
    );
    return removed(query, statements);
  },
  "the end of runs that wait": async ({ query }) => {
    return removed(query, deleteWaits([{ runId: runId(1), key: "w" }], some.map(runId)));
  },
};

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  await migrate(db.url);
  await db.sql.unsafe("ALTER TABLE holdfast.waits SET (autovacuum_enabled = false)");
  await db.sql.unsafe(`INSERT INTO holdfast.runs
  (id, function_id, app_id, app_version, status, version, event_id, event_name, created_at)
SELECT 'run-' || lpad(i::text, 8, '0'), 'fn', 'app', '1', 'WAITING', 1, 'e', 'e', now() FROM generate_series(1, ${FEW}) i`);
  await db.sql.unsafe(`INSERT INTO holdfast.events (id, name, ts, received_at, run_ids, payload)
VALUES ('event', 'some/event', now(), now() + interval '1 hour', '', '{}')`);
});

afterAll(() => db.drop());

/** So many runs wait for one event, each for a value of its own. */
async function fill(waits: number): Promise<void> {
  await db.sql.unsafe("TRUNCATE holdfast.waits");
  await db.sql.unsafe("DELETE FROM pg_statistic WHERE starelid = 'holdfast.waits'::regclass");
  await db.sql.unsafe(`INSERT INTO holdfast.waits (run_id, key, kind, name, match, began_at)
SELECT 'run-' || lpad(i::text, 8, '0'), 'w', 'event', 'some/event', '["data","id"]' || E'\\n' || i, now()
FROM generate_series(1, ${waits}) i`);
}

const measure = (act: (on: Statements) => Promise<number>) =>
  Promise.all(PLANS.map((plans) => pagesRead(db.sql, plans, act)));

test.each(Object.entries(acts))("%s: of 100,000 waits hardly more pages are read than of 1,000", async (_, act) => {
  await fill(FEW);
  await db.sql.unsafe("ANALYZE holdfast.waits");
  const few = await measure(act);
  await fill(MANY);
  const unknown = await measure(act);
  await db.sql.unsafe("VACUUM (ANALYZE, INDEX_CLEANUP ON) holdfast.waits");
  const known = await measure(act);
  const many = [...unknown, ...known];
  const shown = JSON.stringify({ few, unknown, known });
  expect(new Set([...few, ...many].map(({ result }) => result)).size, shown).toBe(1);
  const most = Math.max(...few.map(({ pages }) => pages)) * 3 + 50;
  expect(Math.max(...many.map(({ pages }) => pages)), shown).toBeLessThan(most);
});

test.each([true, false])(
  "a late page of waits without a value reads hardly more of 20,000 than of 1,000; for an event: %s",
  async (isForEvent) => {
    const pages: number[] = [];
    for (const count of [FEW, 20 * FEW]) {
      await db.sql.unsafe("TRUNCATE holdfast.waits, holdfast.runs");
      await db.sql.unsafe(`INSERT INTO holdfast.runs
  (id, function_id, app_id, app_version, status, version, event_id, event_name, created_at)
SELECT 'run-' || lpad(i::text, 8, '0'), 'fn', 'app', '1', 'WAITING', 1, 'e', 'e', now() FROM generate_series(1, ${count}) i`);
      await db.sql.unsafe(`INSERT INTO holdfast.waits (run_id, key, kind, name, match, began_at)
SELECT 'run-' || lpad(i::text, 8, '0'), 'w', 'event', 'some/event', '', now() FROM generate_series(1, ${count}) i`);
      await db.sql.unsafe("ANALYZE holdfast.waits, holdfast.runs");
      const query = {
        name: "some/event",
        kinds: ["event"] as const,
        ...(isForEvent ? { eventId: "event" } : {}),
        after: { match: "", runId: runId(0.9 * count), key: "w" },
        limit: 50,
      };
      for (const asked of [query, { ...query, name: "other/event" }])
        for (const plans of PLANS) {
          const read = await pagesRead(db.sql, plans, async (on) => (await findWaits(on.query, [asked])).flat().length);
          expect(read.result).toBe(asked === query ? 50 : 0);
          pages.push(read.pages);
        }
    }
    const [few, many] = [pages.slice(0, 4), pages.slice(4)];
    expect(Math.max(...many), JSON.stringify({ few, many })).toBeLessThan(Math.max(...few) * 2 + 50);
  },
);
