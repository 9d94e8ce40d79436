import { expect, test } from "vitest";
import { applyRow } from "../../src/engine/run/fold.ts";
import { jsonRow, runCreatedRow, stepCompletedRow } from "../../src/engine/run/log-rows.ts";
import { Runs } from "../../src/engine/runs.ts";
import type { LogRow, Store, StoredRun } from "../../src/store/index.ts";

const RUN = "run-1";
const done = (step: string): LogRow => stepCompletedRow(step, { op: "StepRun" }, '"done"');

/** One run in a store whose answers come when the test says so. */
function bench() {
  const rows: LogRow[] = [
    runCreatedRow({ maxAttempts: 3 }, '{"id":"e1","name":"shop/order","data":{}}'),
    jsonRow("DISPATCHED", "", 0, 1, { job: "job-1", kind: "pass" }),
  ];
  let version = 1;
  const reads: (() => void)[] = [];
  const read = (): StoredRun =>
    ({
      head: { id: RUN, functionId: "shop-order", appId: "shop", appVersion: "1", version },
      log: rows.map((row, index) => ({ ...row, seq: index, atMs: 1000, headVersion: null, headStatus: null })),
    }) as unknown as StoredRun;
  const loadRuns = (): Promise<StoredRun[]> => {
    const found = read();
    return new Promise((resolve) => reads.push(() => resolve([found])));
  };
  const runs = new Runs({ loadRuns } as unknown as Store);
  runs.retain(RUN);
  return {
    runs,
    reads,
    read,
    /** Another gateway decides. */
    decided: () => {
      version += 1;
    },
    /** Rows that come without a new version: from this gateway, or from another one. */
    added: (row: LogRow, here: boolean) => {
      rows.push(row);
      if (!here) return;
      runs.added(RUN);
      const state = runs.peek(RUN);
      if (state) applyRow(state, row, 1000);
    },
    memo: () => [...(runs.peek(RUN)?.memo.keys() ?? [])],
  };
}

test("what a claim read before a checkpoint was stored does not take the place of what is known since", async () => {
  const { runs, reads, read, decided, added, memo } = bench();
  runs.offer(read(), runs.mark, true);
  decided();
  const { mark } = runs;
  const claimed = read();
  added(done("a"), true);
  runs.offer(claimed, mark, false);
  expect(memo()).toEqual(["a"]);
  // By its version the state is still an old one: the next decision reads the store, and finds all.
  expect(runs.peek(RUN)?.version).toBe(1);
  runs.forget(RUN);
  const loading = runs.load(RUN);
  reads.shift()?.();
  expect([...((await loading)?.memo.keys() ?? [])]).toEqual(["a"]);
});

test("a state that was read while a checkpoint was stored is read again", async () => {
  const { runs, reads, added, memo } = bench();
  const loading = runs.load(RUN);
  added(done("a"), true);
  reads.shift()?.();
  await expect.poll(() => reads.length).toBe(1);
  expect(memo()).toEqual([]);
  reads.shift()?.();
  await loading;
  expect(memo()).toEqual(["a"]);
});

test("work that another gateway lost goes on from what it had stored, though the version is the one that is here", () => {
  const { runs, read, added } = bench();
  runs.offer(read(), runs.mark, true);
  added(done("a"), false);
  const state = runs.offer(read(), runs.mark, true);
  expect([...(state?.memo.keys() ?? [])]).toEqual(["a"]);
});
