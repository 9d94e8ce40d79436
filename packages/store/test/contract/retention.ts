import { describe, expect, it } from "vitest";
import type { NewWait, Retention, RetentionPolicy, Transition } from "../../src/index.ts";
import {
  type ContractBench,
  claimOne,
  logRow,
  newId,
  runDone,
  type SeededRun,
  seedLeased,
  seedRun,
} from "./harness.ts";

const DAY_MS = 86_400_000;
const NO_FUNCTIONS: ReadonlyMap<string, Retention> = new Map();

const runFailed = (run: SeededRun): Transition => ({
  ...runDone(run),
  log: [logRow("RUN_FAILED", "", { dataJson: '{"error":{"message":"no"}}' })],
  head: { status: "FAILED", errorJson: '{"message":"no"}' },
});

/** A policy in days. */
const days = (completed: number | null, failed: number | null, functions = NO_FUNCTIONS): RetentionPolicy => ({
  completedMs: completed === null ? null : completed * DAY_MS,
  failedMs: failed === null ? null : failed * DAY_MS,
  functions,
});

/** Stores with virtual time, whose partitions are short. */
export function retentionContract(bench: ContractBench): void {
  const isThere = async (runId: string): Promise<boolean> => (await bench.store.getRun(runId)) !== null;

  /** Until the store is done; it may remove late. */
  const prune = async (policy: RetentionPolicy): Promise<void> => {
    await bench.store.touchConnections("gateway-a", 60_000);
    await expect
      .poll(async () => (await bench.store.prune(policy, { sinceMs: await bench.store.nowMs() })).state, {
        timeout: 100_000,
      })
      .toBe("done");
  };
  const pruneUntilGone = async (policy: RetentionPolicy, runId: string): Promise<void> => {
    await expect
      .poll(
        async () => {
          await prune(policy);
          return isThere(runId);
        },
        { timeout: 100_000 },
      )
      .toBe(false);
  };

  const eventOf = async (runId: string): Promise<string> => (await bench.store.getRun(runId))?.head.eventId ?? "";

  const done = async (functionId?: string): Promise<string> => {
    const run = await seedLeased(bench.store, functionId);
    expect(await bench.store.commit(runDone(run))).toMatchObject({ won: true });
    return run.runId;
  };
  const failed = async (functionId?: string): Promise<string> => {
    const run = await seedLeased(bench.store, functionId);
    expect(await bench.store.commit(runFailed(run))).toMatchObject({ won: true });
    return run.runId;
  };

  describe("Retention", () => {
    it("RETAIN-1: what ended longer ago than it is to be kept goes with its log and event, nothing else does", async () => {
      const [completed, broken, living] = [await done(), await failed(), await seedLeased(bench.store)];
      const event = await eventOf(completed);
      await bench.store.skipTime(2 * DAY_MS);
      const fresh = await done();
      await pruneUntilGone(days(1, 30), completed);
      expect(await bench.store.loadRuns([completed])).toEqual([]);
      expect(await bench.store.getEvent(event)).toBeNull();
      expect((await bench.store.listRuns({ limit: 100 })).runs.map(({ id }) => id)).not.toContain(completed);
      for (const id of [broken, living.runId, fresh]) {
        expect(await isThere(id)).toBe(true);
        expect(await bench.store.getEvent(await eventOf(id))).not.toBeNull();
      }
      // It goes on with all it had.
      expect((await bench.store.loadRuns([living.runId]))[0]?.log).toHaveLength(2);
      expect(await bench.store.commit(runDone(living))).toMatchObject({ won: true, version: 2 });
      await bench.store.skipTime(29 * DAY_MS);
      await pruneUntilGone(days(1, 30), broken);
      await pruneUntilGone(days(1, 30), living.runId);
    });

    it("RETAIN-2: a function's own periods count for its runs; null keeps them without end", async () => {
      const [short, long, others] = [await done("keeps-short"), await done("keeps-long"), await done()];
      await bench.store.skipTime(10 * DAY_MS);
      const functions = new Map([
        ["keeps-short", { completedMs: DAY_MS, failedMs: null }],
        ["keeps-long", { completedMs: null, failedMs: DAY_MS }],
      ]);
      await pruneUntilGone(days(20, 20, functions), short);
      expect(await isThere(others)).toBe(true);
      await pruneUntilGone(days(1, 1, functions), others);
      expect(await isThere(long)).toBe(true);
      await prune(days(null, null));
      expect(await isThere(long)).toBe(true);
      await pruneUntilGone(days(1, 1), long);
    });

    it("RETAIN-3: a run on hold stays until it is released; without a run there is no hold", async () => {
      const [held, other] = [await done(), await done()];
      const hold = await bench.store.holdRun(held, "audit 17");
      expect(hold).toMatchObject({ reason: "audit 17" });
      expect(await bench.store.holdRun(held, "audit 18")).toEqual({ ...hold, reason: "audit 18" });
      expect(await bench.store.holdRun(newId(), "none")).toBeNull();
      await bench.store.skipTime(10 * DAY_MS);
      await pruneUntilGone(days(1, 1), other);
      expect((await bench.store.getRun(held))?.hold).toMatchObject({ reason: "audit 18" });
      expect(await bench.store.getEvent(await eventOf(held))).not.toBeNull();
      expect(await bench.store.releaseHold(held)).toBe(true);
      expect(await bench.store.releaseHold(held)).toBe(false);
      await pruneUntilGone(days(1, 1), held);
    });

    it("RETAIN-4: what a job or a run that waits still needs stays: ended children and events that are not told yet", async () => {
      const [parent, child, other] = [await seedLeased(bench.store), await seedRun(bench.store), await done()];
      const wait: NewWait = { runId: parent.runId, key: "w", kind: "invoke", name: child.runId };
      const event = { id: newId(), name: "retained/awaited", tsMs: 1, payloadJson: "{}" };
      const waitForEvent: NewWait = { runId: parent.runId, key: "e", kind: "event", name: event.name };
      expect(
        await bench.store.commit({
          runId: parent.runId,
          fence: null,
          cas: 1,
          log: [logRow("STEP_WAITING", "w")],
          head: { status: "WAITING" },
          removeJobs: [],
          addJobs: [],
          addWaits: [wait, waitForEvent],
        }),
      ).toMatchObject({ won: true });
      await bench.store.intake([{ event, runs: [] }]);
      expect(await bench.store.commit({ ...runDone(child, "live"), fence: null })).toMatchObject({ won: true });
      await bench.store.skipTime(10 * DAY_MS);
      await pruneUntilGone(days(1, 1), other);
      expect(await isThere(child.runId)).toBe(true);
      expect(await bench.store.getEvent(event.id)).not.toBeNull();
      const told = await claimOne(bench.store, "");
      expect(told).toMatchObject({ kind: "event", key: event.id });
      expect(await bench.store.finishJob({ jobId: told?.id ?? "", epoch: told?.epoch ?? 0 })).toBe(true);
      expect(await bench.store.commit({ ...runDone(parent, 2), fence: null, removeWaits: "all" })).toMatchObject({
        won: true,
      });
      await pruneUntilGone(days(1, 1), child.runId);
      expect(await isThere(parent.runId)).toBe(true);
      await expect
        .poll(
          async () => {
            await prune(days(1, 1));
            return bench.store.getEvent(event.id);
          },
          { timeout: 100_000 },
        )
        .toBeNull();
      await bench.store.skipTime(2 * DAY_MS);
      await pruneUntilGone(days(1, 1), parent.runId);
    });

    it("RETAIN-5: stores that prune at the same time, while runs begin and end, lose none that is to stay", async () => {
      const olds = await Promise.all(Array.from({ length: 30 }, () => done()));
      await bench.store.skipTime(10 * DAY_MS);
      const another = bench.another();
      let over = false;
      const work = (async () => {
        const ids: string[] = [];
        while (!over) ids.push(await done(), (await seedLeased(bench.store)).runId);
        return ids;
      })();
      const beside = (async () => {
        while (!over) await another.prune(days(1, 1), { sinceMs: await bench.store.nowMs() });
      })();
      await pruneUntilGone(days(1, 1), olds.at(-1) ?? "");
      over = true;
      await beside;
      for (const id of await work) expect(await isThere(id)).toBe(true);
      for (const id of olds) await pruneUntilGone(days(1, 1), id);
    });

    it("what would go is counted before it does, and tables say how large they are", async () => {
      const gone = [await done(), await done()];
      await bench.store.skipTime(3 * DAY_MS);
      const stays = await done();
      await expect
        .poll(async () => (await bench.store.previewPrune(days(1, 1))).runs, { timeout: 100_000 })
        .toBeGreaterThanOrEqual(2);
      const preview = await bench.store.previewPrune(days(1, 1));
      expect(preview.oldestRunMs).toBeLessThanOrEqual((await bench.store.getRun(stays))?.head.createdMs ?? 0);
      expect(await bench.store.previewPrune(days(1, 1), "elsewhere")).toMatchObject({ runs: 0, events: 0 });
      // All runs are of the default environment. Between two questions more of earlier tests' runs may get old enough.
      const whatTheDefaultLacks = async (): Promise<number> => {
        const all = await bench.store.previewPrune(days(1, 1));
        return all.runs - (await bench.store.previewPrune(days(1, 1), "")).runs;
      };
      await expect.poll(whatTheDefaultLacks).toBe(0);
      for (const id of gone) expect(await isThere(id)).toBe(true);
      const tables = await bench.store.tableSizes();
      expect(tables.map(({ table }) => table)).toEqual(expect.arrayContaining(["events", "queue", "run_log", "runs"]));
      for (const id of gone) await pruneUntilGone(days(1, 1), id);
      await expect
        .poll(
          async () => {
            await prune(days(1, 1));
            return (await bench.store.previewPrune(days(1, 1))).runs;
          },
          { timeout: 100_000 },
        )
        .toBe(0);
    });
  });
}
