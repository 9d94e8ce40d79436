/** The contract's part about bulk jobs: their progress under a lease, and the pages of runs that they look at. */
import { describe, expect, it } from "vitest";
import { type BulkFilter, type BulkProgress, NEWEST_RUN, type NewBulkJob } from "../../src/index.ts";
import { type ContractBench, logRow, newId, passJob, runDone, seedLeased, seedRun } from "./harness.ts";

const QUEUE = "holdfast/bulk";

export function bulkContract(bench: ContractBench): void {
  const filterOf = (functionId: string, more: Partial<BulkFilter> = {}): BulkFilter => {
    return { environment: "", status: ["PENDING", "RUNNING", "WAITING"], functionId, ...more };
  };
  const create = async (more: Partial<NewBulkJob> = {}) => {
    const bulk: NewBulkJob = { id: newId(), action: "rerun", filter: filterOf("x"), appVersion: "", total: 3, ...more };
    const job = passJob("", { id: bulk.id, kind: "bulk", key: bulk.id, functionId: QUEUE });
    await bench.store.createBulkJob(bulk, job);
    await bench.store.createBulkJob(bulk, job);
    return bulk;
  };
  const claim = async (id: string) => {
    const wants = [{ functionId: QUEUE, limit: 100 }];
    const jobs = await bench.store.claim({ gatewayId: "g", leaseMs: 0, wants });
    return jobs.find(({ key }) => key === id);
  };
  const progress = (done: number): BulkProgress => {
    return { beforeId: "0", done, skipped: 1, failed: 2, errors: ["no"], chunk: ["1", "0"] };
  };

  describe("Bulk jobs", () => {
    it("who has the job in the queue says how far it is, until it is over", async () => {
      const bulk = await create();
      expect(await bench.store.loadBulkJob(bulk.id)).toMatchObject({
        ...bulk,
        status: "RUNNING",
        beforeId: NEWEST_RUN,
      });
      const first = await claim(bulk.id);
      const second = await claim(bulk.id);
      const [lost, held] = [first, second].map((job) => ({ jobId: bulk.id, epoch: job?.epoch ?? -1 }));
      expect(await bench.store.saveBulkProgress(bulk.id, lost!, progress(9), false)).toBe(false);
      expect(await bench.store.saveBulkProgress(bulk.id, held!, progress(1), false)).toBe(true);
      expect(await bench.store.loadBulkJob(bulk.id)).toMatchObject({
        ...progress(1),
        status: "RUNNING",
        endedMs: null,
      });
      expect(await bench.store.saveBulkProgress(bulk.id, held!, progress(3), true)).toBe(true);
      const over = await bench.store.loadBulkJob(bulk.id);
      expect(over).toMatchObject({ done: 3, status: "DONE" });
      expect(over?.endedMs).toBeGreaterThanOrEqual(over?.createdMs ?? Number.NaN);
      expect(await bench.store.stopBulkJob(bulk.id)).toBe(false);
      await bench.store.finishJob(held!);
      expect(await bench.store.loadBulkJob(newId())).toBeNull();
    });

    it("a job that is stopped takes the counts of what was under way, and stays stopped; jobs are listed by environment, the newest first", async () => {
      const environment = `env-${newId()}`;
      const [one, two] = [
        await create({ filter: { ...filterOf("x"), environment } }),
        await create({ filter: { ...filterOf("x"), environment } }),
      ];
      const job = await claim(one.id);
      expect(await bench.store.stopBulkJob(one.id)).toBe(true);
      const fence = { jobId: one.id, epoch: job?.epoch ?? -1 };
      expect(await bench.store.saveBulkProgress(one.id, fence, progress(1), true)).toBe(false);
      expect(await bench.store.listBulkJobs(environment, 10)).toMatchObject([
        { id: two.id, status: "RUNNING" },
        { id: one.id, status: "STOPPED", done: progress(1).done },
      ]);
      expect(await bench.store.listBulkJobs(environment, 1)).toHaveLength(1);
      for (const id of [one.id, two.id]) {
        const left = await claim(id);
        await bench.store.finishJob({ jobId: id, epoch: left?.epoch ?? -1 });
      }
    });

    it("pages go through all runs of a function, and show those that fit", async () => {
      const functionId = `paged-${newId()}`;
      const living = [];
      const ended = [];
      for (let n = 0; n < 3; n += 1) {
        living.push((await seedRun(bench.store, { run: { functionId }, job: { delayMs: 3_600_000 } })).runId);
        const run = await seedLeased(bench.store, functionId);
        await bench.store.commit(runDone(run));
        ended.push(run.runId);
      }
      const all = async (filter: BulkFilter, limit = 2) => {
        const found: string[] = [];
        let before: string | null = NEWEST_RUN;
        for (let pages = 0; before !== null && pages < 10; pages += 1) {
          const page = await bench.store.bulkPage(filter, before, limit);
          found.push(...page.runIds);
          before = page.nextBeforeId;
        }
        return found;
      };
      expect(await all(filterOf(functionId))).toEqual(living.toReversed());
      expect(await all(filterOf(functionId, { status: ["COMPLETED"] }))).toEqual(ended.toReversed());
      expect(await all(filterOf(functionId, { status: ["COMPLETED", "PENDING"] }))).toHaveLength(6);
      expect(await all(filterOf(functionId, { eventName: "shop/other" }))).toEqual([]);
      const { createdMs } = (await bench.store.getRun(living[1]!))!.head;
      const before = await all(filterOf(functionId, { createdBeforeMs: createdMs }));
      const after = await all(filterOf(functionId, { createdAfterMs: createdMs }));
      expect([...after, ...before]).toEqual(living.toReversed());
      expect(after).toContain(living[1]);
      const events = async (runIds: readonly string[]): Promise<string[]> => {
        const details = await Promise.all(runIds.map((id) => bench.store.getRun(id)));
        return details.flatMap((detail) => detail?.head.eventId ?? []);
      };
      const someEvents = await events([living[0]!, ended[2]!]);
      expect(await all(filterOf(functionId, { eventIds: someEvents }))).toEqual([living[0]]);
      const both: BulkFilter["status"] = ["PENDING", "COMPLETED"];
      expect(await all(filterOf(functionId, { status: both, eventIds: someEvents }))).toEqual([ended[2], living[0]]);
      expect(await all(filterOf(functionId, { eventIds: [] }))).toEqual([]);
      const { functionId: _, ...anywhere } = filterOf(functionId);
      expect(await all({ ...anywhere, environment: "" }, 1000)).toEqual(expect.arrayContaining(living));
      expect(await all({ ...anywhere, environment: "elsewhere" }, 1000)).toEqual([]);
    });

    it("pages show runs by a text in what they failed with", async () => {
      const functionId = `broken-${newId()}`;
      const failed = [];
      for (const message of ['The card was "declined": 50 % off', "No such shop"]) {
        const run = await seedLeased(bench.store, functionId);
        const error = { name: "Error", message };
        await bench.store.commit({
          ...runDone(run),
          log: [logRow("RUN_FAILED", "", { dataJson: JSON.stringify({ error }) })],
          head: { status: "FAILED", errorJson: JSON.stringify(error) },
        });
        failed.push(run.runId);
      }
      await seedRun(bench.store, { run: { functionId }, job: { delayMs: 3_600_000 } });
      const found = async (errorText: string): Promise<readonly string[]> =>
        (await bench.store.bulkPage(filterOf(functionId, { status: ["FAILED"], errorText }), "~", 10)).runIds;
      expect(await found("CARD was")).toEqual([failed[0]]);
      expect(await found("50 %")).toEqual([failed[0]]);
      expect(await found("S")).toEqual(failed.toReversed());
      expect(await found("no_such")).toEqual([]);
    });

    it("a narrow filter is kept as it was given", async () => {
      const narrow = filterOf("x", { eventIds: ["e"], errorText: "declined", createdBeforeMs: 5 });
      const bulk = await create({ filter: narrow });
      expect((await bench.store.loadBulkJob(bulk.id))?.filter).toEqual(narrow);
      const job = await claim(bulk.id);
      await bench.store.finishJob({ jobId: bulk.id, epoch: job?.epoch ?? -1 });
    });
  });
}
