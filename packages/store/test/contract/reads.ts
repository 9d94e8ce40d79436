/** The contract's part about what people read of runs, events and environments. */
import { describe, expect, it } from "vitest";
import { qualify, type RunFilter } from "../../src/index.ts";
import {
  type ContractBench,
  claimOne,
  logRow,
  newId,
  passJob,
  runDone,
  type SeededRun,
  seedLeased,
  seedRun,
} from "./harness.ts";

export function readsContract(bench: ContractBench): void {
  const end = (run: { runId: string }, status: "FAILED" | "CANCELLED", message = "broken") =>
    bench.store.commit({
      runId: run.runId,
      fence: null,
      cas: "live",
      log: [logRow(`RUN_${status}`, "", { dataJson: JSON.stringify({ error: { name: "Error", message } }) })],
      head: { status, errorJson: JSON.stringify({ name: "Error", message }) },
      removeJobs: "all",
      addJobs: [],
    });

  describe("Runs", () => {
    it("runs are listed by status, newest first, page by page", async () => {
      const make = (count: number, job = {}) =>
        Promise.all(Array.from({ length: count }, () => seedRun(bench.store, { run: { functionId: "listed" }, job })));
      const pending = await make(2, { delayMs: 3_600_000 });
      const leased = await make(3, { lease: { gatewayId: "g", leaseMs: 60_000 } });
      const failed = await make(2);
      const cancelled = await make(1);
      const waiting = await make(1);
      for (const run of failed) await end(run, "FAILED");
      for (const run of cancelled) await end(run, "CANCELLED");
      await bench.store.commit(runDone(leased[0]!));
      await bench.store.commit({
        runId: waiting[0]!.runId,
        fence: null,
        cas: 1,
        log: [logRow("STEP_WAITING", "s")],
        head: { status: "WAITING" },
        removeJobs: "all",
        addJobs: [passJob(waiting[0]!.runId, { kind: "timer", key: "s", functionId: "", delayMs: 3_600_000 })],
      });
      const of = async (status?: "PENDING" | "RUNNING" | "WAITING" | "COMPLETED" | "FAILED" | "CANCELLED") => {
        const ids: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await bench.store.listRuns({
            functionId: "listed",
            limit: 1,
            ...(status ? { status } : {}),
            ...(cursor ? { cursor } : {}),
          });
          if (status) expect(page.runs.every((head) => head.status === status)).toBe(true);
          ids.push(...page.runs.map((head) => head.id));
          cursor = page.nextCursor ?? undefined;
        } while (cursor);
        return ids;
      };
      const newestFirst = (runs: readonly { runId: string }[]) =>
        runs
          .map((run) => run.runId)
          .sort()
          .reverse();
      expect(await of("PENDING")).toEqual(newestFirst(pending));
      expect(await of("RUNNING")).toEqual(newestFirst(leased.slice(1)));
      expect(await of("COMPLETED")).toEqual([leased[0]?.runId]);
      expect(await of("FAILED")).toEqual(newestFirst(failed));
      expect(await of("CANCELLED")).toEqual(newestFirst(cancelled));
      expect(await of("WAITING")).toEqual(newestFirst(waiting));
      expect(await of()).toEqual(newestFirst([...pending, ...leased, ...failed, ...cancelled, ...waiting]));
    });

    it("a page of runs with large results is short, and the next one goes on after it", async () => {
      const runs: SeededRun[] = [];
      for (const bytes of [3, 3, 3, 10, 3].map((mb) => mb * 1_000_000)) {
        const run = await seedRun(bench.store, { run: { functionId: "large" } });
        const outputJson = JSON.stringify("x".repeat(bytes));
        const log = [logRow("RUN_COMPLETED", "", { dataJson: `{"output":${outputJson}}` })];
        await bench.store.commit({
          ...runDone(run),
          fence: null,
          cas: "live",
          log,
          head: { status: "COMPLETED", outputJson },
        });
        runs.unshift(run);
      }
      const pages: string[][] = [];
      let cursor: string | undefined;
      do {
        const page = await bench.store.listRuns({ functionId: "large", limit: 10, ...(cursor ? { cursor } : {}) });
        expect(page.runs.every(({ outputJson }) => (outputJson?.length ?? 0) > 1_000_000)).toBe(true);
        pages.push(page.runs.map(({ id }) => id));
        cursor = page.nextCursor ?? undefined;
      } while (cursor);
      const ids = runs.map(({ runId }) => runId);
      expect(pages).toEqual([ids.slice(0, 2), ids.slice(2)]);
    });

    it("runs are listed by several statuses, event names and times at once, page by page", async () => {
      const seed = (functionId: string, eventName: string) => seedRun(bench.store, { run: { functionId, eventName } });
      const [one, two, three] = [await seed("many", "a"), await seed("many", "b"), await seed("many", "a")];
      const other = await seed("other", "a");
      await end(one, "FAILED");
      await end(two, "CANCELLED");
      await end(other, "FAILED");
      const list = async (filter: Omit<RunFilter, "limit">): Promise<string[]> => {
        const ids: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await bench.store.listRuns({ ...filter, limit: 1, ...(cursor ? { cursor } : {}) });
          ids.push(...page.runs.map(({ id }) => id));
          cursor = page.nextCursor ?? undefined;
        } while (cursor);
        return ids;
      };
      const functionId = "many";
      const ends = ["FAILED", "CANCELLED"] as const;
      expect(await list({ functionId, status: ends })).toEqual([two.runId, one.runId]);
      expect(await list({ functionId, status: ["FAILED"] })).toEqual([one.runId]);
      expect(await list({ functionId, status: ["PENDING", "FAILED"], eventName: "a" })).toEqual([
        three.runId,
        one.runId,
      ]);
      expect(await list({ functionId: "none", status: ends })).toEqual([]);
      const createdMs = (await bench.store.getRun(two.runId))?.head.createdMs ?? 0;
      expect(await list({ functionId, createdAfterMs: createdMs + 3_600_000 })).toEqual([]);
      expect(await list({ functionId, createdBeforeMs: createdMs - 3_600_000 })).toEqual([]);
      const near = { createdAfterMs: createdMs - 60_000, createdBeforeMs: createdMs + 60_000 };
      expect(await list({ functionId, ...near })).toEqual([three.runId, two.runId, one.runId]);
    });

    it("failed runs are found by a text in their error, whatever its case", async () => {
      const functionId = `broken-${newId()}`;
      const [one, two] = [
        await seedRun(bench.store, { run: { functionId } }),
        await seedRun(bench.store, { run: { functionId } }),
      ];
      await end(one, "FAILED", 'The card was "declined": 50 % off');
      await end(two, "FAILED", "No such shop");
      await seedRun(bench.store, { run: { functionId } });
      const found = async (errorText: string): Promise<string[]> =>
        (await bench.store.listRuns({ functionId, status: ["FAILED"], errorText, limit: 10 })).runs.map(({ id }) => id);
      expect(await found("CARD was")).toEqual([one.runId]);
      expect(await found("50 %")).toEqual([one.runId]);
      expect(await found("s")).toEqual([two.runId, one.runId]);
      expect(await found("no_such")).toEqual([]);
    });

    it("runs of several events are listed together, each once, page by page", async () => {
      const seeded = [];
      for (let n = 0; n < 3; n += 1) seeded.push(await seedRun(bench.store, { run: { functionId: "of-events" } }));
      const eventIds = await Promise.all(
        seeded.map(async ({ runId }) => (await bench.store.getRun(runId))?.head.eventId ?? ""),
      );
      const runIds = seeded.map(({ runId }) => runId).reverse();
      const list = async (filter: Omit<RunFilter, "limit">, limit = 2) => {
        const page = await bench.store.listRuns({ functionId: "of-events", ...filter, limit });
        return [page.runs.map(({ id }) => id), page.nextCursor];
      };
      expect(await list({ eventIds })).toEqual([runIds.slice(0, 2), runIds[1]]);
      expect(await list({ eventIds, cursor: runIds[1] ?? "" })).toEqual([runIds.slice(2), null]);
      expect(await list({ eventIds: [...eventIds, ...eventIds, newId()] }, 10)).toEqual([runIds, null]);
      expect(await list({ eventIds: eventIds.slice(1, 2) })).toEqual([[runIds[1]], null]);
      expect(await list({ eventIds: [] })).toEqual([[], null]);
      await end(seeded[0] ?? { runId: "" }, "FAILED", "no");
      const failed = { eventIds, status: "FAILED", errorText: "NO" } as const;
      expect(await list(failed)).toEqual([[seeded[0]?.runId], null]);
    });

    it("a run is shown with its jobs and log", async () => {
      const run = await seedLeased(bench.store, "shown");
      const detail = await bench.store.getRun(run.runId);
      expect(detail?.jobs).toMatchObject([{ id: run.jobId, kind: "pass", epoch: 1, leasedBy: "gateway-a" }]);
      expect(detail?.head.startedMs).toBe(detail?.head.createdMs);
      expect(await bench.store.getRun(newId())).toBeNull();
      const depth = await bench.store.queueDepth();
      expect(depth.leased).toBeGreaterThan(0);
      await bench.store.ping();
    });

    it("commits are counted by how long they took and how large they were", async () => {
      await seedRun(bench.store, { run: { functionId: "counted" } });
      const { batches, transitions, commitSeconds, commitUnits } = bench.store.stats();
      expect(commitSeconds.count).toBe(batches);
      expect(commitUnits).toMatchObject({ count: batches, sum: transitions });
    });

    it("a run counts as started when its first job was claimed", async () => {
      const run = await seedRun(bench.store, { run: { functionId: "begun" } });
      const job = await claimOne(bench.store, "begun");
      await bench.store.commit(runDone(run));
      const detail = await bench.store.getRun(run.runId);
      expect(detail?.head.startedMs).toBe((job?.leaseUntilMs ?? 0) - 60_000);
      expect(detail?.head.endedMs).toBeGreaterThanOrEqual(detail?.head.startedMs ?? Number.NaN);
    });

    it("events are listed by name, newest first, page by page, and each is shown with its runs", async () => {
      const name = `listed/${newId()}`;
      const seeded = [];
      for (let n = 0; n < 3; n += 1) seeded.push(await seedRun(bench.store, { run: { eventName: name } }));
      const ids: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await bench.store.listEvents({ name, limit: 1, ...(cursor ? { cursor } : {}) });
        for (const event of page.events) {
          expect(event).toMatchObject({ name, tsMs: 1_700_000_000_000, payloadJson: '{"name":"shop/order"}' });
          ids.push(event.id);
        }
        cursor = page.nextCursor ?? undefined;
      } while (cursor);
      expect(ids).toEqual([...ids].sort().reverse());
      const details = await Promise.all(ids.map((id) => bench.store.getEvent(id)));
      expect(details.flatMap((detail) => detail?.runIds ?? [])).toEqual(seeded.map(({ runId }) => runId).reverse());
      const [newest] = await Promise.all([bench.store.listRuns({ eventIds: [ids[0] ?? ""], limit: 10 })]);
      expect(newest.runs.map(({ id }) => id)).toEqual([seeded[2]?.runId]);
      expect(await bench.store.getEvent(newId())).toBeNull();
      expect(await bench.store.loadEvents([ids[1] ?? "", newId(), ids[0] ?? ""])).toHaveLength(2);
    });

    it("runs and events of one environment are shown without those of another", async () => {
      const slug = `fn-${newId()}`;
      const environments = ["default", "preview", "preview2"];
      const runs = await Promise.all(
        environments.map((environment) => {
          const [functionId, eventName] = [qualify(environment, slug), qualify(environment, `${slug}/order`)];
          return seedRun(bench.store, { run: { functionId, eventName } });
        }),
      );
      const among = (ids: readonly string[]) => runs.filter(({ runId }) => ids.includes(runId));
      for (const [index, environment] of environments.entries()) {
        const own = [runs[index]];
        const listed = await bench.store.listRuns({ environment, limit: 1000 });
        expect(among(listed.runs.map(({ id }) => id))).toEqual(own);
        const ofFunction = await bench.store.listRuns({ functionId: qualify(environment, slug), limit: 10 });
        expect(among(ofFunction.runs.map(({ id }) => id))).toEqual(own);
        const { events } = await bench.store.listEvents({ name: qualify(environment, `${slug}/order`), limit: 10 });
        const details = await Promise.all(events.map(({ id }) => bench.store.getEvent(id)));
        expect(among(details.flatMap((detail) => detail?.runIds ?? []))).toEqual(own);
        const begun = `${qualify(environment, slug)}/*`;
        for (const more of [{ environment }, { environment, name: begun }, { name: begun }]) {
          const page = await bench.store.listEvents({ ...more, limit: 1000 });
          expect(among(page.events.flatMap(({ runIds }) => runIds))).toEqual(own);
        }
      }
    });
  });
}
