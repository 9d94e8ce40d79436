/** The contract's part about what becomes visible of the logs, and where a reader goes on. */
import { describe, expect, it } from "vitest";
import type { ChangeScope, LogChange, Store } from "../../src/index.ts";
import { type ContractBench, runDone, seedLeased, seedRun, stepDone } from "./harness.ts";

const ALL: ChangeScope = { runIds: [], functionIds: null };

/** Every row from `after` to the end, in pages. */
export async function readAll(
  store: Store,
  after: string,
  scope: ChangeScope,
  { limit = 1000, until }: { readonly limit?: number; readonly until?: string } = {},
): Promise<{ readonly changes: readonly LogChange[]; readonly position: string }> {
  const changes: LogChange[] = [];
  for (let position = after; ; ) {
    const page = await store.readChanges({ after: position, scope, limit, ...(until === undefined ? {} : { until }) });
    expect(page.isTooOld).toBe(false);
    expect(page.changes.length).toBeLessThanOrEqual(limit);
    changes.push(...page.changes);
    position = page.position;
    if (page.isEnd) return { changes, position };
  }
}

const kindsOf = (changes: readonly LogChange[]): string[] =>
  changes.flatMap(({ facts }) => facts.map(({ kind }) => kind));
const keyOf = ({ runId, seq }: LogChange): string => `${runId} ${seq}`;

export function changesContract(bench: ContractBench): void {
  describe("Changes of logs", () => {
    it("a reader gets each row once, in the order of each run, and nothing that was there before", async () => {
      const before = await seedLeased(bench.store, "followed");
      const start = await bench.store.logEnd();
      const run = await seedLeased(bench.store, "followed");
      await bench.store.commit(stepDone(run, "a"));
      const first = await readAll(bench.store, start, ALL);
      expect(kindsOf(first.changes)).toEqual(["RUN_CREATED", "DISPATCHED", "STEP_COMPLETED"]);
      expect(first.changes.map(({ functionId }) => functionId)).toEqual(["followed", "followed"]);
      await bench.store.commit(stepDone(before, "b"));
      await bench.store.commit(runDone(run));
      const second = await readAll(bench.store, first.position, ALL);
      expect(second.changes.map(({ runId, status }) => [runId, status])).toEqual([
        [before.runId, null],
        [run.runId, "COMPLETED"],
      ]);
      expect(second.changes[0]?.facts[0]).toMatchObject({ key: "b", dataJson: '{"data":1}' });
      expect((await readAll(bench.store, second.position, ALL)).changes).toEqual([]);
    });

    it("pages of any size come to the same rows, and so does going on after any row at another gateway", async () => {
      const start = await bench.store.logEnd();
      const runs = await Promise.all(Array.from({ length: 5 }, () => seedLeased(bench.store, "paged")));
      await Promise.all(runs.flatMap((run) => ["a", "b", "c"].map((key) => bench.store.commit(stepDone(run, key)))));
      const { changes } = await readAll(bench.store, start, ALL);
      const keys = changes.map(keyOf);
      expect(new Set(keys).size).toBe(20);
      expect((await readAll(bench.store, start, ALL, { limit: 3 })).changes.map(keyOf)).toEqual(keys);
      const other = bench.another();
      for (const [index, change] of changes.entries()) {
        const rest = await readAll(other, change.position, ALL, { limit: 7 });
        expect(rest.changes.map(keyOf)).toEqual(keys.slice(index + 1));
      }
    });

    it("what is read up to a position and after it is everything, wherever in a page that is", async () => {
      const start = await bench.store.logEnd();
      const run = await seedLeased(bench.store, "bounded");
      for (const key of ["a", "b"]) await bench.store.commit(stepDone(run, key));
      const middle = await bench.store.logEnd();
      for (const key of ["c", "d", "e"]) await bench.store.commit(stepDone(run, key));
      const { changes, position } = await readAll(bench.store, start, ALL);
      const keys = changes.map(keyOf);
      for (const bound of [middle, position, ...changes.map((change) => change.position)]) {
        const upTo = await readAll(bench.store, start, ALL, { until: bound, limit: 2 });
        const rest = await readAll(bench.store, upTo.position, ALL);
        expect([...upTo.changes, ...rest.changes].map(keyOf)).toEqual(keys);
        expect((await readAll(bench.store, bound, ALL)).changes.map(keyOf)).toEqual(rest.changes.map(keyOf));
      }
      expect((await readAll(bench.store, start, ALL, { until: middle })).changes).toHaveLength(3);
    });

    it("a reader of some runs or functions gets their rows alone, of a run from its beginning on if it likes", async () => {
      const start = await bench.store.logEnd();
      const one = await seedLeased(bench.store, "chosen");
      const two = await seedLeased(bench.store, "not-chosen");
      const three = await seedLeased(bench.store, "not-chosen");
      for (const run of [one, two, three]) await bench.store.commit(stepDone(run, "a"));
      const of = async (scope: ChangeScope, from = start) =>
        new Set((await readAll(bench.store, from, scope)).changes.map(({ runId }) => runId));
      expect(await of({ runIds: [], functionIds: ["chosen"] })).toEqual(new Set([one.runId]));
      expect(await of({ runIds: [two.runId], functionIds: ["chosen"] })).toEqual(new Set([one.runId, two.runId]));
      expect(await of({ runIds: [two.runId, three.runId], functionIds: [] })).toEqual(
        new Set([two.runId, three.runId]),
      );
      const whole = await readAll(
        bench.store,
        bench.store.logStart,
        { runIds: [two.runId], functionIds: [] },
        { limit: 1 },
      );
      expect(kindsOf(whole.changes)).toEqual(["RUN_CREATED", "DISPATCHED", "STEP_COMPLETED"]);
    });

    it("data that is too large is left out, and what it belongs to is not", async () => {
      const run = await seedLeased(bench.store);
      const start = await bench.store.logEnd();
      await bench.store.commit(stepDone(run, "big", 1, JSON.stringify({ data: "x".repeat(17_000) })));
      const { changes } = await readAll(bench.store, start, ALL);
      expect(changes[0]?.facts[0]).toMatchObject({ kind: "STEP_COMPLETED", key: "big", dataJson: null });
    });

    it("a text that is no position is refused with a code", async () => {
      await seedRun(bench.store);
      for (const after of ["", "nonsense", "p1.5:4:.0", "p1.1:9223372036854775807:.0", "m1.zz.9.x", "p1.9:10:10,9.0"]) {
        const read = bench.store.readChanges({ after, scope: ALL, limit: 10 });
        await expect(read, after).rejects.toMatchObject({ code: "POSITION_INVALID" });
      }
    });
  });
}
