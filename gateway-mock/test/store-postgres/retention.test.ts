import { randomUUID } from "node:crypto";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { openPruner } from "../../src/store-postgres/retention/prune.ts";
import { logRow, runDone, type SeededRun, seedLeased, stepDone } from "./harness.ts";
import {
  AT_ONCE,
  bench,
  expectPruned,
  leftBehind,
  NO_FUNCTIONS,
  one,
  openOwn,
  partitionsOf,
  placeOf,
  pruneAll,
  seed,
  untilOver,
  WIDTH_MS,
} from "./old-runs.ts";

test("what is written to a partition while it is copied is in the copy: rows, heads, holds, deletions, runs that go on", async () => {
  const seeded = await seed();
  const [revived = "", heldLate = "", deleted = ""] = [seeded.failed, seeded.gone[0], seeded.held];
  await untilOver([...seeded.gone, seeded.living.runId, revived, deleted]);
  const database = openOwn();
  const steps: string[] = [];
  const pruner = openPruner(
    {
      ...database,
      attempt: async (text, params) => {
        const rows = await database.attempt(text, params);
        if (text.includes("catch_up_rewrite") && !steps.includes("written")) {
          steps.push("written");
          // After the copy and its last changes, before it takes the partition's place.
          expect(await bench.store.commit(stepDone(seeded.living, "late"))).toMatchObject({ won: true });
          const revival = { ...runDone({ runId: revived, jobId: "" }, 2), fence: null, revives: true } as const;
          const goesOn = {
            ...revival,
            log: [logRow("RUN_REVIVED")],
            head: { status: "RUNNING" },
            removeJobs: [],
            addJobs: [
              { id: randomUUID(), runId: revived, kind: "pass", key: "", functionId: "f", attempt: 0, iteration: 0 },
            ],
          } as const;
          expect(await bench.store.commit(goesOn)).toMatchObject({ won: true });
          expect(await bench.store.holdRun(heldLate, "late")).not.toBeNull();
          await bench.store.releaseHold(deleted);
          await bench.db.sql.unsafe(`DELETE FROM holdfast.run_log WHERE run_id = '${deleted}'`);
          await bench.db.sql.unsafe(`DELETE FROM holdfast.runs WHERE id = '${deleted}'`);
        }
        return rows as never;
      },
    },
    WIDTH_MS,
  );
  await pruneAll(pruner);
  await database.close();
  expect(steps).toEqual(["written"]);
  const left = new Map(
    (await bench.store.loadRuns([...seeded.gone, seeded.living.runId, revived, deleted])).map((run) => [
      run.head.id,
      run,
    ]),
  );
  expect([...left.keys()].sort()).toEqual([seeded.living.runId, revived, heldLate].sort());
  expect(left.get(seeded.living.runId)?.log.map(({ key }) => key)).toContain("late");
  expect(left.get(revived)).toMatchObject({ head: { status: "RUNNING", version: 3 } });
  expect(left.get(revived)?.log.at(-1)?.kind).toBe("RUN_REVIVED");
  expect(await bench.store.commit({ ...runDone({ runId: revived, jobId: "" }, 3), fence: null })).toMatchObject({
    won: true,
  });
  expect(await bench.store.commit(runDone(seeded.living, "live"))).toMatchObject({ won: true });
  expect(await leftBehind()).toBe("0");
});

test("beside a long transaction a prune gives up at once without blocking others, and finishes later", async () => {
  const seeded = await seed();
  await untilOver([...seeded.gone, seeded.living.runId, seeded.failed, seeded.held]);
  await bench.db.sql.begin(async (tx) => {
    await tx.unsafe("SELECT FROM holdfast.runs LIMIT 1");
    expect(await bench.store.prune(AT_ONCE, { sinceMs: await bench.store.nowMs() })).toMatchObject({
      state: "blocked",
    });
    // Everybody else goes on, before and while it waits for its locks.
    const pruning = bench.store.prune(AT_ONCE, { sinceMs: await bench.store.nowMs() });
    const run = await seedLeased(bench.store);
    expect(await bench.store.commit(runDone(run))).toMatchObject({ won: true });
    expect(await pruning).toMatchObject({ state: "blocked" });
    expect(await bench.store.loadRuns(seeded.gone)).toHaveLength(5);
  });
  await pruneAll(bench.store);
  await expectPruned(seeded);
  expect(await leftBehind()).toBe("0");
});

