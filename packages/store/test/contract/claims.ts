import { describe, expect, it } from "vitest";
import { type ContractBench, claimOne, lost, newId, runDone, seedLeased, seedRun, stepDone } from "./harness.ts";

/** As the gateway knows it: rejected for the version of the registry alone. */
const OUTDATED = { code: "STORE_FAILED", reason: "outdated" };

export function claimsContract(bench: ContractBench): void {
  describe("Claims", () => {
    it("a claim gives a job once, with its run and log", async () => {
      const run = await seedRun(bench.store, { run: { functionId: "once" } });
      const job = await claimOne(bench.store, "once");
      expect(job).toMatchObject({ id: run.jobId, runId: run.runId, kind: "pass", epoch: 1, lost: false });
      expect(job?.run?.head).toMatchObject({ id: run.runId, status: "PENDING", version: 1 });
      expect(job?.run?.log.map((row) => row.kind)).toEqual(["RUN_CREATED", "DISPATCHED"]);
      expect((job?.leaseUntilMs ?? 0) - (job?.dueSinceMs ?? 0)).toBeGreaterThanOrEqual(60_000);
      expect(await claimOne(bench.store, "once")).toBeUndefined();
      const { head } = (await bench.store.getRun(run.runId)) ?? {};
      expect(head?.status).toBe("RUNNING");
      expect(head?.startedMs).toBeGreaterThanOrEqual(head?.createdMs ?? Number.NaN);
      expect((await bench.store.listRuns({ status: "RUNNING", functionId: "once", limit: 10 })).runs).toHaveLength(1);
      expect((await bench.store.listRuns({ status: "PENDING", functionId: "once", limit: 10 })).runs).toHaveLength(0);
    });

    it("a claim never gives one job to two stores", async () => {
      const ids = (
        await Promise.all(Array.from({ length: 120 }, () => seedRun(bench.store, { run: { functionId: "many" } })))
      ).map((run) => run.jobId);
      const stores = [bench.store, bench.another(), bench.another()];
      const got: string[] = [];
      const drain = async (index: number): Promise<void> => {
        for (;;) {
          const jobs = await stores[index % stores.length]!.claim({
            gatewayId: `gateway-${index}`,
            leaseMs: 60_000,
            wants: [{ functionId: "many", limit: 1 + (index % 4) }],
          });
          // Rows that another claim has locked are skipped: an empty answer means "none free now".
          if (jobs.length === 0 && got.length >= ids.length) return;
          got.push(...jobs.map((job) => job.id));
          if (got.length > ids.length) return;
        }
      };
      await Promise.all([0, 1, 2, 3, 4, 5].map(drain));
      expect([...got].sort()).toEqual([...ids].sort());
    });

    it("of functions that share workers a claim takes no more than there is room for, in the order of all", async () => {
      const [one, two, apart] = [`one-${newId()}`, `two-${newId()}`, `apart-${newId()}`];
      const priority = { job: { priority: 100 } };
      const first = await seedRun(bench.store, { run: { functionId: two }, ...priority });
      for (const functionId of [one, one, two, apart, apart]) await seedRun(bench.store, { run: { functionId } });
      const claim = (room: number) =>
        bench.store.claim({
          gatewayId: "gateway-a",
          leaseMs: 60_000,
          wants: [
            { functionId: one, limit: 10, room: 0 },
            { functionId: two, limit: 10, room: 0 },
            { functionId: apart, limit: 1, room: 1 },
          ],
          rooms: [room, 10],
        });
      const jobs = await claim(1);
      expect(jobs.map(({ id }) => id)[0]).toBe(first.jobId);
      expect(jobs.map(({ functionId }) => functionId)).toEqual([two, apart]);
      const rest = (await claim(2)).map(({ functionId }) => functionId);
      expect(rest.filter((functionId) => functionId !== apart)).toHaveLength(2);
      expect(await claim(5)).toHaveLength(1);
    });

    it("claims of jobs of many priorities take those of the highest first, whichever stores claim", async () => {
      // Some seconds apart, so that it does not matter in what time they are made.
      const priorities = Array.from({ length: 240 }, (_, index) => ((index * 77) % 240) * 20);
      await Promise.all(
        priorities.map((priority) => seedRun(bench.store, { run: { functionId: "ranked" }, job: { priority } })),
      );
      const stores = [bench.store, bench.another()];
      const taken: number[] = [];
      for (let turn = 0; taken.length < priorities.length; turn++) {
        const jobs = await stores[turn % 2]!.claim({
          gatewayId: `gateway-${turn % 2}`,
          leaseMs: 60_000,
          wants: [{ functionId: "ranked", limit: 1 + (turn % 9) }],
        });
        expect(jobs).toHaveLength(Math.min(1 + (turn % 9), priorities.length - taken.length));
        taken.push(...jobs.map(({ priority }) => priority));
      }
      expect(taken).toEqual([...priorities].sort((a, b) => b - a));
    });

    it("a claim takes expired and returned jobs, and records what was lost", async () => {
      const expired = await seedLeased(bench.store, "expired", 0);
      expect(await claimOne(bench.store, "expired", 0)).toMatchObject({ id: expired.jobId, epoch: 2, lost: true });
      expect(await claimOne(bench.store, "expired")).toMatchObject({ id: expired.jobId, epoch: 3, lost: true });
      const [run] = await bench.store.loadRuns([expired.runId]);
      const losses = run?.log.filter((row) => row.kind === "LEASE_LOST") ?? [];
      expect(losses.map((row) => [row.key, row.iteration])).toEqual([
        [expired.jobId, 1],
        [expired.jobId, 2],
      ]);
      expect(JSON.parse(losses[0]?.dataJson ?? "")).toEqual({ kind: "pass", key: "", gatewayId: "gateway-a" });

      const back = await seedLeased(bench.store, "back");
      await bench.store.releaseLeases([{ jobId: back.jobId, epoch: 1, lost: false }]);
      expect(await claimOne(bench.store, "back")).toMatchObject({ id: back.jobId, epoch: 2, lost: false });
      await bench.store.releaseLeases([{ jobId: back.jobId, epoch: 2, lost: true }]);
      expect(await claimOne(bench.store, "back")).toMatchObject({ id: back.jobId, epoch: 3, lost: true });
    });

    it("a run whose work is lost before its first commit began when that was claimed, not when it is claimed again", async () => {
      const run = await seedRun(bench.store, { run: { functionId: "begun" } });
      const startedMs = async () => (await bench.store.loadRuns([run.runId]))[0]?.head.startedMs;
      const release = (epoch: number, lost: boolean) => bench.store.releaseLeases([{ jobId: run.jobId, epoch, lost }]);
      await claimOne(bench.store, "begun");
      await release(1, false);
      expect(await startedMs(), "it may not have begun").toBeNull();
      const claimed = await claimOne(bench.store, "begun");
      await release(1, true);
      expect(await startedMs(), "of an earlier lease").toBeNull();
      await release(2, true);
      const begunMs = await startedMs();
      expect(begunMs).toBeCloseTo((claimed?.leaseUntilMs ?? 0) - 60_000, 0);
      await new Promise((resolve) => setTimeout(resolve, 5));
      await claimOne(bench.store, "begun");
      await release(3, true);
      expect(await startedMs()).toBe(begunMs);
    });

    it("a claim skips postponed jobs, unless it asks for their version", async () => {
      const one = await seedLeased(bench.store, "held");
      const two = await seedLeased(bench.store, "held");
      for (const { jobId } of [one, two]) {
        await bench.store.releaseLeases([{ jobId, epoch: 1, lost: false, holdMs: 60_000 }]);
      }
      expect(await claimOne(bench.store, "held")).toBeUndefined();
      const [run] = await bench.store.loadRuns([one.runId]);
      const appVersion = run?.head.appVersion ?? "";
      const wanted = (version: string, limit: number) => ({ functionId: "held", appVersion: version, limit });
      expect(
        await bench.store.recallJobs([wanted("another", 5), { ...wanted(appVersion, 5), functionId: "x" }]),
      ).toEqual([0, 0]);
      expect(await claimOne(bench.store, "held")).toBeUndefined();
      expect(await bench.store.recallJobs([wanted("another", 5), wanted(appVersion, 1)])).toEqual([0, 1]);
      expect(await claimOne(bench.store, "held")).toMatchObject({ id: one.jobId, epoch: 2, lost: false });
      expect(await bench.store.recallJobs([wanted(appVersion, 5)])).toEqual([1]);
      expect(await claimOne(bench.store, "held")).toMatchObject({ id: two.jobId, epoch: 2, lost: false });
      expect(await bench.store.recallJobs([wanted(appVersion, 5)])).toEqual([0]);
    });

    it("a claim orders jobs by priority, then by age, and respects each function's limit", async () => {
      const low = await seedRun(bench.store, { run: { functionId: "ordered" } });
      const old = await seedRun(bench.store, { run: { functionId: "ordered" }, job: { priority: 5, notBeforeMs: 0 } });
      const fresh = await seedRun(bench.store, { run: { functionId: "ordered" }, job: { priority: 5 } });
      const timer = await seedRun(bench.store, {
        run: { functionId: "sleeper" },
        job: { functionId: "", kind: "timer", key: "s" },
      });
      const wants = [
        { functionId: "ordered", limit: 2 },
        { functionId: "", limit: 5 },
        { functionId: "none", limit: 5 },
      ];
      const first = await bench.store.claim({ gatewayId: "g", leaseMs: 60_000, wants });
      expect(first.map((job) => job.id).sort()).toEqual([old.jobId, fresh.jobId, timer.jobId].sort());
      expect(first[0]?.id).toBe(old.jobId);
      const second = await bench.store.claim({ gatewayId: "g", leaseMs: 60_000, wants });
      expect(second.map((job) => job.id)).toEqual([low.jobId]);
    });

    it("a timer comes without its run where the caller has that, unless a lease of it was lost", async () => {
      const timer = { functionId: "", kind: "timer", key: "s" } as const;
      const [had, other] = [await seedRun(bench.store, { job: timer }), await seedRun(bench.store, { job: timer })];
      const work = await seedRun(bench.store, { run: { functionId: "not-a-timer" } });
      const asked: { readonly id: string; readonly runId: string }[] = [];
      const claim = async (leaseMs: number) => {
        const jobs = await bench.store.claim({
          gatewayId: "g",
          leaseMs,
          wants: [
            { functionId: "", limit: 5 },
            { functionId: "not-a-timer", limit: 5 },
          ],
          hasRunOf: ({ id, runId }) => {
            asked.push({ id, runId });
            return id !== other.jobId;
          },
        });
        return new Map(jobs.map(({ id, run }) => [id, run?.head.id ?? null]));
      };
      expect(await claim(0)).toEqual(
        new Map([
          [had.jobId, null],
          [other.jobId, other.runId],
          [work.jobId, work.runId],
        ]),
      );
      expect(asked).toEqual(expect.arrayContaining([had, other].map(({ jobId: id, runId }) => ({ id, runId }))));
      expect(asked).toHaveLength(2);
      // Nobody knows what became of it: the run may have gone on, and its log says that the lease was lost.
      expect((await claim(60_000)).get(had.jobId)).toBe(had.runId);
    });

    it("a claim skips jobs that are not due, and reports when the next one will be", async () => {
      const notBeforeMs = Date.now() + 3_600_000;
      await seedRun(bench.store, { run: { functionId: "later" }, job: { notBeforeMs } });
      await seedRun(bench.store, { run: { functionId: "later" }, job: { delayMs: 600_000, priority: -3 } });
      expect(await claimOne(bench.store, "later")).toBeUndefined();
      const dueIn = await bench.store.nextDueInMs(["later", "none"]);
      expect(dueIn).toBeGreaterThan(0);
      expect(dueIn).toBeLessThanOrEqual(600_000);
      expect(await bench.store.nextDueInMs(["none"])).toBeNull();
    });
  });

  describe("Leases", () => {
    it("a lease is extended only for the dispatch that holds it", async () => {
      const run = await seedLeased(bench.store, "extended", 60_000);
      const other = newId();
      const leases = [
        { jobId: run.jobId, epoch: 1, gatewayId: "gw-a", leaseMs: 120_000 },
        { jobId: run.jobId, epoch: 2, gatewayId: "gw-a", leaseMs: 1 },
        { jobId: other, epoch: 1, gatewayId: "gw-a", leaseMs: 1 },
      ];
      const before = (await bench.store.getRun(run.runId))?.jobs[0]?.availableMs ?? 0;
      expect(await bench.store.extendLeases(leases)).toEqual([true, false, false]);
      const after = (await bench.store.getRun(run.runId))?.jobs[0]?.availableMs ?? 0;
      expect(after - before).toBeGreaterThanOrEqual(60_000);
    });

    it("an expired lease can be extended until another gateway claims the job, and not after", async () => {
      const run = await seedLeased(bench.store, "revived", 0);
      expect(
        await bench.store.extendLeases([{ jobId: run.jobId, epoch: 1, gatewayId: "gw-a", leaseMs: 60_000 }]),
      ).toEqual([true]);
      expect(await claimOne(bench.store, "revived")).toBeUndefined();
      await bench.store.extendLeases([{ jobId: run.jobId, epoch: 1, gatewayId: "gw-a", leaseMs: 0 }]);
      expect(await claimOne(bench.store, "revived")).toMatchObject({ epoch: 2 });
      expect(
        await bench.store.extendLeases([{ jobId: run.jobId, epoch: 1, gatewayId: "gw-a", leaseMs: 60_000 }]),
      ).toEqual([false]);
      expect(await bench.store.releaseLeases([{ jobId: run.jobId, epoch: 1, lost: false }])).toEqual([false]);
    });

    it("a gateway that starts where no other one is there renews leases of what workers have", async () => {
      const run = await seedLeased(bench.store, "unattended", 0);
      await bench.store.touchGateway("gw-old");
      expect(await bench.store.renewLeases("gw-new", 60_000)).toBe(0);
      // It counts as gone soon, with the time that is skipped or by itself.
      expect(await bench.store.renewLeases("gw-old", 60_000)).toBeGreaterThanOrEqual(1);
      expect(await claimOne(bench.store, "unattended")).toBeUndefined();
      expect(await bench.store.renewLeases("gw-old", 30_000), "none is shortened").toBe(0);
      const lease = { jobId: run.jobId, epoch: 1, gatewayId: "gw-a", leaseMs: 0 };
      expect(await bench.store.extendLeases([lease])).toEqual([true]);
      expect(await claimOne(bench.store, "unattended")).toMatchObject({ epoch: 2 });
    });

    it("a released lease can be reclaimed by its worker through any gateway, until another gateway claims the job", async () => {
      const run = await seedLeased(bench.store, "moved", 60_000);
      const fence = { jobId: run.jobId, epoch: 1 };
      await bench.store.releaseLeases([{ ...fence, lost: true }]);
      expect(await bench.store.extendLeases([{ ...fence, gatewayId: "gw-b", leaseMs: 60_000 }])).toEqual([true]);
      expect(await claimOne(bench.store, "moved")).toBeUndefined();
      // The gateway it has left stops: that is no reason to give the work to another worker.
      expect(await bench.store.releaseLeases([{ ...fence, lost: true, heldBy: "gw-a" }])).toEqual([false]);
      expect(await claimOne(bench.store, "moved")).toBeUndefined();
      expect(await bench.store.releaseLeases([{ ...fence, lost: true, heldBy: "gw-b" }])).toEqual([true]);
      expect(await claimOne(bench.store, "moved")).toMatchObject({ epoch: 2, lost: true });
    });

    it("a lease can be reassigned under the next epoch, which makes the previous worker late and prevents a claim", async () => {
      const run = await seedLeased(bench.store, "given-on", 60_000);
      const lease = { jobId: run.jobId, epoch: 1, gatewayId: "gw-b", leaseMs: 60_000 };
      expect(await bench.store.extendLeases([{ ...lease, next: true }])).toEqual([true]);
      expect(await claimOne(bench.store, "given-on")).toBeUndefined();
      expect(await bench.store.extendLeases([lease])).toEqual([false]);
      expect(await bench.store.commit(stepDone(run, "a"))).toEqual(lost("stale"));
      expect(await bench.store.extendLeases([{ ...lease, epoch: 2, leaseMs: 0 }])).toEqual([true]);
      expect(await claimOne(bench.store, "given-on")).toMatchObject({ epoch: 3 });
    });

    it("a job cannot be claimed between the check of a fence and its write", async () => {
      const other = bench.another();
      for (let round = 0; round < 30; round += 1) {
        const run = await seedLeased(bench.store, "raced", 0);
        const [outcome, job] = await Promise.all([bench.store.commit(stepDone(run, "a")), claimOne(other, "raced")]);
        const [stored] = await bench.store.loadRuns([run.runId]);
        const seen = job?.run?.log.some((row) => row.kind === "STEP_COMPLETED") ?? false;
        const written = stored?.log.some((row) => row.kind === "STEP_COMPLETED") ?? false;
        expect(written).toBe(outcome.won);
        // Whoever claimed after the write sees it; whoever claimed before turned it away.
        if (job) expect(seen).toBe(outcome.won);
        if (!outcome.won) expect(outcome).toEqual(lost("stale"));
        await bench.store.commit({ ...runDone(run, "live"), fence: null });
      }
    });
  });

  describe("Claims that come too late", () => {
    it("take nothing and say so: while a database stood still no lease could be extended", async () => {
      const functionId = newId();
      await seedRun(bench.store, { run: { functionId } });
      const limits = { slots: [1], shared: false, throttle: null };
      const wants = [{ functionId, limit: 5, leaseMs: 1000, limits }];
      const request = { gatewayId: "g1", leaseMs: 1000, wants };
      const nowMs = await bench.store.nowMs();
      const tooLate = { ...request, notAfterMs: nowMs - 1 };
      expect(await bench.store.claim(tooLate).catch((error: unknown) => error)).toMatchObject(OUTDATED);
      await bench.store.adoptLanes([{ functionId, lane: { id: "aa", slots: [functionId], throttle: null } }]);
      expect(await bench.store.claimLimited(tooLate).catch((error: unknown) => error)).toMatchObject(OUTDATED);
      const { jobs } = await bench.store.claimLimited({ ...request, notAfterMs: nowMs + 600_000 });
      expect(jobs.map(({ epoch }) => epoch)).toEqual([1]);
    });
  });

  describe("Claims that depend on the registry", () => {
    it("a claim based on an outdated registry takes nothing and reports it", async () => {
      const functionId = newId();
      const { jobId } = await seedRun(bench.store, { run: { functionId } });
      const { version } = await bench.store.loadRegistry();
      const app = { id: newId(), version: "1", sdk: "test", functions: [] };
      const fn = { slug: `${app.id}-f`, name: "f", triggersJson: "[]", configJson: "{}" };
      await bench.another().saveApps([{ ...app, functions: [fn] }]);
      const limits = { slots: [], shared: false, throttle: null };
      const base = { gatewayId: "g1", leaseMs: 1000, registryVersion: version };
      const wants = [{ functionId, limit: 5, leaseMs: 1000, limits }];
      const plain = await bench.store.claim({ ...base, wants }).catch((error: unknown) => error);
      expect(plain).toMatchObject(OUTDATED);
      await bench.store.adoptLanes([{ functionId, lane: null }]);
      const limited = await bench.store.claimLimited({ ...base, wants }).catch((error: unknown) => error);
      expect(limited).toMatchObject(OUTDATED);
      const { version: now } = await bench.store.loadRegistry();
      const [job] = (await bench.store.claimLimited({ ...base, registryVersion: now, wants })).jobs;
      expect(job).toMatchObject({ id: jobId, epoch: 1, unplacedMs: 0 });
    });
  });
}
