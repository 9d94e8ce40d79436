import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import { createTestDatabase, type TestDatabase } from "./harness.ts";
import { PLANS, pagesRead, type Statements } from "./pages-read.ts";

/** Enough for every plan that reads the queue from end to end to show: it takes thousands of pages. */
const LONG = 200_000;
const SHORT = 1_000;
export const AT_ONCE = 100;

export interface Queue {
  readonly columns: Readonly<Record<string, string>>;
  /** So many times the pages of a short queue may be read of a long one; default 3: its indexes are a level higher. */
  readonly atMost?: number;
  /** So many pairs of rows may be joined in vain; default any number. */
  readonly inVain?: number;
  /** What gateways ask of it; the answer is how many jobs it was about. */
  readonly acts: Readonly<Record<string, (on: Statements) => Promise<number>>>;
}

const id = (index: number): string => `job-${String(index).padStart(8, "0")}`;
export const ids = Array.from({ length: AT_ONCE }, (_, index) => id(index * 7 + 1));
const numbered = (name: string): string => `'${name}' || lpad(i::text, 8, '0')`;

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** So many jobs of one function, and no others. */
export async function fillQueue(db: TestDatabase, jobs: number, columns: Queue["columns"]): Promise<void> {
  await db.sql.unsafe("TRUNCATE holdfast.queue");
  await db.sql.unsafe("DELETE FROM pg_statistic WHERE starelid = 'holdfast.queue'::regclass");
  await addJobs(db.sql, jobs, columns);
}

/** To those that are there. */
export async function addJobs(
  sql: Pick<TestDatabase["sql"], "unsafe">,
  jobs: number,
  columns: Queue["columns"] = {},
): Promise<void> {
  const all: Queue["columns"] = {
    id: numbered("job-"),
    run_id: numbered("run-"),
    kind: "'pass'",
    key: "''",
    function_id: "'fn'",
    attempt: "0",
    iteration: "0",
    priority: "0",
    epoch: "0",
    available_at: "now() - interval '1 hour' + i * interval '1 millisecond'",
    created_at: "now() - interval '1 hour' + i * interval '1 millisecond'",
    lost: "false",
    ...columns,
  };
  await sql.unsafe(`INSERT INTO holdfast.queue (${Object.keys(all)})
SELECT ${Object.values(all).join(", ")} FROM generate_series(1, ${jobs}) i`);
}

interface Measured {
  readonly pages: readonly number[];
  readonly pairs: readonly number[];
  readonly jobs: readonly number[];
}

/** By act: the pages that it reads and how many jobs it is about, planned in both ways. */
async function measure(db: TestDatabase, { acts }: Queue): Promise<Map<string, Measured>> {
  const measured = new Map<string, Measured>();
  for (const [name, act] of Object.entries(acts)) {
    const both = [];
    for (const plans of PLANS) both.push(await pagesRead(db.sql, plans, act));
    measured.set(name, {
      pages: both.map(({ pages }) => pages),
      pairs: both.map(({ pairs }) => pairs),
      jobs: both.map(({ result }) => result),
    });
  }
  return measured;
}

/** A run without a log counts as one that is gone. */
export async function fillLogs(db: TestDatabase): Promise<void> {
  await db.sql.unsafe(`INSERT INTO holdfast.run_log (run_id, at, version, status, facts, data)
SELECT id, now(), version, status, 'RUN_CREATED 0 0 ', '{}' FROM holdfast.runs`);
}

/** Registers a test for each queue: its statements read about as many pages when it is long as when it is short. */
export function testLongQueues(queues: Readonly<Record<string, Queue>>): void {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await createTestDatabase();
    await migrate(db.url);
    await db.sql.unsafe("ALTER TABLE holdfast.queue SET (autovacuum_enabled = false)");
    // Only what is claimed needs its run.
    await db.sql.unsafe(`INSERT INTO holdfast.runs
    (id, function_id, app_id, app_version, status, version, event_id, event_name, created_at)
  SELECT ${numbered("run-")}, 'fn', 'app', '1', 'PENDING', 1, 'e', 'e', now() FROM generate_series(1, ${SHORT}) i`);
    await fillLogs(db);
  });

  afterAll(() => db.drop());

  test.each(Object.entries(queues))(
    "of 200,000 %s no statement reads many more pages than of 1,000, with and without statistics",
    async (_, queue) => {
      await fillQueue(db, SHORT, queue.columns);
      await db.sql.unsafe("ANALYZE holdfast.queue");
      const short = await measure(db, queue);
      await fillQueue(db, LONG, queue.columns);
      const unknown = await measure(db, queue);
      // What was undone leaves entries in the indexes.
      await db.sql.unsafe("VACUUM (ANALYZE, INDEX_CLEANUP ON) holdfast.queue");
      const known = await measure(db, queue);
      for (const [name, { pages, jobs, pairs }] of short) {
        const long = [unknown.get(name), known.get(name)];
        const shown = `${name}: ${JSON.stringify({ short: { pages, jobs }, unknown: long[0], known: long[1] })}`;
        expect(new Set([...jobs, ...long.flatMap((one) => one?.jobs ?? [])]).size, shown).toBe(1);
        if (queue.inVain !== undefined) {
          const all = [...pairs, ...long.flatMap((one) => one?.pairs ?? [])];
          expect(Math.max(...all), `${name}: ${all}`).toBeLessThanOrEqual(queue.inVain);
        }
        const most = Math.max(...pages) * (queue.atMost ?? 3) + 50;
        expect(Math.max(...long.flatMap((one) => one?.pages ?? [])), shown).toBeLessThan(most);
      }
    },
  );
}