test("a policy that changes while a partition is copied counts from then on", async () => {
  const seeded = await seed();
  await untilOver([...seeded.gone, seeded.living.runId, seeded.failed, seeded.held]);
  await bench.db.sql.begin(async (tx) => {
    await tx.unsafe("SELECT FROM holdfast.runs LIMIT 1");
    expect(await bench.store.prune(AT_ONCE, { sinceMs: await bench.store.nowMs() })).toMatchObject({
      state: "blocked",
    });
  });
  expect(Number(await leftBehind())).toBeGreaterThan(0);
  const never = { completedMs: null, failedMs: null, functions: NO_FUNCTIONS };
  // Another gateway may be at it, with options of its own.
  expect(await bench.store.prune(never, { sinceMs: await bench.store.nowMs() })).toMatchObject({ state: "busy" });
  await bench.db.sql.unsafe("UPDATE holdfast.table_rewrites SET touched_at = touched_at - interval '1 hour'");
  await pruneAll(bench.store, never);
  expect(await bench.store.loadRuns(seeded.gone)).toHaveLength(5);
  expect(await leftBehind()).toBe("0");
  await pruneAll(bench.store);
  await expectPruned(seeded);
});

test("what stays of many partitions ends up in one, and nothing stays of empty ones", async () => {
  const living: SeededRun[] = [];
  for (let n = 0; n < 3; n += 1) {
    await bench.store.touchConnections("gateway-a", 60_000);
    living.push(await seedLeased(bench.store));
    const run = await seedLeased(bench.store);
    await bench.store.commit(runDone(run));
    await untilOver([living.at(-1)?.runId ?? "", run.runId]);
    await pruneAll(bench.store);
  }
  for (const table of ["runs", "run_log"]) {
    const old = (await partitionsOf(table)).filter(({ is_over: isOver }) => isOver);
    expect(old.length).toBeLessThanOrEqual(3);
  }
  const places = new Set(await Promise.all(living.map(({ runId }) => placeOf(runId))));
  expect(places.size).toBe(1);
  for (const run of living) expect(await bench.store.commit(runDone(run))).toMatchObject({ won: true });
  await pruneAll(bench.store);
  expect(await bench.store.loadRuns(living.map(({ runId }) => runId))).toEqual([]);
});

test("ids of wrong clocks are in the partition of the rest, and go from there", async () => {
  const run = await seedLeased(bench.store);
  await bench.store.commit(runDone(run));
  const late = `7ZZZZZZZZZ${run.runId.slice(10)}`;
  await bench.db.sql.unsafe(`UPDATE holdfast.runs SET id = '${late}' WHERE id = '${run.runId}'`);
  await bench.db.sql.unsafe(`UPDATE holdfast.run_log SET run_id = '${late}' WHERE run_id = '${run.runId}'`);
  expect(await placeOf(late)).toBe("runs_rest");
  await bench.store.prune({ ...AT_ONCE, completedMs: 3_600_000 }, { sinceMs: await bench.store.nowMs() });
  expect(await bench.store.loadRuns([late])).toHaveLength(1);
  await waitFor(
    async () => {
      await bench.store.prune(AT_ONCE, { sinceMs: await bench.store.nowMs() });
      return (await bench.store.loadRuns([late])).length === 0;
    },
    { what: "it to go" },
  );
  expect(await one(`SELECT count(*) FROM holdfast.run_log WHERE run_id = '${late}'`)).toBe("0");
});
