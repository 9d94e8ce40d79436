/** What only Postgres has: transactions that commit late, with numbers that are lower than those of others. */
import { systemClock, systemTimers } from "@holdfast/core";
import type { ChangeScope, LogChange, Store } from "@holdfast/store";
import postgres from "postgres";
import { describe, expect, it } from "vitest";
import { changesOf } from "../../src/store-postgres/changes/read-changes.ts";
import { seedLeased, seedRun, stepDone, useStore } from "./harness.ts";
import { holdWrites } from "./held-writes.ts";
import { PLANS, pagesRead } from "./pages-read.ts";

const ALL: ChangeScope = { runIds: [], functionIds: null };
const bench = useStore();

/** Its clock is a second and more further each time it is read: whatever is looked up now and then is, each time. */
function hasty(): Store {
  let turns = 0;
  const monotonicMs = (): number => {
    turns += 1;
    return turns * 1_100;
  };
  return bench.another({ clock: { monotonicMs, nowMs: () => systemClock.nowMs() } });
}

/** One look to the end; returns where it ended. */
async function read(store: Store, from: string, into: LogChange[], scope = ALL, limit = 1000): Promise<string> {
  for (let position = from; ; ) {
    const page = await store.readChanges({ after: position, scope, limit });
    expect(page.isTooOld).toBe(false);
    into.push(...page.changes);
    position = page.position;
    if (page.isEnd) return position;
  }
}

const keysOf = (changes: readonly LogChange[]): string[] => changes.map(({ runId, seq }) => `${runId} ${seq}`);

async function stored(after: readonly string[]): Promise<string[]> {
  const rows = await bench.db.sql`SELECT run_id, seq::float8 AS seq FROM holdfast.run_log ORDER BY seq, run_id`;
  const known = new Set(after);
  return rows.map(({ run_id, seq }) => `${run_id} ${seq}`).filter((key) => !known.has(key));
}

describe("rows that are committed late", () => {
  it("come after rows with higher numbers, once, however often it was looked in between", async () => {
    const reader = hasty();
    const [late, other] = [await seedLeased(bench.store), await seedLeased(bench.store)];
    const before = await stored([]);
    let position = await reader.logEnd();
    const found: LogChange[] = [];
    const held = await holdWrites(bench.db.sql, "run_log", `new.run_id = '${late.runId}'`);
    const committing = bench.store.commit(stepDone(late, "late"));
    await held.standing(1);
    const writer = bench.another();
    for (const key of ["a", "b", "c"]) {
      await writer.commit(stepDone(other, key));
      position = await read(reader, position, found);
      position = await read(reader, position, found);
    }
    expect(found.map(({ runId }) => runId)).toEqual([other.runId, other.runId, other.runId]);
    await held.release();
    await committing;
    position = await read(reader, position, found);
    expect(found.map(({ facts }) => facts[0]?.key)).toEqual(["a", "b", "c", "late"]);
    expect(keysOf(found).sort()).toEqual((await stored(before)).sort());
    expect(found[3]?.seq).toBeLessThan(found[0]?.seq ?? 0);
    await read(reader, position, found);
    expect(found).toHaveLength(4);
  });

  it("come even where the first look was made while they were under way", async () => {
    const [late, other] = [await seedLeased(bench.store), await seedLeased(bench.store)];
    const held = await holdWrites(bench.db.sql, "run_log", `new.run_id = '${late.runId}'`);
    const committing = bench.store.commit(stepDone(late, "late"));
    await held.standing(1);
    const writer = bench.another();
    for (const key of ["a", "b"]) await writer.commit(stepDone(other, key));
    const reader = hasty();
    const start = await reader.logEnd();
    const found: LogChange[] = [];
    let position = await read(reader, start, found);
    expect(found).toEqual([]);
    await held.release();
    await committing;
    position = await read(bench.another(), position, found);
    expect(found.map(({ facts }) => facts[0]?.key)).toEqual(["late"]);
  });

  it("of one run are found by the run as well", async () => {
    const run = await seedRun(bench.store);
    const scope = { runIds: [run.runId], functionIds: [] };
    const reader = hasty();
    const start = await reader.logEnd();
    // A row of a claim, which holds no lock in common with who decides on the run.
    const held = await holdWrites(
      bench.db.sql,
      "run_log",
      `new.run_id = '${run.runId}' AND new.facts LIKE 'LEASE_LOST%'`,
    );
    const own = postgres(bench.db.url, { max: 1 });
    const inserting = own`INSERT INTO holdfast.run_log (run_id, at, facts, data)
      VALUES (${run.runId}, now(), ${`LEASE_LOST 0 7 ${run.jobId}`}, '{}')`.execute();
    await held.standing(1);
    const stall = { kind: "STALLED", key: run.jobId, attempt: 0, iteration: 9, dataJson: "{}" } as const;
    await bench.store.commit({
      runId: run.runId,
      fence: null,
      cas: "live",
      log: [stall],
      head: { status: "PENDING" },
      removeJobs: [],
      addJobs: [],
    });
    const found: LogChange[] = [];
    const position = await read(reader, start, found, scope);
    expect(found.map(({ facts }) => facts[0]?.kind)).toEqual(["STALLED"]);
    await held.release();
    await inserting;
    await own.end();
    await read(reader, position, found, scope);
    expect(found.map(({ facts }) => facts[0]?.kind)).toEqual(["STALLED", "LEASE_LOST"]);
  });
});

