import { jsonRow, type RunState, runCreatedRow, stepCompletedRow } from "@holdfast/engine";
import type { CommitOutcome, LogRow, Store, StoredRun, Transition } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { DatabaseTime } from "../../src/dispatch/database-time.ts";

import { type DecidedTransition, RunCache } from "../../src/dispatch/run-cache.ts";

const RUN = "run-1";
const done = (step: string): LogRow => stepCompletedRow(step, { op: "StepRun" }, '"done"');

/** Rejects as the store does. */
const add = (runs: RunCache, row: LogRow, raisesVersion: boolean): Promise<CommitOutcome> =>
  new Promise((resolve, reject) => {
    const ended = (outcome: CommitOutcome | null, error: unknown): void => (outcome ? resolve(outcome) : reject(error));
    runs.add(RUN, { fence: null, log: [row], raisesVersion }, ended);
  });

/** One run in a store whose answers come when the test says so. */
function bench() {
  const rows: LogRow[] = [
    runCreatedRow({ maxAttempts: 3 }, '{"id":"e1","name":"shop/order","data":{}}'),
    jsonRow("DISPATCHED", "", 0, 1, { job: "job-1", kind: "pass" }),
  ];
  let version = 1;
  const reads: ((error?: Error) => void)[] = [];
  const read = (): StoredRun =>
    ({
      head: { id: RUN, functionId: "shop-order", appId: "shop", appVersion: "1", version },
      log: rows.map((row, index) => ({ ...row, seq: index, atMs: 1000, headVersion: null, headStatus: null })),
    }) as unknown as StoredRun;
  const loadRuns = (): Promise<StoredRun[]> => {
    const found = read();
    return new Promise((resolve, reject) => reads.push((error) => (error ? reject(error) : resolve([found]))));
  };
  let inserted = true;
  /** Rows as the store takes them; those of a decision raise the version. */
  const commit = ({ cas, log, seen }: Transition): Promise<CommitOutcome> => {
    if (typeof cas === "number" && cas !== version) return Promise.resolve({ won: false, why: "version" });
    const newer = seen === undefined ? [] : rows.flatMap((_, seq) => (seq > seen ? [seq] : []));
    if (inserted) rows.push(...log);
    if (cas !== null) version += 1;
    const news = log.map(() => inserted);
    return Promise.resolve({
      won: true,
      inserted: news,
      seq: inserted ? rows.length - 1 : null,
      newer,
      version: cas === null ? null : version,
      atMs: 1000,
      awaited: [],
    });
  };
  const runs = new RunCache({ loadRuns, commit } as unknown as Store, new DatabaseTime(fakeClock()));
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
    added: async (row: LogRow, here: boolean) => {
      if (here) await add(runs, row, false);
      else rows.push(row);
    },
    /** From now on the store has all rows already. */
    repeats: () => {
      inserted = false;
    },
    memo: () => [...(runs.peek(RUN)?.memo.keys() ?? [])],
  };
}

test("a state read by a claim before a checkpoint does not replace the newer cached state", async () => {
  const { runs, reads, read, decided, added, memo } = bench();
  runs.mergeClaimed(read(), runs.mark, true);
  decided();
  const { mark } = runs;
  const claimed = read();
  await added(done("a"), true);
  runs.mergeClaimed(claimed, mark, false);
  expect(memo()).toEqual(["a"]);
  // By its version the state is still an old one: the next decision reads the store, and finds all.
  expect(runs.peek(RUN)?.version).toBe(1);
  runs.forget(RUN);
  const loading = runs.load(RUN);
  await expect.poll(() => reads.length).toBe(1);
  reads.shift()?.();
  expect([...((await loading)?.memo.keys() ?? [])]).toEqual(["a"]);
});

test("a state read while a checkpoint was being stored is read again", async () => {
  const { runs, reads, added, memo } = bench();
  const loading = runs.load(RUN);
  await expect.poll(() => reads.length).toBe(1);
  await added(done("a"), true);
  reads.shift()?.();
  await expect.poll(() => reads.length).toBe(1);
  expect(memo()).toEqual([]);
  reads.shift()?.();
  await loading;
  expect(memo()).toEqual(["a"]);
});

test("work that another gateway lost continues from the stored state, even if the cached version is equal", async () => {
  const { runs, read, added } = bench();
  runs.mergeClaimed(read(), runs.mark, true);
  await added(done("a"), false);
  const state = runs.mergeClaimed(read(), runs.mark, true);
  expect([...(state?.memo.keys() ?? [])]).toEqual(["a"]);
});

const COMPLETED: DecidedTransition = {
  fence: null,
  log: [done("b")],
  head: { status: "RUNNING" },
  removeJobs: [],
  addJobs: [],
};

