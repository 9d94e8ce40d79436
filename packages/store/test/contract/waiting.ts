/** The contract's part about what the reasons of open runs are read from. */
import { describe, expect, it } from "vitest";
import { type Lane, MAX_WAITING_FACT } from "../../src/index.ts";
import {
  type ContractBench,
  claimOne,
  logRow,
  newId,
  newRun,
  passJob,
  runDone,
  seedLeased,
  seedRun,
} from "./harness.ts";

const NOTHING_ASKED = { slots: [], throttles: [], ahead: [], functionIds: [] };

export function waitingContract(bench: ContractBench): void {
  const without = (text: string): string => text.repeat(MAX_WAITING_FACT);

  describe("Open runs", () => {
    it("runs that go on are read with their jobs, waits and the facts about what they wait for", async () => {
      const functionId = `open-${newId()}`;
      const [open, over] = [await seedRun(bench.store, { run: { functionId } }), await seedLeased(bench.store)];
      await bench.store.commit(runDone(over));
      await bench.store.commit({
        runId: open.runId,
        fence: null,
        cas: 1,
        log: [
          logRow("STEP_COMPLETED", "a", { dataJson: `{"data":"${without("x")}"}` }),
          logRow("STEP_WAITING", "s", { dataJson: '{"op":"WaitForEvent","name":"paid"}' }),
          logRow("STEP_ATTEMPT_FAILED", "b", { dataJson: `{"error":"${without("y")}"}` }),
        ],
        head: { status: "WAITING" },
        removeJobs: [],
        addJobs: [passJob(open.runId, { kind: "timer", key: "s", functionId: "", delayMs: 3_600_000 })],
        addWaits: [{ runId: open.runId, key: "s", kind: "event", name: "shop/paid", expiresInMs: 3_600_000 }],
      });
      const [run, ...more] = await bench.store.openRuns([over.runId, open.runId, newId(), open.runId]);
      expect(more).toEqual([]);
      expect(run).toMatchObject({
        head: { id: open.runId, status: "WAITING", endedMs: null },
        jobs: [
          {
            id: open.jobId,
            kind: "pass",
            priority: 0,
            slots: [],
            throttle: null,
            wantedVersion: null,
            isUnplaced: true,
          },
          { kind: "timer", key: "s" },
        ],
        waits: [{ key: "s", kind: "event", name: "shop/paid" }],
        facts: [
          { kind: "RUN_CREATED", dataJson: "{}" },
          { kind: "STEP_WAITING", key: "s", dataJson: '{"op":"WaitForEvent","name":"paid"}' },
          { kind: "STEP_ATTEMPT_FAILED", key: "b", dataJson: "{}" },
        ],
      });
      await bench.store.commit({ ...runDone(open, 2, 0), removeWaits: "all" });
    });

    it("what takes a place is told: how many, who for the longest time, and what comes first in the queue", async () => {
      const functionId = `places-${newId()}`;
      const lane: Lane = { id: newId().toLowerCase(), slots: [newId()], throttle: null };
      // One after the other, so that they are in line by time.
      const first = await seedRun(bench.store, { run: { functionId }, job: { lane } });
      const second = await seedRun(bench.store, { run: { functionId }, job: { lane } });
      const third = await seedRun(bench.store, { run: { functionId }, job: { lane } });
      const limits = { slots: [1], throttle: null, shared: false };
      const { jobs } = await bench.store.claimLimited({
        gatewayId: "gateway-a",
        wants: [{ functionId, limit: 5, leaseMs: 60_000, limits }],
      });
      expect(jobs).toHaveLength(1);
      const waiting = [first, second, third].filter(({ runId }) => runId !== jobs[0]?.runId);
      const ahead = waiting.map(({ jobId }) => jobId);
      const none = newId();
      expect(
        await bench.store.placesTaken({
          slots: [lane.slots[0] ?? "", none],
          throttles: [{ functionId, key: none }],
          ahead: [...ahead, none, jobs[0]?.id ?? ""],
          functionIds: [none],
        }),
      ).toEqual({
        slots: [
          { taken: 1, oldest: { runId: jobs[0]?.runId, claimedMs: expect.any(Number) } },
          { taken: 0, oldest: null },
        ],
        throttles: [null],
        ahead: [0, 1, 0, 0].map((count) => ({ ahead: count, pacedAhead: 0 })),
        seenMs: [null],
      });
      expect(await bench.store.placesTaken(NOTHING_ASKED)).toEqual({ slots: [], throttles: [], ahead: [], seenMs: [] });
      for (const run of [first, second, third]) {
        await bench.store.commit({ ...runDone(run), fence: null, cas: "live" });
      }
    });

    it("runs that were made together come one after the other, as claims take them", async () => {
      const functionId = `together-${newId()}`;
      const [one, other] = [newId(), newId()].map((throttle) => ({ id: newId().toLowerCase(), slots: [], throttle }));
      const made = Array.from({ length: 7 }, (_, index) => {
        const run = newRun({ functionId });
        const lane = index === 3 ? other! : one!;
        return { run, job: passJob(run.id, { functionId, lane, priority: index === 6 ? 5 : 0 }) };
      });
      // What is stored together is due at the same instant, whatever fraction of a millisecond that has.
      const items = made.map(({ run, job }) => ({
        event: { id: run.eventId, name: run.eventName, tsMs: 1, payloadJson: '{"name":"shop/order"}' },
        runs: [{ run, log: [logRow("RUN_CREATED"), logRow("DISPATCHED")], jobs: [job] }],
      }));
      await bench.store.intake(items);
      const ahead = made.map(({ job }) => job.id);
      const places = (await bench.store.placesTaken({ ...NOTHING_ASKED, ahead })).ahead;
      expect(places.map(({ ahead: count }) => count)).toEqual([1, 2, 3, 4, 5, 6, 0]);
      expect(places.map(({ pacedAhead }) => pacedAhead)).toEqual([1, 2, 3, 0, 4, 5, 0]);
      const claimed = await bench.store.claim({ gatewayId: "a", leaseMs: 60_000, wants: [{ functionId, limit: 7 }] });
      expect(claimed.map(({ id }) => places[ahead.indexOf(id)]?.ahead)).toEqual([0, 1, 2, 3, 4, 5, 6]);
      for (const { run, job } of made) {
        await bench.store.commit({ ...runDone({ runId: run.id, jobId: job.id }), fence: null, cas: "live" });
      }
    });
  });

  describe("Overdue work", () => {
    it("is counted by function, the oldest first, without what has a worker, is due later, or is a timer", async () => {
      const [functionId, none] = [`overdue-${newId()}`, `overdue-${newId()}`];
      const seed = (job: object) => seedRun(bench.store, { run: { functionId }, job });
      const taken = await seed({});
      await claimOne(bench.store, functionId);
      const due = [await seed({ priority: 5 }), await seed({ priority: -5 })];
      const later = await seed({ delayMs: 3_600_000 });
      const ask = (dueForMs: number) => bench.store.overdueWork({ functionIds: [none, functionId, ""], dueForMs });
      const [work, ...more] = await ask(0);
      expect(more).toEqual([]);
      expect(work).toMatchObject({ functionId, count: 2 });
      expect(work?.runs.map(({ runId }) => runId).sort()).toEqual(due.map(({ runId }) => runId).sort());
      expect(await ask(3_600_000)).toEqual([]);
      for (const run of [taken, ...due, later]) {
        await bench.store.commit({ ...runDone(run), fence: null, cas: "live" });
      }
    });

    it("what was put off until a worker of its version has room is overdue since it was made", async () => {
      const functionId = `overdue-${newId()}`;
      const run = await seedRun(bench.store, { run: { functionId } });
      const { id: jobId, epoch } = (await claimOne(bench.store, functionId)) ?? { id: "", epoch: 0 };
      await bench.store.releaseLeases([{ jobId, epoch, lost: false, holdMs: 3_600_000 }]);
      expect((await bench.store.openRuns([run.runId]))[0]?.jobs[0]?.wantedVersion).not.toBeNull();
      expect(await bench.store.overdueWork({ functionIds: [functionId], dueForMs: 0 })).toEqual([
        { functionId, count: 1, runs: [{ runId: run.runId, dueMs: expect.any(Number) }] },
      ]);
      await bench.store.commit({ ...runDone(run), fence: null, cas: "live" });
    });
  });

  describe("Runs that nothing moves on", () => {
    it("a run without a job is found, so is one that only its deadline ends, page by page", async () => {
      const seeded = [await seedRun(bench.store), await seedRun(bench.store), await seedRun(bench.store)];
      const [none, deadline, waits] = seeded as [(typeof seeded)[0], (typeof seeded)[0], (typeof seeded)[0]];
      const orphan = { fence: null, cas: 1, head: { status: "WAITING" }, removeJobs: "all" } as const;
      const log = [logRow("PASS_REPORTED")];
      const timer = (runId: string) =>
        passJob(runId, { kind: "timer", key: "holdfast/deadline", functionId: "", delayMs: 3_600_000 });
      await bench.store.commit({ ...orphan, log, runId: none!.runId, addJobs: [] });
      await bench.store.commit({ ...orphan, log, runId: deadline!.runId, addJobs: [timer(deadline!.runId)] });
      await bench.store.commit({
        ...orphan,
        ...{ log, runId: waits!.runId, addJobs: [timer(waits!.runId)] },
        addWaits: [{ runId: waits!.runId, key: "s", kind: "signal", name: newId() }],
      });
      const found: string[] = [];
      let looked = 0;
      let cursor: string | null | undefined;
      do {
        const page = await bench.store.unmovedRuns({ limit: 2, ...(cursor ? { cursor } : {}) });
        expect(page.looked).toBeLessThanOrEqual(2);
        found.push(...page.runIds);
        looked += page.looked;
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(looked).toBeGreaterThanOrEqual(3);
      expect(found).toEqual([deadline!.runId, none!.runId]);
      for (const run of seeded) await bench.store.commit({ ...runDone(run!, 2), fence: null, removeWaits: "all" });
      expect((await bench.store.unmovedRuns({ limit: 1_000 })).runIds).toEqual([]);
    });

    it("jobs of a claimed pass move a run on", async () => {
      const functionId = `claimed-${newId()}`;
      const run = await seedRun(bench.store, { run: { functionId } });
      await claimOne(bench.store, functionId);
      expect((await bench.store.unmovedRuns({ limit: 1_000 })).runIds).not.toContain(run.runId);
    });
  });
}
