import { describe, expect, it } from "vitest";
import type { EventScanPage, NewWait, Transition } from "../../src/index.ts";

import {
  type ContractBench,
  claimOne,
  logRow,
  lost,
  newId,
  newRun,
  passJob,
  runDone,
  type SeededRun,
  seedLeased,
} from "./harness.ts";

export function waitsContract(bench: ContractBench): void {
  /** A decision of the run: one row, and what the run waits for from now on. */
  const waiting = (run: SeededRun, wait: Partial<NewWait> & { readonly name: string }, cas = 1): Transition => ({
    runId: run.runId,
    fence: null,
    cas,
    log: [logRow("STEP_WAITING", "w", { iteration: cas })],
    head: { status: "WAITING" },
    removeJobs: [],
    addJobs: [],
    addWaits: [{ runId: run.runId, key: "w", kind: "event", ...wait }],
  });

  const sendEvent = async (name: string, more: object = {}) => {
    const event = { id: newId(), name, tsMs: 1, payloadJson: `{"name":"${name}"}` };
    const [outcome] = await bench.store.intake([{ event, runs: [], ...more }]);
    return { id: event.id, outcome };
  };

  const end = (run: SeededRun): Promise<unknown> =>
    bench.store.commit({ ...runDone(run, "live"), fence: null, removeWaits: "all" });

  describe("Waits", () => {
    it("BATCH-7: a job that notifies waiting runs is created with the event, and only if a run waits", async () => {
      const run = await seedLeased(bench.store);
      expect((await sendEvent("w/none")).outcome).toMatchObject({ awaited: false });
      expect(await bench.store.commit(waiting(run, { name: "w/some", expression: "true" }))).toMatchObject({
        won: true,
      });
      const { id, outcome } = await sendEvent("w/some");
      expect(outcome).toMatchObject({ awaited: true, duplicate: false });
      const job = await claimOne(bench.another(), "");
      expect(job).toMatchObject({ id, key: id, kind: "event", runId: "", run: null, epoch: 1 });
      const query = { name: "w/some", kinds: ["event", "cancel"], eventId: id, limit: 10 } as const;
      expect(await bench.store.findWaits(query)).toMatchObject([{ runId: run.runId, key: "w", expression: "true" }]);
      expect(await bench.store.findWaits({ ...query, after: { match: "", runId: run.runId, key: "w" } })).toEqual([]);
      expect(await bench.store.finishJob({ jobId: id, epoch: 2 })).toBe(false);
      expect(await bench.store.finishJob({ jobId: id, epoch: 1 })).toBe(true);
      await end(run);
      expect(await bench.store.findWaits(query)).toEqual([]);
    });

    it("the job of an event ends with the decision of the run that it notifies, and only if that is stored", async () => {
      const run = await seedLeased(bench.store);
      await bench.store.commit(waiting(run, { name: "w/ends" }));
      const { id } = await sendEvent("w/ends");
      const job = await claimOne(bench.another(), "");
      expect(job).toMatchObject({ id, epoch: 1 });
      const arrived: Transition = {
        runId: run.runId,
        fence: null,
        cas: 1,
        log: [logRow("STEP_COMPLETED", "w")],
        head: { status: "RUNNING" },
        removeJobs: [],
        endsJobs: [id],
        addJobs: [],
        removeWaits: ["w"],
      };
      expect(await bench.store.commit(arrived)).toEqual(lost("version"));
      // It was claimed again meanwhile: what is left of it is done all the same.
      const extension = { jobId: id, epoch: 1, gatewayId: "g", leaseMs: 60_000, next: true };
      expect(await bench.store.extendLeases([extension])).toEqual([true]);
      expect(await bench.store.commit({ ...arrived, cas: 2 })).toMatchObject({ won: true });
      expect(await bench.store.finishJob({ jobId: id, epoch: 2 })).toBe(false);
      expect(await bench.store.getRun(run.runId)).toMatchObject({ jobs: [{ id: run.jobId }] });
      await end(run);
      const malformed = { ...arrived, cas: null, head: undefined, removeWaits: undefined } as unknown as Transition;
      await expect(bench.store.commit(malformed)).rejects.toThrow("`endsJobs` needs `cas`");
    });

    it("a wait is found by the event's values at its indexed paths, page by page", async () => {
      const [a, b] = [await seedLeased(bench.store), await seedLeased(bench.store)];
      const matches = ["", `["data","id"]\n1`, `["data","id"]\n2`, `["data"]\nx`];
      for (const run of [a, b]) {
        const waits = matches.map((match, at) => ({ runId: run.runId, key: `w${at}`, kind: "event" as const, match }));
        const addWaits = waits.map((wait) => ({ ...wait, name: "w/match" }));
        await bench.store.commit({ ...waiting(run, { name: "w/other" }), addWaits });
      }
      expect(await bench.store.waitPaths("w/match")).toEqual([`["data","id"]`, `["data"]`]);
      expect(await bench.store.waitPaths("w/none")).toEqual([]);
      const { id: eventId } = await sendEvent("w/match");
      for (const about of [{}, { eventId }]) {
        const query = { name: "w/match", kinds: ["event"], limit: 3, ...about } as const;
        const wanted = [`["data"]\nx`, "", `["data","id"]\n2`, `["data","id"]\n2`, `["data","id"]\nnobody's`];
        const first = await bench.store.findWaits({ ...query, matches: wanted });
        const last = first.at(-1);
        const second = await bench.store.findWaits({ ...query, matches: wanted, ...(last ? { after: last } : {}) });
        const all = ["", `["data","id"]\n2`, `["data"]\nx`].flatMap((match) =>
          [a.runId, b.runId].sort().map((runId) => ({ match, runId, key: `w${matches.indexOf(match)}` })),
        );
        expect([...first, ...second]).toMatchObject(all);
        expect(first).toHaveLength(3);
        expect(await bench.store.findWaits({ ...query, after: { match: "", runId: "~", key: "" } })).toEqual([]);
        expect(await bench.store.findWaits(query)).toMatchObject(all.slice(0, 2));
      }
      await bench.store.finishJob({ jobId: eventId, epoch: 0 });
      await end(a);
      await end(b);
    });

    it("many look-ups and ends at the same time each get their own answer", async () => {
      const runs = await Promise.all(Array.from({ length: 6 }, () => seedLeased(bench.store)));
      for (const [at, run] of runs.entries()) {
        await bench.store.commit(waiting(run, { name: `w/crowd${at % 3}`, match: at < 3 ? "" : `["data"]\n${at}` }));
      }
      const events = await Promise.all([0, 1, 2].map((at) => sendEvent(`w/crowd${at}`)));
      const names = ["w/crowd0", "w/crowd1", "w/crowd2", "w/crowd0", "w/other"];
      const paths = await Promise.all(names.map((name) => bench.store.waitPaths(name)));
      expect(paths).toEqual([[`["data"]`], [`["data"]`], [`["data"]`], [`["data"]`], []]);
      const asked = names.flatMap((name, at) =>
        [["event"] as const, ["cancel"] as const].flatMap((kinds) =>
          [1, 10].flatMap((limit) =>
            [{}, { eventId: events[at % 3]?.id ?? "" }, { after: { match: "", runId: "~", key: "" } }].map((more) => ({
              name,
              kinds,
              limit,
              matches: [`["data"]\n${3 + (at % 3)}`, ""],
              ...more,
            })),
          ),
        ),
      );
      const together = await Promise.all(asked.map((query) => bench.store.findWaits(query)));
      const alone = [];
      for (const query of asked) alone.push(await bench.store.findWaits(query));
      expect(together).toEqual(alone);
      expect(new Set(together.map((page) => page.length))).toEqual(new Set([0, 1, 2]));
      const jobs = await bench.store.claim({
        gatewayId: "gateway-a",
        leaseMs: 60_000,
        wants: [{ functionId: "", limit: 9 }],
      });
      const fences = jobs.map(({ id, epoch }) => ({ jobId: id, epoch }));
      expect(fences).toHaveLength(3);
      const [first, second, third] = fences.map(({ jobId }) => ({ jobId, epoch: 1 }));
      const ends = [first, second, { ...second!, epoch: 2 }, second, third].map((fence) =>
        bench.store.finishJob(fence!),
      );
      const finished = await Promise.all(ends);
      // Which of two equal ones comes first is open.
      expect([finished[0], finished[1] !== finished[3], finished[2], finished[4]]).toEqual([true, true, false, true]);
      await Promise.all(runs.map(end));
    });

    it("a notify job may be leased on creation, and another gateway takes it over if that one dies", async () => {
      const run = await seedLeased(bench.store);
      await bench.store.commit(waiting(run, { name: "w/leased" }));
      const { id } = await sendEvent("w/leased", { lease: { gatewayId: "gateway-a", leaseMs: 60_000 } });
      expect(await claimOne(bench.store, "")).toBeUndefined();
      await bench.store.releaseLeases([{ jobId: id, epoch: 1, lost: true }]);
      expect(await claimOne(bench.store, "")).toMatchObject({ id, epoch: 2, lost: true });
      await bench.store.finishJob({ jobId: id, epoch: 2 });
      await end(run);
    });

    it("a wait ignores earlier and late events, and the event that started its run", async () => {
      const run = await seedLeased(bench.store);
      const before = await sendEvent("w/time");
      await bench.store.commit(waiting(run, { name: "w/time", expiresInMs: 0 }));
      const after = await sendEvent("w/time");
      const found = (eventId: string) =>
        bench.store.findWaits({ name: "w/time", kinds: ["event"], eventId, limit: 10 });
      expect(await found(before.id)).toEqual([]);
      expect(await found(after.id)).toEqual([]);
      await bench.store.finishJob({ jobId: after.id, epoch: 0 });
      const { eventId } = (await bench.store.loadRuns([run.runId])).map(({ head }) => head)[0] ?? { eventId: "" };
      await bench.store.commit({ ...waiting(run, { name: "shop/order" }, 2), removeWaits: ["w"] });
      expect(await bench.store.findWaits({ name: "shop/order", kinds: ["event"], eventId, limit: 10 })).toEqual([]);
      expect(await bench.store.findWaits({ name: "shop/order", kinds: ["event"], limit: 10 })).toHaveLength(1);
      await end(run);
    });

    it("events that were stored before are found by name, time and text, page by page, but not those of the run", async () => {
      const sinceMs = await bench.store.nowMs();
      const send = async (name: string, data: string, runs: readonly ReturnType<typeof newRun>[] = []) => {
        const event = { id: newId(), name, tsMs: 1, payloadJson: `{"name":"${name}","data":${data}}` };
        const made = runs.map((run) => ({ run, log: [logRow("RUN_CREATED", "")], jobs: [passJob(run.id)] }));
        await bench.store.intake([{ event, runs: made }]);
        return event.id;
      };
      const run = newRun();
      const first = await send("w/scan", '{"v":"x-1"}');
      const own = await send("w/scan", '{"v":"x-1"}', [run]);
      await send("w/other", '{"v":"x-1"}');
      const escaped = await send("w/scan", '{"v":"\\u0078-1"}');
      const exponent = await send("w/scan", '{"v":1e2}');
      const number = await send("w/scan", '{"v":100}');
      const scan = { name: "w/scan", after: first.slice(0, 10), sinceMs: sinceMs - 1, notOfRun: run.id, pageSize: 100 };
      const found = async (more: object) => (await bench.store.scanEvents({ ...scan, text: null, ...more })).ids;
      expect(await found({})).toEqual([first, escaped, exponent, number]);
      expect(await found({ text: '"x-1"' })).toEqual([first, escaped]);
      expect(await found({ text: "100" })).toEqual([escaped, exponent, number]);
      expect(await found({ notOfRun: "another" })).toContain(own);
      expect(await found({ sinceMs: sinceMs + 3_600_000 })).toEqual([]);
      const pages: string[] = [];
      for (let after: string | null = scan.after; after !== null; ) {
        const page: EventScanPage = await bench.store.scanEvents({ ...scan, text: null, after, pageSize: 2 });
        pages.push(...page.ids);
        after = page.last;
      }
      expect(pages).toEqual([first, escaped, exponent, number]);
      expect(await bench.store.writesUnderWay([])).toEqual([]);
      await bench.store.commit({ ...runDone({ runId: run.id, jobId: "" }, "live"), fence: null });
    });

    it("an event that matters only to waiting runs is stored only for them", async () => {
      const run = await seedLeased(bench.store);
      const unwanted = await sendEvent("w/maybe", { ifAwaited: true });
      expect(await bench.store.getEvent(unwanted.id)).toBeNull();
      await bench.store.commit(waiting(run, { name: "w/maybe" }));
      const wanted = await sendEvent("w/maybe", { ifAwaited: true });
      expect(await bench.store.getEvent(wanted.id)).toMatchObject({ name: "w/maybe" });
      await bench.store.finishJob({ jobId: wanted.id, epoch: 0 });
      await end(run);
    });

    it("events that result from a decision are stored with it, together with the runs they trigger", async () => {
      const parent = await seedLeased(bench.store);
      const child = newRun();
      const job = passJob(child.id, { lease: { gatewayId: "gateway-a", leaseMs: 60_000 } });
      const item = {
        event: { id: child.eventId, name: "inner/made", tsMs: 1, payloadJson: "{}" },
        runs: [{ run: child, log: [logRow("RUN_CREATED"), logRow("DISPATCHED")], jobs: [job] }],
      };
      const stale = { ...waiting(parent, { name: child.id, kind: "invoke" as const }, 9), events: [item] };
      expect(await bench.store.commit(stale)).toEqual(lost("version"));
      expect(await bench.store.getEvent(child.eventId)).toBeNull();
      await bench.store.commit({ ...stale, cas: 1 });
      expect(await bench.store.getEvent(child.eventId)).toMatchObject({ runIds: [child.id] });
      expect(await bench.store.getRun(parent.runId)).toMatchObject({ waits: [{ kind: "invoke", name: child.id }] });
      await end({ runId: child.id, jobId: job.id });
      await end(parent);
    });
  });

  describe("Signals", () => {
    it("BATCH-6: a signal has one waiter: the second one loses, or takes its place", async () => {
      const [a, b] = [await seedLeased(bench.store), await seedLeased(bench.store)];
      const mine = { kind: "signal", name: "s/one" } as const;
      expect(await bench.store.commit(waiting(a, mine))).toMatchObject({ won: true });
      expect(await bench.store.commit(waiting(b, mine))).toEqual(lost("signal"));
      expect(await bench.store.commit(waiting(b, { ...mine, conflict: "replace" }))).toMatchObject({ won: true });
      const holders = await bench.store.findWaits({ name: "s/one", kinds: ["signal"], limit: 10 });
      expect(holders.map(({ runId }) => runId)).toEqual([b.runId]);
      await Promise.all([end(a), end(b)]);
    });

    it("of many concurrent waiters for a signal, over several stores, one gets it", async () => {
      const runs = await Promise.all(Array.from({ length: 24 }, () => seedLeased(bench.store)));
      const stores = [bench.store, bench.another(), bench.another()];
      const outcomes = await Promise.all(
        runs.map((run, index) => stores[index % 3]!.commit(waiting(run, { kind: "signal", name: "s/many" }))),
      );
      expect(outcomes.filter(({ won }) => won)).toHaveLength(1);
      expect(outcomes.filter((outcome) => !outcome.won && outcome.why === "signal")).toHaveLength(23);
      const taken = await Promise.all(
        runs.map((run, index) => {
          const wish = { kind: "signal", name: "s/taken", conflict: "replace", key: "t" } as const;
          const cas = outcomes[index]?.won ? 2 : 1;
          return stores[index % 3]!.commit({ ...waiting(run, wish, cas), log: [logRow("STEP_WAITING", "t")] });
        }),
      );
      expect(taken.every(({ won }) => won)).toBe(true);
      expect(await bench.store.findWaits({ name: "s/taken", kinds: ["signal"], limit: 100 })).toHaveLength(1);
      await Promise.all(runs.map(end));
    });
  });
}