describe("numbers that are left out", () => {
  it("are looked through once, so that a reader behind them gets to the end", async () => {
    const reader = hasty();
    const start = await reader.logEnd();
    // As after a loss of commits.
    await bench.db.sql`SELECT setval('holdfast.run_log_seq', (SELECT last_value FROM holdfast.run_log_seq) + 67108864)`;
    const run = await seedLeased(bench.store);
    const found: LogChange[] = [];
    let position = start;
    let isEnd = false;
    for (let pages = 0; pages < 100 && !isEnd; pages += 1) {
      const page = await reader.readChanges({ after: position, scope: ALL, limit: 1000 });
      found.push(...page.changes);
      ({ position, isEnd } = page);
    }
    expect(isEnd).toBe(true);
    expect(keysOf(found)).toEqual((await stored([])).filter((key) => key.startsWith(run.runId)));
  });
});

describe("many writers at once", () => {
  it("readers that change places in the middle of pages get every row, and none twice", async () => {
    const before = await stored([]);
    const readers = [hasty(), bench.another(), hasty()];
    const writers = [bench.store, bench.another(), bench.another()];
    let position = await readers[0]!.logEnd();
    const found: LogChange[] = [];
    const held = await holdWrites(bench.db.sql, "run_log", "new.facts LIKE '%held%'");
    let writing = 0;
    const work = writers.map(async (store, index) => {
      for (let round = 0; round < 30; round += 1) {
        const run = await seedLeased(store, `writer-${index}`);
        await Promise.all(["a", "b"].map((key) => store.commit(stepDone(run, key))));
        writing += 1;
      }
    });
    const slow = bench.another();
    const late = await seedLeased(slow);
    const lateWork = slow.commit(stepDone(late, "held"));
    let isOver = false;
    const all = Promise.all(work).then(async () => {
      await held.release();
      await lateWork;
      isOver = true;
    });
    for (let turn = 0; ; turn += 1) {
      const last = isOver;
      const reader = readers[turn % readers.length]!;
      const page = await reader.readChanges({ after: position, scope: ALL, limit: 1 + (turn % 7) });
      // Every third page is left in its middle.
      const taken = turn % 3 === 0 ? page.changes.slice(0, Math.ceil(page.changes.length / 2)) : page.changes;
      found.push(...taken);
      position = taken.length === page.changes.length ? page.position : (taken.at(-1)?.position ?? position);
      if (last && page.isEnd && taken.length === page.changes.length) break;
    }
    await all;
    expect(writing).toBe(90);
    expect(keysOf(found).sort()).toEqual((await stored(before)).sort());
    for (const { runId } of found) {
      const seqs = found.filter((change) => change.runId === runId).map(({ seq }) => seq);
      expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    }
  });
});

describe("what the index is for", () => {
  it("a look reads the newest pages of the log alone, however many there are", async () => {
    const { sql } = bench.db;
    await sql`INSERT INTO holdfast.run_log (run_id, at, facts, data)
      SELECT '01J' || lpad(i::text, 23, '0'), now(), 'STALLED 0 0 x', repeat('x', 300) FROM generate_series(1, 40000) i`;
    await bench.another().touchConnections("a gateway", 60_000);
    const start = await bench.store.logEnd();
    const run = await seedLeased(bench.store);
    for (const plan of PLANS) {
      const { pages, result } = await pagesRead(sql, plan, ({ query }) => {
        const options = { timers: systemTimers, monotonicMs: () => systemClock.monotonicMs() };
        return changesOf({ query, options }).readChanges({ after: start, scope: ALL, limit: 100 });
      });
      expect(result.changes.map(({ runId }) => runId)).toEqual([run.runId]);
      expect(pages).toBeLessThan(150);
    }
    await sql`DELETE FROM holdfast.run_log WHERE facts = 'STALLED 0 0 x'`;
  });
});
