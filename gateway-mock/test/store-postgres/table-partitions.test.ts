import { checkInvariants, type Store } from "@holdfast/store";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Migration, migrate, readMigrations } from "../../src/store-postgres/connection/migrate.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { loadRuns } from "../../src/store-postgres/run-loader.ts";
import { LOCK_RUNS } from "../../src/store-postgres/writer/sql.ts";
import {
  createTestDatabase,
  newId,
  runDone,
  type SeededRun,
  seedLeased,
  stepDone,
  type TestDatabase,
} from "./harness.ts";
import { pagesRead } from "./pages-read.ts";

const TABLES = ["runs", "run_log", "events"] as const;
/** What gateways of today ask the log stands for what those of before did without it. */
const LOOK = readMigrations().find(({ version }) => version === 27)?.sql ?? "";
const BEFORE = readMigrations()
  .filter(({ version }) => version < 16)
  .map((each): Migration => (each.version === 15 ? { ...each, sql: `${each.sql}; ${LOOK}` } : each));

let db: TestDatabase;
let stores: Store[];
beforeEach(async () => {
  db = await createTestDatabase();
  stores = [];
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await db.drop();
});

function open(tablePartitionMs?: number): Store {
  const store = openPostgresStore({
    url: db.url,
    maxConnections: 4,
    ...(tablePartitionMs === undefined ? {} : { tablePartitionMs }),
  });
  stores.push(store);
  return store;
}

const one = async (text: string): Promise<unknown> => Object.values((await db.sql.unsafe(text))[0] ?? {})[0];

/** All that the tables hold, wherever their columns are. */
const contents = (): Promise<unknown[]> =>
  Promise.all(
    TABLES.map((table) =>
      one(`SELECT count(*) || ' ' || md5(string_agg(to_jsonb(t)::text, ',' ORDER BY to_jsonb(t)::text COLLATE "C"))
        FROM holdfast.${table} t`),
    ),
  );

const kindOf = (table: string): Promise<unknown> =>
  one(`SELECT relkind FROM pg_class WHERE oid = 'holdfast.${table}'::regclass`);

/** In which partition a run is, with its log and its event. */
const placesOf = async (runId: string): Promise<unknown[]> =>
  Promise.all([
    one(`SELECT (SELECT relname FROM pg_class c WHERE c.oid = t.tableoid) FROM holdfast.runs t WHERE id = '${runId}'`),
    one(
      `SELECT string_agg(DISTINCT c.relname, ' ') FROM holdfast.run_log t JOIN pg_class c ON c.oid = t.tableoid WHERE run_id = '${runId}'`,
    ),
  ]);

/** Hundreds of runs that have ended, and some that have not. */
async function fill(store: Store): Promise<SeededRun[]> {
  const runs = await Promise.all(Array.from({ length: 300 }, () => seedLeased(store)));
  const living = runs.splice(0, 20);
  await Promise.all(runs.map((run) => store.commit(runDone(run))));
  await Promise.all(living.map((run) => store.commit(stepDone(run, "one"))));
  return living;
}

