/** The contract's part about claims under limits of slots and throttles. */
import { describe, expect, it } from "vitest";
import type { ClaimedJob, ClaimLimits, Lane, LimitedClaim, Store } from "../../src/index.ts";
import { type ContractBench, newId, runDone, type SeededRun, seedRun } from "./harness.ts";

const lane = (id: string, slots: readonly string[], throttle: string | null = null): Lane => ({
  id: throttle ? `${id}~${throttle}` : id,
  slots,
  throttle,
});

const limits = (slots: readonly number[], more: Partial<ClaimLimits> = {}): ClaimLimits => ({
  slots,
  throttle: null,
  shared: false,
  ...more,
});

const claim = (
  store: Store,
  functionId: string,
  of: ClaimLimits,
  limit = 100,
  leaseMs = 60_000,
): Promise<LimitedClaim> =>
  store.claimLimited({ gatewayId: "gateway-a", wants: [{ functionId, limit, leaseMs, limits: of }] });

export function limitsContract(bench: ContractBench): void {
  const seed = (functionId: string, at: Lane, more: object = {}): Promise<SeededRun> =>
    seedRun(bench.store, { run: { functionId }, job: { lane: at, ...more } });

  const finish = async ({ jobs }: LimitedClaim, store = bench.store): Promise<void> => {
    for (const job of jobs) {
      const run = { runId: job.runId, jobId: job.id };
      expect(await store.commit(runDone(run, "live", job.epoch))).toMatchObject({ won: true });
    }
  };

  describe("Claims under limits", () => {
    it("a limit allows that many jobs at once, and a slot is free when its job ends, is returned or postponed", async () => {
      const fn = `fn-${newId()}`;
      for (let i = 0; i < 5; i++) await seed(fn, lane("aa", ["one"]));
      const first = await claim(bench.store, fn, limits([2]));
      expect(first.jobs).toHaveLength(2);
      expect(first.blocked).toEqual([fn]);
      expect(await claim(bench.store, fn, limits([2]))).toMatchObject({ jobs: [], blocked: [fn] });
      await finish({ ...first, jobs: first.jobs.slice(0, 1) });
      const second = await claim(bench.store, fn, limits([2]));
      expect(second.jobs).toHaveLength(1);
      const [left] = first.jobs.slice(1);
      await bench.store.releaseLeases([{ jobId: left?.id ?? "", epoch: left?.epoch ?? 0, lost: false }]);
      const third = await claim(bench.store, fn, limits([2]));
      expect(third.jobs.map(({ id }) => id)).toHaveLength(1);
      expect((await claim(bench.store, fn, limits([9]))).jobs).toHaveLength(2);
    });

    it("what is in use is told: who has places and since when, who waits for them, and what paces starts", async () => {
      const [fn, other] = [`fn-${newId()}`, `fn-${newId()}`];
      const slots = [newId(), newId()];
      const paced = { throttle: { everyMs: 3_600_000, burst: 1 } };
      const runs = [];
      for (let i = 0; i < 3; i++) runs.push(await seed(fn, lane("aa", slots, "pace")));
      const free = await seed(other, lane("bb", ["three"]));
      const later = await seed(fn, lane("aa", slots), { delayMs: 3_600_000 });
      const { jobs } = await claim(bench.store, fn, limits([2, 2], paced));
      const use = await bench.store.limitUse([other, fn, fn, `none-${newId()}`]);
      const of = (list: typeof use.held, functionId: string) => list.filter((one) => one.functionId === functionId);
      expect(use.held).toEqual([
        { runId: jobs[0]?.runId, functionId: fn, slots, throttle: null, sinceMs: expect.any(Number) },
      ]);
      expect(use.held[0]?.sinceMs).toBeLessThanOrEqual(use.nowMs);
      expect(of(use.waiting, fn).map(({ runId }) => runId)).toEqual(
        runs.flatMap(({ runId }) => (runId === jobs[0]?.runId ? [] : [runId])),
      );
      expect(of(use.waiting, fn)[0]).toMatchObject({ slots, throttle: "pace" });
      expect(of(use.waiting, other)).toMatchObject([{ runId: free.runId, slots: ["three"], throttle: null }]);
      expect(use.waiting.map(({ runId }) => runId)).not.toContain(later.runId);
      expect(use.paced).toEqual([{ functionId: fn, key: "pace", atMs: expect.any(Number) }]);
      expect(use.paced[0]?.atMs).toBeGreaterThan(use.nowMs);
      expect(await bench.store.limitUse([])).toMatchObject({ held: [], waiting: [], paced: [] });
    });

    it("a key without free slots does not delay other keys", async () => {
      const fn = `fn-${newId()}`;
      for (let i = 0; i < 40; i++) await seed(fn, lane("aa", ["busy"]));
      for (let i = 0; i < 3; i++) await seed(fn, lane(`b${i}`, [`quiet ${i}`]));
      const found = await claim(bench.store, fn, limits([1]));
      expect(found.jobs).toHaveLength(4);
      expect(new Set(found.jobs.map(({ runId }) => runId)).size).toBe(4);
      expect((await claim(bench.store, fn, limits([1]))).jobs).toHaveLength(0);
    });

    it("a function limit of 3 and a key limit of 2 hold together", async () => {
      const fn = `fn-${newId()}`;
      for (const key of ["x", "x", "x", "y", "y", "z"])
        await seed(fn, lane(`c${key}`, [`all ${fn}`, `key ${fn} ${key}`]));
      const first = await claim(bench.store, fn, limits([3, 2]));
      expect(first.jobs).toHaveLength(3);
      await finish(first);
      const second = await claim(bench.store, fn, limits([3, 2]));
      expect(second.jobs).toHaveLength(3);
    });

    it("two functions can share slots", async () => {
      const [one, two] = [`fn-${newId()}`, `fn-${newId()}`];
      const place = `account ${newId()}`;
      for (let i = 0; i < 3; i++) await seed(one, lane("aa", [place]));
      for (let i = 0; i < 3; i++) await seed(two, lane("aa", ["own", place]));
      const shared = { shared: true };
      const found = await bench.store.claimLimited({
        gatewayId: "gateway-a",
        wants: [
          { functionId: one, limit: 100, leaseMs: 60_000, limits: limits([2], shared) },
          { functionId: two, limit: 100, leaseMs: 60_000, limits: limits([9, 4], shared) },
        ],
      });
      expect(found.jobs.filter(({ functionId }) => functionId === one)).toHaveLength(2);
      expect(found.jobs.filter(({ functionId }) => functionId === two)).toHaveLength(2);
    });

    it("of functions that share workers no more is claimed than there is room for, one function after the other", async () => {
      const [one, two] = [`fn-${newId()}`, `fn-${newId()}`];
      for (const functionId of [one, one, two, two]) await seed(functionId, lane("aa", [`of ${functionId}`]));
      const want = (functionId: string) => ({ functionId, limit: 10, leaseMs: 60_000, limits: limits([9]), room: 0 });
      const claims = async (functionIds: readonly string[], room: number): Promise<string[]> => {
        const wants = functionIds.map(want);
        const { jobs } = await bench.store.claimLimited({ gatewayId: "gateway-a", wants, rooms: [room] });
        return jobs.map(({ functionId }) => functionId);
      };
      expect(await claims([two, one], 1)).toEqual([two]);
      expect(await claims([one, two], 0)).toEqual([]);
      expect((await claims([one, two], 9)).sort()).toEqual([one, one, two].sort());
    });

    it("what a claim starts and no worker had is paced again when it is returned, and not counted", async () => {
      const fn = `fn-${newId()}`;
      for (let i = 0; i < 3; i++) await seed(fn, lane("aa", [], `of ${fn}`));
      const paced = limits([], { throttle: { everyMs: 3_600_000, burst: 1 } });
      const [job] = (await claim(bench.store, fn, paced)).jobs;
      expect(job?.paced).toEqual({ lane: `aa~of ${fn}`, throttle: `of ${fn}`, everyMs: 3_600_000 });
      expect((await claim(bench.store, fn, paced)).jobs).toEqual([]);
      const fence = { jobId: job?.id ?? "", epoch: job?.epoch ?? 0, lost: false };
      expect(await bench.store.releaseLeases([{ ...fence, epoch: 0, paced: job?.paced ?? null }])).toEqual([false]);
      expect((await claim(bench.store, fn, paced)).jobs).toEqual([]);
      expect(await bench.store.releaseLeases([{ ...fence, paced: job?.paced ?? null }])).toEqual([true]);
      const next = await claim(bench.store, fn, paced);
      expect(next.jobs).toHaveLength(1);
      expect(next.jobs[0]?.paced?.throttle).toBe(`of ${fn}`);
      // One that has started is not paced again.
      await bench.store.releaseLeases([
        { jobId: next.jobs[0]?.id ?? "", epoch: next.jobs[0]?.epoch ?? 0, lost: false },
      ]);
      expect((await claim(bench.store, fn, paced)).jobs.map(({ id, paced: by }) => [id, by])).toEqual([
        [next.jobs[0]?.id, null],
      ]);
    });

    it("a start that is given back after a later one has been made is still counted", async () => {
      const fn = `fn-${newId()}`;
      for (let i = 0; i < 4; i++) await seed(fn, lane("aa", [], `of ${fn}`));
      const paced = limits([], { throttle: { everyMs: 3_600_000, burst: 2 } });
      const [first] = (await claim(bench.store, fn, paced, 1)).jobs;
      const [second] = (await claim(bench.store, fn, paced, 1)).jobs;
      const giveBack = (job: ClaimedJob | undefined) =>
        bench.store.releaseLeases([
          { jobId: job?.id ?? "", epoch: job?.epoch ?? 0, lost: false, paced: job?.paced ?? null },
        ]);
      expect(await giveBack(first)).toEqual([true]);
      expect((await claim(bench.store, fn, paced)).jobs).toEqual([]);
      expect(await giveBack(second)).toEqual([true]);
      expect((await claim(bench.store, fn, paced)).jobs).toHaveLength(1);
    });

    it("a job whose lease expired keeps its slot and is claimed again", async () => {
      const fn = `fn-${newId()}`;
      for (let i = 0; i < 3; i++) await seed(fn, lane("aa", ["ended"]));
      const first = await claim(bench.store, fn, limits([1]), 10, 0);
      expect(first.jobs).toHaveLength(1);
      const again = await claim(bench.store, fn, limits([1]));
      expect(again.jobs.map(({ id, epoch, lost }) => [id, epoch, lost])).toEqual([[first.jobs[0]?.id, 2, true]]);
    });

    it("a returned lease can be reclaimed only if a slot is free", async () => {
      const fn = `fn-${newId()}`;
      for (let i = 0; i < 2; i++) await seed(fn, lane("aa", [`up ${fn}`]));
      const first = await claim(bench.store, fn, limits([1]));
      const [job] = first.jobs;
      const fence = { jobId: job?.id ?? "", epoch: job?.epoch ?? 0 };
      const extension = { ...fence, gatewayId: "gateway-b", leaseMs: 60_000, functionId: fn, limits: limits([1]) };
      await bench.store.releaseLeases([{ ...fence, lost: false }]);
      expect(await bench.store.extendLeases([extension])).toEqual([true]);
      expect((await claim(bench.store, fn, limits([1]))).jobs).toHaveLength(0);
      await bench.store.releaseLeases([{ ...fence, lost: false }]);
      const other = await claim(bench.store, fn, limits([1]), 1);
      expect(other.jobs).toHaveLength(1);
      if (other.jobs[0]?.id !== fence.jobId) expect(await bench.store.extendLeases([extension])).toEqual([false]);
    });

    it("priority moves a job in the queue by seconds, also behind a limit", async () => {
      const fn = `fn-${newId()}`;
      const low = await seed(fn, lane("aa", [`prio ${fn}`]));
      const high = await seed(fn, lane("aa", [`prio ${fn}`]), { priority: 300 });
      const below = await seed(fn, lane("aa", [`prio ${fn}`]), { priority: -300 });
      for (const expected of [high, low, below]) {
        const found = await claim(bench.store, fn, limits([1]));
        expect(found.jobs.map(({ runId }) => runId)).toEqual([expected.runId]);
        await finish(found);
      }
    });

    it("a throttle starts a burst, then one job per interval, and does not pace started jobs again", async () => {
      const fn = `fn-${newId()}`;
      const paced = limits([], { throttle: { everyMs: 60_000, burst: 2 } });
      for (let i = 0; i < 4; i++) await seed(fn, lane("aa", [], "hot"));
      await seed(fn, lane("aa", [], "cold"));
      const first = await claim(bench.store, fn, paced);
      expect(first.jobs).toHaveLength(3);
      expect(first.blocked).toEqual([fn]);
      const none = await claim(bench.store, fn, paced);
      expect(none.jobs).toHaveLength(0);
      expect(none.retryInMs).toBeGreaterThan(50_000);
      expect(none.retryInMs).toBeLessThanOrEqual(60_000);
      const [job] = first.jobs;
      await bench.store.releaseLeases([{ jobId: job?.id ?? "", epoch: 1, lost: false }]);
      expect((await claim(bench.store, fn, paced)).jobs.map(({ id }) => id)).toEqual([job?.id]);
    });

    it("jobs without a lane are found once they are adopted", async () => {
      const fn = `fn-${newId()}`;
      await seedRun(bench.store, { run: { functionId: fn } });
      expect((await claim(bench.store, fn, limits([1]))).jobs).toHaveLength(0);
      await bench.store.adoptLanes([{ functionId: fn, lane: null }]);
      expect((await claim(bench.store, fn, limits([1]))).jobs).toHaveLength(1);
    });

    it("jobs that a function has come to limit without keys count as those that are made from then on", async () => {
      const fn = `fn-${newId()}`;
      const [old, now] = [`old ${fn}`, `now ${fn}`];
      for (let i = 0; i < 3; i++) await seedRun(bench.store, { run: { functionId: fn } });
      const request = { gatewayId: "gateway-a", leaseMs: 60_000, wants: [{ functionId: fn, limit: 1 }] };
      expect(await bench.store.claim(request)).toHaveLength(1);
      for (const key of ["x", "y"]) await seed(fn, lane(`c${key}`, [`${old} ${key}`, old]));
      const { version } = await bench.store.loadRegistry();
      await bench.store.adoptLanes([{ functionId: fn, lane: lane("bb", [old]) }], version + 1);
      await bench.store.adoptLanes([{ functionId: fn, lane: lane("aa", [now]) }], version);
      // The one that is at work counts, too.
      expect((await claim(bench.store, fn, limits([2]))).jobs).toHaveLength(1);
      expect((await claim(bench.store, fn, limits([9]))).jobs).toHaveLength(3);
    });

    it("a start that is returned after its function has lost its throttle is not paced", async () => {
      const fn = `fn-${newId()}`;
      await seed(fn, lane("aa", [], `of ${fn}`));
      const [job] = (await claim(bench.store, fn, limits([], { throttle: { everyMs: 3_600_000, burst: 1 } }))).jobs;
      await bench.store.adoptLanes([{ functionId: fn, lane: lane("bb", [`now ${fn}`]) }]);
      const fence = { jobId: job?.id ?? "", epoch: job?.epoch ?? 0 };
      expect(await bench.store.releaseLeases([{ ...fence, lost: false, paced: job?.paced ?? null }])).toEqual([true]);
      expect((await claim(bench.store, fn, limits([1]))).jobs.map(({ paced }) => paced)).toEqual([null]);
    });

    it("a throttle that a function has come to have paces what has not started, and nothing else", async () => {
      const fn = `fn-${newId()}`;
      const paced = lane("aa", [], `of ${fn}`);
      for (const iteration of [1, 1, 2]) await seedRun(bench.store, { run: { functionId: fn }, job: { iteration } });
      await seed(fn, lane("aa", [], `before ${fn}`));
      await bench.store.adoptLanes([{ functionId: fn, lane: paced }]);
      const limit = limits([], { throttle: { everyMs: 3_600_000, burst: 1 } });
      const { jobs } = await claim(bench.store, fn, limit);
      expect(jobs.map(({ iteration, paced: by }) => [iteration, by?.throttle]).sort()).toEqual([
        [1, `of ${fn}`],
        [2, undefined],
      ]);
      await bench.store.adoptLanes([{ functionId: fn, lane: lane("aa", []) }]);
      expect((await claim(bench.store, fn, limits([]))).jobs).toHaveLength(2);
    });

    it("under two stores with many concurrent loops the limits hold and every job finishes", async () => {
      const fn = `fn-${newId()}`;
      const [total, perKey, runs] = [5, 2, 60];
      const keys = new Map<string, number>();
      for (let i = 0; i < runs; i++) {
        const { runId } = await seed(fn, lane(`d${i % 4}`, [`race ${fn}`, `race ${fn} ${i % 4}`]));
        keys.set(runId, i % 4);
      }
      const stores = [bench.store, bench.another(), bench.another()];
      let finished = 0;
      let most = 0;
      const look = async (): Promise<void> => {
        const held = (await bench.store.listRuns({ functionId: fn, status: "RUNNING", limit: runs })).runs;
        most = Math.max(most, held.length);
        expect(held.length).toBeLessThanOrEqual(total);
        const ofKey = (key: number) => held.filter(({ id }) => keys.get(id) === key);
        for (const key of keys.values()) expect(ofKey(key).length).toBeLessThanOrEqual(perKey);
      };
      const loop = async (store: Store): Promise<void> => {
        while (finished < runs) {
          const found = await claim(store, fn, limits([total, perKey]), 3);
          await look();
          await finish(found, store);
          finished += found.jobs.length;
        }
      };
      await Promise.all(stores.flatMap((store) => [1, 2, 3, 4].map(() => loop(store))));
      expect(finished).toBe(runs);
      expect(most).toBe(total);
    });

    it("under two stores a throttle never starts more than it allows", async () => {
      const fn = `fn-${newId()}`;
      for (let i = 0; i < 30; i++) await seed(fn, lane("aa", [], "pace"));
      const paced = limits([], { throttle: { everyMs: 600_000, burst: 7 } });
      const stores = [bench.store, bench.another()];
      const found = await Promise.all(
        Array.from({ length: 12 }, (_, n) => claim(stores[n % 2] as Store, fn, paced, 2)),
      );
      expect(found.flatMap(({ jobs }) => jobs)).toHaveLength(7);
    });
  });
}
