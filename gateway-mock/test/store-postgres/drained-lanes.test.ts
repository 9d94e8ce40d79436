import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate } from "../../src/store-postgres/connection/migrate.ts";
import type { Query } from "../../src/store-postgres/connection/query.ts";
import { startupSettings } from "../../src/store-postgres/connection/session-settings.ts";
import { DueBounds } from "../../src/store-postgres/queue/due-bounds.ts";
import { claimLimited } from "../../src/store-postgres/queue/limited-claims.ts";
import { createTestDatabase, type TestDatabase } from "./harness.ts";
import { addJobs, fillLogs } from "./long-queues.ts";

/**
 * A long queue of limited work is drained: plans are as old as the session, which began when the queue was empty, there
 * are no statistics, and no vacuum comes by.
 */
const JOBS = 20_000;
const ROUNDS = 100;
const AT_ONCE = 100;
/** Index entries for each job that is claimed: it takes about a dozen. */
const ENOUGH = 30;
const ATTEMPTS = 30;
const PAUSE_MS = 200;

let db: TestDatabase;
let session: postgres.Sql;

beforeAll(async () => {
  db = await createTestDatabase();
  await migrate(db.url);
  await db.sql.unsafe("ALTER TABLE holdfast.queue SET (autovacuum_enabled = off)");
});

afterAll(() => db.drop());

/** A claim leaves out jobs without one. */
async function addRuns(): Promise<void> {
  await db.sql.unsafe("TRUNCATE holdfast.runs, holdfast.run_log");
  await db.sql.unsafe(`INSERT INTO holdfast.runs
  (id, function_id, app_id, app_version, status, version, event_id, event_name, created_at)
SELECT run_id, 'fn', 'app', '1', 'PENDING', 1, 'e', 'e', now() FROM holdfast.queue`);
  await fillLogs(db);
}

/** Index entries that have been read of the queue. */
async function entriesRead(): Promise<number> {
  await session.unsafe("SELECT pg_stat_force_next_flush()");
  const rows = await session.unsafe<{ read: string }[]>(
    "SELECT sum(idx_tup_read) AS read FROM pg_stat_user_indexes WHERE schemaname = 'holdfast' AND relname = 'queue'",
  );
  return Number(rows[0]?.read);
}

/** What a claim reads for a job, at the beginning and after many others, while all that is claimed ends at once. */
async function drain(columns: Readonly<Record<string, string>>, slots: readonly number[], statistics: boolean) {
  session = postgres(db.url, { max: 1, onnotice: () => {}, connection: startupSettings("drain", "startup") });
  const query: Query = async (text, params = []) => await session.unsafe(text, [...params], { prepare: true });
  const on: Parameters<typeof claimLimited>[0] = {
    query,
    retrying: (_, work) => work(query, 1),
    settled: () => Promise.resolve(),
  };
  const bounds = new DueBounds(() => performance.now());
  const limits = { slots, throttle: null, shared: false };
  const wants = [{ functionId: "fn", limit: AT_ONCE, leaseMs: 60_000, limits }];
  const claim = async (): Promise<string[]> => {
    const { jobs } = await claimLimited(on, bounds, "claim", "", { gatewayId: "gateway", wants });
    return jobs.map(({ id }) => id);
  };
  const claimAndEnd = async (): Promise<void> => {
    await db.sql`DELETE FROM holdfast.queue WHERE id = ANY(${await claim()})`;
  };
  /**
   * What is gone is marked by who meets it, once its end is on disk and no transaction is older, such as one of Postgres's
   * own that gathers statistics. Both are over soon.
   */
  const measure = async (): Promise<number> => {
    let perJob = Number.POSITIVE_INFINITY;
    for (let time = 0; time < ATTEMPTS && perJob >= ENOUGH; time += 1) {
      if (time > 0) await sleep(PAUSE_MS);
      const before = await entriesRead();
      const claimed = await claim();
      perJob = ((await entriesRead()) - before) / claimed.length;
      await db.sql`DELETE FROM holdfast.queue WHERE id = ANY(${claimed})`;
    }
    return perJob;
  };
  try {
    await db.sql.unsafe("TRUNCATE holdfast.queue");
    for (let time = 0; time < 10; time += 1) expect(await claim()).toEqual([]);
    await addJobs(db.sql, JOBS, columns);
    await addRuns();
    if (statistics) await db.sql.unsafe("ANALYZE holdfast.queue");
    const first = await measure();
    for (let round = 0; round < ROUNDS; round += 1) await claimAndEnd();
    return { first, last: await measure() };
  } finally {
    await session.end();
  }
}

const queues = {
  "of a hundred lanes with two places each": {
    columns: { lane: "lpad(to_hex(i % 100), 4, '0')", slot_a: "'key ' || i % 100" },
    slots: [2],
  },
  "of one lane with few places": { columns: { lane: "'0000'", slot_a: "'one'" }, slots: [10] },
} as const;

for (const statistics of [false, true]) {
  for (const [what, { columns, slots }] of Object.entries(queues)) {
    const known = statistics ? "with" : "without";
    const name = `the last claims from a long queue ${what} read no more than the first ones, ${known} statistics`;
    test(name, { timeout: 120_000 }, async () => {
      const { first, last } = await drain(columns, slots, statistics);
      expect(
        [first, last].every((perJob) => perJob < ENOUGH),
        JSON.stringify({ first, last }),
      ).toBe(true);
    });
  }
}