describe("A database without partitions", () => {
  test("what it has stays as it is, and gateways that were there go on with it", async () => {
    await migrate(db.url, { migrations: BEFORE });
    const there = open();
    const living = await fill(there);
    const before = await contents();
    await Promise.all([migrate(db.url), migrate(db.url)]);
    expect(await contents()).toEqual(before);
    expect(await Promise.all(TABLES.map(kindOf))).toEqual(["p", "p", "p"]);
    const [run] = living;
    expect(await placesOf(run?.runId ?? "")).toEqual(["runs_before", "run_log_before"]);
    // Statements that the one has prepared, and those of one that comes.
    for (const store of [there, open()]) {
      for (const old of living.splice(0, 10)) {
        expect(await store.commit(stepDone(old, "one"))).toMatchObject({ won: true, inserted: [false] });
        expect(await store.commit(runDone(old))).toMatchObject({ won: true });
      }
      const fresh = await seedLeased(store);
      expect(await store.commit(runDone(fresh))).toMatchObject({ won: true });
      expect((await store.loadRuns([fresh.runId]))[0]?.head.status).toBe("COMPLETED");
    }
    expect((await checkInvariants(there)).broken).toEqual([]);
    expect(await one("SELECT count(*)::int FROM holdfast.run_facts WHERE kind = 'RUN_COMPLETED'")).toBe(302);
  });

  test("ids of clocks that are far ahead are kept apart, with all that belongs to them", async () => {
    await migrate(db.url, { migrations: BEFORE });
    const store = open();
    const living = await fill(store);
    const late = `7ZZZZZZZZZ${newId().slice(10)}`;
    const [run] = living;
    await db.sql.unsafe(`UPDATE holdfast.runs SET id = '${late}' WHERE id = '${run?.runId}'`);
    await db.sql.unsafe(`UPDATE holdfast.run_log SET run_id = '${late}' WHERE run_id = '${run?.runId}'`);
    await db.sql.unsafe(`UPDATE holdfast.queue SET run_id = '${late}' WHERE run_id = '${run?.runId}'`);
    const before = await contents();
    await migrate(db.url);
    expect(await contents()).toEqual(before);
    expect(await placesOf(late)).toEqual(["runs_rest", "run_log_rest"]);
    expect(await store.commit(runDone({ jobId: run?.jobId ?? "", runId: late }))).toMatchObject({ won: true });
  });

  test("a migration that is killed half-way, or fails at its end, leaves all as it was", async () => {
    await migrate(db.url, { migrations: BEFORE });
    const store = open();
    const living = await fill(store);
    const before = await contents();
    const failing = readMigrations().map((each): Migration => {
      return each.version === 16 ? { ...each, sql: `${each.sql}; SELECT 1/0` } : each;
    });
    await expect(migrate(db.url, { migrations: failing })).rejects.toMatchObject({ code: "STORE_FAILED" });
    // It has some locks, and waits for the last one.
    const dying = postgres(db.url, { max: 1, onnotice: () => {} });
    let killed: Promise<unknown> = Promise.resolve();
    await db.sql.begin(async (tx) => {
      await tx`SELECT FROM holdfast.events LIMIT 1`;
      const text = readMigrations().find(({ version }) => version === 16)?.sql ?? "";
      killed = dying
        .unsafe(`BEGIN; ${text}; COMMIT`)
        .simple()
        .catch((error: unknown) => error);
      const waiting = `FROM pg_locks WHERE NOT granted AND relation = 'holdfast.events'::regclass`;
      await waitFor(async () => (await tx.unsafe(`SELECT pid ${waiting}`)).length > 0, {
        what: "the migration to wait",
      });
      await tx.unsafe(`SELECT pg_terminate_backend(pid) ${waiting}`);
    });
    expect(await killed).toBeInstanceOf(Error);
    await dying.end({ timeout: 0 });
    expect(await kindOf("runs")).toBe("r");
    expect(await contents()).toEqual(before);
    for (const run of living.slice(0, 5)) expect(await store.commit(runDone(run))).toMatchObject({ won: true });
    await migrate(db.url);
    for (const run of living.slice(5)) expect(await store.commit(runDone(run))).toMatchObject({ won: true });
    expect((await checkInvariants(store)).broken).toEqual([]);
  });
});

