import type { Store } from "@holdfast/store";
import { expect, test } from "vitest";
import { type Bench, newId, passJob, runDone, seedLeased, stepDone, useStore } from "./harness.ts";
import { addJobs } from "./long-queues.ts";

/**
 * A gateway's writer plans each of its statements once, and tables may have been empty then. Jobs that were there
 * first have ids before those of the runs that are at work, as runs have that sleep for long.
 */
const LONG = 20_000;
const RUNS = 10;

const bench = useStore();

/** What happens to runs of one and of two passes; each by itself, so that nothing shares a batch. */
async function endRuns(store: Store): Promise<void> {
  for (let index = 0; index < RUNS; index += 1) {
    const short = await seedLeased(store);
    expect(await store.commit(stepDone(short, newId()))).toMatchObject({ won: true });
    expect(await store.commit(runDone(short))).toMatchObject({ won: true });
    const long = await seedLeased(store);
    const next = { cas: 1, head: { status: "RUNNING" }, addJobs: [{ ...passJob(long.runId), iteration: 1 }] } as const;
    const moved = { ...stepDone(long, newId()), ...next, removeJobs: [long.jobId] };
    expect(await store.commit(moved)).toMatchObject({ won: true });
    expect(await store.commit({ ...runDone(long, "live"), fence: null })).toMatchObject({ won: true });
    const event = { name: "shop/paid", idempotencyKey: newId(), tsMs: 1_700_000_000_000, payloadJson: "{}" };
    await store.intake([{ event: { ...event, id: newId() }, runs: [] }]);
    // The second one of a key is the first again.
    await store.intake([{ event: { ...event, id: newId() }, runs: [] }]);
  }
}

/** Rows that sessions of writers took from a table, or from its indexes, once these are over and all is counted. */
async function readOf({ sql }: Bench["db"], table: string): Promise<number> {
  const writers = () =>
    sql`SELECT FROM pg_stat_activity WHERE application_name = 'holdfast-gateway writer' AND datname = current_database()`;
  await expect.poll(async () => (await writers()).length).toBe(0);
  const [row] = await sql<{ read: number }[]>`SELECT (t.seq_tup_read + (SELECT sum(i.idx_tup_read)
    FROM pg_stat_user_indexes i WHERE i.relid = t.relid))::float8 AS read FROM pg_stat_user_tables t
    WHERE t.schemaname = 'holdfast' AND t.relname = ${table}`;
  return row?.read ?? Number.NaN;
}

test("what the writer planned while nothing was there reads no more of long tables than it needs", async () => {
  const { sql } = bench.db;
  await sql.unsafe("VACUUM ANALYZE holdfast.queue, holdfast.event_keys");
  const store = bench.another();
  await endRuns(store);
  await addJobs(sql, LONG, { id: "'00' || lpad(i::text, 8, '0')", available_at: "now() + interval '1 hour'" });
  await sql.unsafe(`INSERT INTO holdfast.event_keys (name, key, event_id, received_at)
    SELECT 'shop/paid', '00' || lpad(i::text, 8, '0'), 'none', now() FROM generate_series(1, ${LONG}) i`);
  await endRuns(store);
  await store.close();
  // Each of the commits needs a handful.
  expect(await readOf(bench.db, "queue")).toBeLessThan(RUNS * 200);
  expect(await readOf(bench.db, "event_keys")).toBeLessThan(RUNS * 200);
  await sql`DELETE FROM holdfast.queue WHERE id < '01'`;
});
