import { expect, test } from "vitest";
import { openTidier } from "../../src/store-postgres/tidy.ts";
import { seedRun, useStore } from "./harness.ts";

const bench = useStore();

/** `clock` is asked before and after each piece. */
const tidier = (clock: () => number = () => 0): (() => Promise<void>) =>
  openTidier({
    query: async (text, params = []) => (await bench.db.sql.unsafe(text, [...params])) as never,
    monotonicMs: clock,
  });

const count = async (table: string): Promise<number> => {
  const [row] = await bench.db.sql.unsafe(`SELECT count(*)::int AS n FROM holdfast.${table}`);
  return Number(row?.n);
};

/** Of many hours in which a thousand came each second. */
async function fill(): Promise<void> {
  const { sql } = bench.db;
  await sql.unsafe("DELETE FROM holdfast.event_keys");
  await sql.unsafe(`INSERT INTO holdfast.event_keys (name, key, event_id, received_at)
    SELECT 'shop/order', n::text, 'e', now() - interval '25 hours' FROM generate_series(1, 12000) n`);
  await sql.unsafe(`INSERT INTO holdfast.event_keys (name, key, event_id, received_at)
    SELECT 'shop/order', 'young ' || n, 'e', now() - interval '23 hours' FROM generate_series(1, 7) n`);
  await sql.unsafe(`INSERT INTO holdfast.gates (function_id, kind, key, expires_at, at, run_id, data, count)
    SELECT 'f', 'rate', n::text, now() - interval '1 s', now(), '', '', 0 FROM generate_series(1, 12000) n`);
}

test("what is past its time is removed at once, however much has come since the last time", async () => {
  await fill();
  await tidier()();
  expect([await count("event_keys"), await count("gates")]).toEqual([7, 0]);
});

test("a singleton's row that a run holds is looked at once an hour, and goes when the run is over", async () => {
  const { sql } = bench.db;
  const { runId } = await seedRun(bench.store);
  await sql.unsafe(`INSERT INTO holdfast.gates (function_id, kind, key, expires_at, at, run_id, data, count)
    VALUES ('f', 'single', 'held', now() - interval '1 s', now(), '${runId}', '', 0),
      ('f', 'single', 'over', now() - interval '1 s', now(), 'none', '', 0)`);
  const rows = () => sql`SELECT key, expires_at > now() + interval '59 minutes' AS "isLater" FROM holdfast.gates`;
  await tidier()();
  expect([...(await rows())]).toEqual([{ key: "held", isLater: true }]);
  await sql`UPDATE holdfast.gates SET run_id = 'over', expires_at = now() - interval '1 s'`;
  await tidier()();
  expect([...(await rows())]).toEqual([]);
});

test("when its time is over the rest is left for the next time", async () => {
  await fill();
  let nowMs = 0;
  const tidy = tidier(() => {
    nowMs += 2_000;
    return nowMs;
  });
  await tidy();
  const left = await count("event_keys");
  expect(left).toBeGreaterThan(7);
  expect(left).toBeLessThan(12_000);
  for (let times = 0; times < 3; times += 1) await tidy();
  expect(await count("event_keys")).toBe(7);
});

test.each(["run_origins", "graph_runs"] as const)(
  "rows of %s go with their runs, whatever page they are on",
  async (table) => {
    const { sql } = bench.db;
    const { runId } = await seedRun(bench.store);
    const columns = table === "run_origins" ? "(run_id, origin_id, kind)" : "(run_id, uid, version, test, created_at)";
    const values = table === "run_origins" ? "'origin', 'rerun'" : "'graph', 1, false, now()";
    await sql.unsafe(`INSERT INTO holdfast.${table} ${columns}
    SELECT '0' || lpad(n::text, 25, '0'), ${values} FROM generate_series(1, 2500) AS n`);
    await sql.unsafe(`INSERT INTO holdfast.${table} ${columns} VALUES ('${runId}', ${values})`);
    const tidy = tidier();
    for (let page = 0; page < 4; page += 1) await tidy();
    expect([...(await sql.unsafe(`SELECT run_id FROM holdfast.${table}`))]).toEqual([{ run_id: runId }]);
  },
);

test("of partitions that retention has replaced they go at once, with their runs", async () => {
  const { sql } = bench.db;
  const { runId } = await seedRun(bench.store);
  const [first] =
    await sql`SELECT name, from_id FROM holdfast.table_partitions WHERE parent = 'runs' ORDER BY to_at LIMIT 1`;
  await sql`UPDATE holdfast.table_partitions SET from_id = ${runId} WHERE name = ${first?.name}`;
  const before = await count("graph_runs");
  try {
    await sql.unsafe(`INSERT INTO holdfast.graph_runs (run_id, uid, version, test, created_at)
      SELECT '0' || lpad(n::text, 25, '0'), 'graph', 1, false, now() FROM generate_series(1, 5500) AS n`);
    await tidier()();
    expect(await count("graph_runs")).toBe(before);
  } finally {
    await sql`UPDATE holdfast.table_partitions SET from_id = ${first?.from_id} WHERE name = ${first?.name}`;
  }
});