test("CACHE-1: the cached state after a decision equals the stored one", async () => {
  const { runs, read, memo } = bench();
  const state = runs.mergeClaimed(read(), runs.mark, true) as RunState;
  expect(await runs.commit(state, COMPLETED)).toMatchObject({ outcome: { won: true, version: 2 } });
  expect(memo()).toEqual(["b"]);
  expect(runs.peek(RUN)?.version).toBe(2);
  expect(runs.peek(RUN)?.version).toBe(read().head.version);
});

test("CACHE-2: a decision that lost leaves neither state nor rows behind", async () => {
  const { runs, read, decided, memo } = bench();
  const state = runs.mergeClaimed(read(), runs.mark, true) as RunState;
  decided();
  expect((await runs.commit(state, COMPLETED)).outcome).toEqual({ won: false, why: "version" });
  expect(runs.peek(RUN)).toBeNull();
  expect(memo()).toEqual([]);
});

test("CACHE-3: rows of an undoable step raise the version in the cache as in the store", async () => {
  const { runs, read } = bench();
  runs.mergeClaimed(read(), runs.mark, true);
  await add(runs, done("a"), true);
  expect(runs.peek(RUN)?.version).toBe(2);
  expect(read().head.version).toBe(2);
});

test("a run is read again when the store already had one of the rows", async () => {
  const { runs, reads, read, added, repeats, memo } = bench();
  runs.mergeClaimed(read(), runs.mark, true);
  await added(done("a"), false);
  repeats();
  const adding = added(done("a"), true);
  await expect.poll(() => reads.length).toBe(1);
  expect(memo()).toEqual([]);
  reads.shift()?.();
  await adding;
  expect(memo()).toEqual(["a"]);
});

test("CACHE-4: a state that lacks what another gateway added is read again after its next write, and only then", async () => {
  const { runs, reads, read, added, memo } = bench();
  runs.mergeClaimed(read(), runs.mark, true);
  await added(done("a"), true);
  await Promise.all([added(done("b"), true), added(done("c"), true)]);
  expect([reads.length, memo()]).toEqual([0, ["a", "b", "c"]]);
  await added(done("elsewhere"), false);
  const adding = added(done("d"), true);
  await expect.poll(() => reads.length).toBe(1);
  reads[0]?.();
  await adding;
  expect(memo()).toEqual(["a", "b", "c", "elsewhere", "d"]);

  await added(done("again"), false);
  const state = runs.peek(RUN) as RunState;
  expect([...state.memo.keys()]).not.toContain("again");
  const committing = runs.commit(state, COMPLETED);
  await expect.poll(() => reads.length).toBe(2);
  reads[1]?.();
  const { outcome, state: stored } = await committing;
  expect(outcome).toMatchObject({ won: true });
  expect([...stored.memo.keys()]).toEqual(["a", "b", "c", "elsewhere", "d", "again"]);
  expect(runs.peek(RUN)).toBe(stored);
});

test("CACHE-4: what was being read when a decision was stored is not what a request is made of", async () => {
  const { runs, reads, read, added } = bench();
  const state = runs.mergeClaimed(read(), runs.mark, true) as RunState;
  await added(done("elsewhere"), false);
  runs.forget(RUN);
  const loading = runs.load(RUN);
  await expect.poll(() => reads.length).toBe(1);
  // The decision was made before, and is stored before the answer to the read comes.
  const committing = runs.commit(state, COMPLETED);
  await expect.poll(() => reads.length).toBe(2);
  reads[0]?.();
  reads[1]?.();
  await expect.poll(() => reads.length).toBe(3);
  reads[2]?.();
  expect([...((await committing).state.memo.keys() ?? [])]).toEqual(["elsewhere", "b"]);
  expect((await loading)?.version).toBe(2);
});

test("CACHE-4: where the rest cannot be read, it is not known what became of the decision", async () => {
  const { runs, reads, read, added } = bench();
  const state = runs.mergeClaimed(read(), runs.mark, true) as RunState;
  await added(done("elsewhere"), false);
  const committing = runs.commit(state, COMPLETED);
  committing.catch(() => {});
  await expect.poll(() => reads.length).toBe(1);
  reads[0]?.(new Error("the database is away"));
  await expect(committing).rejects.toThrow("the database is away");
  expect(runs.peek(RUN)).toBeNull();
});

test("what was read before its state was forgotten is not taken for work", () => {
  const { runs, read } = bench();
  const { mark } = runs;
  const claimed = read();
  runs.forget(RUN);
  expect(runs.mergeClaimed(claimed, mark, true)).toBeNull();
});