describe("Table partitions", () => {
  const ranges = async (table: string): Promise<{ name: string; from_id: string; to_id: string; seconds: number }[]> =>
    db.sql.unsafe(`SELECT name, from_id, to_id, date_part('epoch', to_at - lag(to_at) OVER (ORDER BY to_at))::int AS seconds
      FROM holdfast.table_partitions WHERE parent = '${table}' ORDER BY to_at`);
  const extend = async (width: string, ahead: string): Promise<void> => {
    for (const table of TABLES)
      await one(`SELECT holdfast.extend_table_partitions('${table}', '${width}', '${ahead}')`);
  };

  test("they follow each other without a gap, the same for all tables, and a run and its log are in those of one time", async () => {
    const store = open(60_000);
    await store.migrate();
    await extend("1 minute", "5 minutes");
    const all = await Promise.all(TABLES.map(ranges));
    const [runs = []] = all;
    expect(runs.length).toBeGreaterThan(3);
    expect(runs[0]?.from_id).toBe("");
    for (const [index, { from_id: from }] of runs.entries()) if (index > 0) expect(from).toBe(runs[index - 1]?.to_id);
    const ends = all.map((list) => list.map(({ to_id: to }) => to));
    expect(ends).toEqual([ends[0], ends[0], ends[0]]);
    // A run of later, as a gateway makes it that is ahead.
    const later = runs[3];
    const run = await seedLeased(store);
    const id = `${later?.from_id}${newId().slice(10)}`;
    const { eventId } = (await store.loadRuns([run.runId]))[0]?.head ?? { eventId: "" };
    await store.intake([
      {
        event: { id: `${later?.from_id}${newId().slice(10)}`, name: "e", tsMs: 1, payloadJson: "{}" },
        runs: [
          {
            run: { id, functionId: "fn", appId: "app", appVersion: "1", eventId, eventName: "e" },
            log: [{ kind: "RUN_CREATED", key: "", attempt: 0, iteration: 0, dataJson: "{}" }],
            jobs: [{ id: newId(), runId: id, kind: "pass", key: "", functionId: "fn", attempt: 0, iteration: 0 }],
          },
        ],
      },
    ]);
    expect(await placesOf(id)).toEqual([later?.name, later?.name.replace("runs", "run_log")]);
  });

  test("they become wider where there are many, since each costs every statement a lock", async () => {
    await migrate(db.url, { tablePartitionMs: 60_000 });
    await extend("1 minute", "2 hours");
    const widths = (await ranges("runs")).map(({ seconds }) => seconds).filter((seconds) => seconds !== null);
    expect(widths.at(5)).toBe(60);
    expect(Math.max(...widths)).toBe(240);
    expect(widths.length).toBeLessThan(70);
  });

  test("large values are kept the same way in all of them, and in copies: lz4 where the server has it, as they are elsewhere", async () => {
    await migrate(db.url, { tablePartitionMs: 60_000 });
    await extend("1 minute", "10 minutes");
    const [first] = await ranges("runs");
    expect(await one(`SELECT holdfast.begin_rewrite('runs', '', '${first?.to_id}', '{}')`)).toBe(true);
    const kept =
      await db.sql.unsafe(`SELECT c.relname AS name, a.attcompression::text AS compression, a.attstorage::text AS storage
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = 'holdfast'::regnamespace
        AND c.relkind IN ('r', 'p') AND c.relname ~ '^(runs|run_log|events)(_|$)' AND a.attname IN ('output', 'error', 'data', 'payload')`);
    const names = kept.map(({ name }) => String(name));
    for (const name of ["runs", "run_log_rest", "events"]) expect(names).toContain(name);
    for (const pattern of [/^run_log_kept_/, /^run_log_to_/, /^events_to_/])
      expect(names).toContainEqual(expect.stringMatching(pattern));
    const hasLz4 = await db.sql.unsafe("SET default_toast_compression = lz4; RESET default_toast_compression").then(
      () => true,
      () => false,
    );
    const expected = hasLz4 ? { compression: "l", storage: "x" } : { compression: "", storage: "e" };
    for (const { name, ...how } of kept) expect(how, String(name)).toEqual(expected);
  });

  test("what came before its partition was there is moved into it", async () => {
    const store = open(60_000);
    await store.migrate();
    const soon = `${await one("SELECT holdfast.first_id(now() + interval '30 minutes')")}${newId().slice(10)}`;
    const run = await seedLeased(store);
    await db.sql.unsafe(`UPDATE holdfast.runs SET id = '${soon}' WHERE id = '${run.runId}'`);
    await db.sql.unsafe(`UPDATE holdfast.run_log SET run_id = '${soon}' WHERE run_id = '${run.runId}'`);
    await db.sql.unsafe(`UPDATE holdfast.queue SET run_id = '${soon}' WHERE run_id = '${run.runId}'`);
    expect(await placesOf(soon)).toEqual(["runs_rest", "run_log_rest"]);
    await extend("1 minute", "1 hour");
    const [head, log] = await placesOf(soon);
    expect([head, log]).toEqual([expect.stringMatching(/^runs_to_/), expect.stringMatching(/^run_log_to_/)]);
    expect(await store.commit(runDone({ ...run, runId: soon }))).toMatchObject({ won: true });
  });

  test("a gateway makes the next ones in time, and gives way to who reads for long", async () => {
    await migrate(db.url, { tablePartitionMs: 60_000 });
    const count = async (): Promise<unknown> => one("SELECT count(*)::int FROM holdfast.table_partitions");
    const before = Number(await count());
    // Of a wider span there is too little left.
    const store = open(60 * 60_000);
    const another = open(60 * 60_000);
    await db.sql.begin(async (tx) => {
      await tx`SELECT FROM holdfast.runs_rest`;
      await store.touchConnections("gateway-a", 60_000);
      expect(await store.commit(runDone(await seedLeased(store)))).toMatchObject({ won: true });
    });
    expect(Number(await count())).toBeGreaterThan(before);
    await another.touchConnections("gateway-b", 60_000);
    const all = await Promise.all(TABLES.map(ranges));
    expect(new Set(all.map((list) => list.length)).size).toBe(1);
  });

  test("one that is old can be dropped while gateways work, and with it all runs of its time", async () => {
    const store = open();
    await store.migrate();
    await fill(store);
    await db.sql.unsafe(
      `SELECT holdfast.extend_table_partitions(t, '7 days', '60 days') FROM unnest(ARRAY['runs', 'run_log', 'events']) t`,
    );
    const [old] = await ranges("runs");
    const working = Promise.all(Array.from({ length: 40 }, async () => store.commit(runDone(await seedLeased(store)))));
    await working;
    for (const table of TABLES) await db.sql.unsafe(`DROP TABLE holdfast.${old?.name.replace("runs", table)}`);
    expect((await store.listRuns({ limit: 10 })).runs).toEqual([]);
    // Where nothing is left of its time, what comes is kept with the rest.
    const run = await seedLeased(store);
    expect((await placesOf(run.runId))[0]).toBe("runs_rest");
    expect(await store.commit(runDone(run))).toMatchObject({ won: true });
    await db.sql.unsafe("DELETE FROM holdfast.queue");
  });

  test("statements about runs of one time look into the partitions of that time, however many there are", async () => {
    const store = open(60 * 60_000);
    await store.migrate();
    const runs = await Promise.all(Array.from({ length: 30 }, () => seedLeased(store)));
    const ids = runs.map(({ runId }) => runId).sort();
    // The planner's own look-ups come with its first plans.
    const pages = async (): Promise<number> =>
      (
        await pagesRead(db.sql, "force_generic_plan", async ({ query }) => {
          expect(await query(LOCK_RUNS, [`{${ids}}`])).toHaveLength(30);
          expect(await loadRuns(query, ids)).toHaveLength(30);
        })
      ).pages;
    await pages();
    const few = await pages();
    await extend("1 hour", "60 hours");
    await pages();
    expect(await pages()).toBeLessThan(few + 10);
  });
});
