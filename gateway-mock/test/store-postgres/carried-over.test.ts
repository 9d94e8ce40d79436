/** A database of an earlier version is carried over without its rows being copied: what that writes does not depend on them. */
import { afterEach, expect, test } from "vitest";
import { migrate, readMigrations } from "../../src/store-postgres/connection/migrate.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { createTestDatabase, type TestDatabase } from "./harness.ts";

/** Of the version that had neither table partitions nor retention. */
const BEFORE = 15;
const databases: TestDatabase[] = [];

afterEach(async () => {
  for (const db of databases.splice(0)) await db.drop();
});

const ID = "'01K' || lpad(i::text, 23, '0')";

/** So many runs of that version that have ended, each with a row of the log and an event. */
async function databaseOf(runs: number): Promise<TestDatabase> {
  const db = await createTestDatabase();
  databases.push(db);
  await migrate(db.url, { migrations: readMigrations().filter(({ version }) => version <= BEFORE) });
  await db.sql.unsafe(`INSERT INTO holdfast.runs
  (id, function_id, app_id, app_version, status, version, event_id, event_name, created_at, ended_at)
SELECT ${ID}, 'shop-order', 'shop', '1', 'COMPLETED', 2, ${ID}, 'shop/order', now(), now() FROM generate_series(1, ${runs}) i`);
  await db.sql.unsafe(`INSERT INTO holdfast.run_log (run_id, at, version, status, facts, data)
SELECT ${ID}, now(), 2, 'COMPLETED', E'RUN_CREATED 0 0 \\nSTEP_COMPLETED 0 0 a\\nRUN_COMPLETED 0 0 ',
  E'{"run":{"maxAttempts":1},"event":{"name":"shop/order"}}\\x1e{"data":1}\\x1e{"data":' || i || '}'
FROM generate_series(1, ${runs}) i`);
  await db.sql.unsafe(`INSERT INTO holdfast.events (id, name, ts, received_at, run_ids, payload)
SELECT ${ID}, 'shop/order', now(), now(), ${ID}, '{"name":"shop/order","data":{}}' FROM generate_series(1, ${runs}) i`);
  return db;
}

/** Bytes of write-ahead log until it is carried over, and what other databases of the server have written meanwhile. */
async function walOf(runs: number): Promise<number> {
  const db = await databaseOf(runs);
  const position = async (): Promise<number> => {
    const [row] = await db.sql`SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS bytes`;
    return Number(row?.bytes);
  };
  const before = await position();
  await migrate(db.url);
  return (await position()) - before;
}

/** All rows of the many are some 40 MB. */
const MOST_MORE = 2_000_000;
/** Others only ever write more, so that one quiet try is enough. */
const TRIES = 8;

test("carrying a database over writes as little with many runs as with few", async () => {
  const few = await walOf(100);
  let many = await walOf(60_000);
  for (let tries = 1; tries < TRIES && many >= few + MOST_MORE; tries += 1) many = Math.min(many, await walOf(60_000));
  expect(many).toBeLessThan(few + MOST_MORE);
}, 240_000);

test("runs of a database that was carried over are listed and read as they were", async () => {
  const db = await databaseOf(1_000);
  await migrate(db.url);
  const store = openPostgresStore({ url: db.url, maxConnections: 3 });
  try {
    const { runs } = await store.listRuns({ limit: 1000, functionId: "shop-order" });
    expect(runs).toHaveLength(1_000);
    const [stored] = await store.loadRuns([runs[0]?.id ?? ""]);
    expect(stored?.log.map(({ kind, key, dataJson }) => [kind, key, dataJson])).toEqual([
      ["RUN_CREATED", "", '{"run":{"maxAttempts":1},"event":{"name":"shop/order"}}'],
      ["STEP_COMPLETED", "a", '{"data":1}'],
      ["RUN_COMPLETED", "", '{"data":1000}'],
    ]);
    const [event] = await store.loadEvents([stored?.head.eventId ?? ""]);
    expect(event).toBe('{"name":"shop/order","data":{}}');
  } finally {
    await store.close();
  }
});