test("CACHE-5: a run that nothing is busy with is still known when it is wanted again", async () => {
  const { runs, reads, read, memo } = bench();
  const state = runs.mergeClaimed(read(), runs.mark, true) as RunState;
  await runs.commit(state, COMPLETED);
  runs.release(RUN);
  expect([runs.size, runs.peek(RUN)]).toEqual([0, null]);
  runs.retain(RUN);
  expect([runs.size, memo()]).toEqual([1, ["b"]]);
  expect(await runs.load(RUN)).toBe(state);
  expect(reads).toHaveLength(0);
});

test("CACHE-5: a run that has ended is not kept", async () => {
  const { runs, read } = bench();
  const state = runs.mergeClaimed(read(), runs.mark, true) as RunState;
  const log = [jsonRow("RUN_COMPLETED", "", 0, 1, { output: null })];
  await runs.commit(state, { ...COMPLETED, log, head: { status: "COMPLETED" } });
  expect(runs.peek(RUN)?.status).toBe("COMPLETED");
  runs.release(RUN);
  runs.retain(RUN);
  expect(runs.peek(RUN)).toBeNull();
});

test.each([
  ["forget", (runs: RunCache) => runs.forget(RUN)],
  ["forgetAll", (runs: RunCache) => runs.forgetAll()],
])("CACHE-5: %s reaches runs that nothing is busy with", (_, forget) => {
  const { runs, read } = bench();
  runs.mergeClaimed(read(), runs.mark, true);
  runs.release(RUN);
  forget(runs);
  runs.retain(RUN);
  expect(runs.peek(RUN)).toBeNull();
});

test("CACHE-5: a decision on a state that another gateway has gone beyond meanwhile is lost", async () => {
  const { runs, read, decided } = bench();
  const state = runs.mergeClaimed(read(), runs.mark, true) as RunState;
  runs.release(RUN);
  decided();
  runs.retain(RUN);
  expect(runs.peek(RUN)).toBe(state);
  expect((await runs.commit(state, COMPLETED)).outcome).toEqual({ won: false, why: "version" });
  expect(runs.peek(RUN)).toBeNull();
});

test("CACHE-5: what was read before rows were added is not taken for work, also when the run was let go in between", async () => {
  const { runs, read, added } = bench();
  runs.mergeClaimed(read(), runs.mark, true);
  const { mark } = runs;
  const claimed = read();
  await added(done("a"), true);
  runs.release(RUN);
  runs.retain(RUN);
  expect(runs.mergeClaimed(claimed, mark, true)).toBeNull();
});

/** The run sleeps; `more` is what else it has begun. */
function sleepingBench(...more: readonly LogRow[]) {
  const made = bench();
  const job = (id: string, kind: string, key: string, iteration: number): LogRow =>
    jsonRow("DISPATCHED", key, 0, iteration, { job: id, kind });
  const rows = [
    jsonRow("STEP_WAITING", "a", 0, 0, { op: "Sleep", delayMs: 1000 }),
    job("timer-a", "timer", "a", 2),
    jsonRow("PASS_REPORTED", "", 0, 1, {}),
    ...more,
  ];
  const stored = made.read();
  const last = stored.log.at(-1);
  const log = [...stored.log, ...rows.map((row, index) => ({ ...last!, ...row, seq: stored.log.length + index }))];
  made.runs.mergeClaimed({ ...stored, log }, made.runs.mark, false);
  return { ...made, waitsFor: (id: string) => made.runs.waitsForTimer({ id, runId: RUN }) };
}

test("a run that waits for one timer alone is known to wait for it, also while nothing uses it", () => {
  const { runs, waitsFor } = sleepingBench(
    jsonRow("DISPATCHED", "holdfast/deadline", 0, 3, { job: "deadline", kind: "timer" }),
  );
  expect(waitsFor("timer-a")).toBe(true);
  // Made by a decision that is not known here, so that the run has to be read.
  expect(waitsFor("timer-b")).toBe(false);
  runs.release(RUN);
  expect(runs.size).toBe(0);
  expect(waitsFor("timer-a")).toBe(true);
  expect(runs.size).toBe(0);
  runs.forget(RUN);
  expect(waitsFor("timer-a")).toBe(false);
});

test.each([
  ["a pass", jsonRow("DISPATCHED", "", 0, 3, { job: "job-2", kind: "pass" })],
  ["another timer", jsonRow("DISPATCHED", "b", 0, 3, { job: "timer-b", kind: "timer" })],
])("a run with %s besides may have gone on elsewhere", (_, row) => {
  expect(sleepingBench(row).waitsFor("timer-a")).toBe(false);
});
