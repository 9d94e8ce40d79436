/** The contract's part about runs that are deleted, and those that are made of others. */
import { describe, expect, it } from "vitest";
import { type ContractBench, logRow, newId, newRun, passJob, runDone, seedLeased, seedRun } from "./harness.ts";

export function repairContract(bench: ContractBench): void {
  const seedEnded = async (functionId = "deleted") => {
    const run = await seedLeased(bench.store, functionId);
    await bench.store.commit(runDone(run));
    const detail = await bench.store.getRun(run.runId);
    return { ...run, eventId: detail?.head.eventId ?? "" };
  };
  /** Another run of a stored event. */
  const runAgain = async (eventIds: readonly string[], origin?: { readonly runId: string; readonly step?: string }) => {
    const made = origin && { runId: origin.runId, kind: origin.step ? "fork" : "rerun", step: origin.step ?? null };
    const run = newRun({ eventId: eventIds[0] ?? "", ...(made ? { origin: made as never } : {}) });
    const job = passJob(run.id, { functionId: "again", delayMs: 3_600_000 });
    const event = { id: run.eventId, name: run.eventName, tsMs: 0, payloadJson: "{}" };
    const log = [
      logRow("RUN_CREATED", "", { dataJson: '{"run":{"maxAttempts":1,"eventLength":2},"event":{},"more":[{}]}' }),
    ];
    await bench.store.intake([{ event, runs: [{ run, log, jobs: [job] }], storedEvents: eventIds }]);
    return { runId: run.id, jobId: job.id };
  };
  const cancel = (runId: string) =>
    bench.store.commit({
      runId,
      fence: null,
      cas: "live",
      log: [logRow("RUN_CANCELLED", "", { dataJson: '{"error":{}}' })],
      head: { status: "CANCELLED", errorJson: "{}" },
      removeJobs: "all",
      addJobs: [],
    });

  it("runs of which another one was made can be left out of a bulk job, and are counted", async () => {
    const functionId = `again-${newId()}`;
    const [once, twice] = [await seedEnded(functionId), await seedEnded(functionId)];
    const made = await runAgain([twice.eventId], { runId: twice.runId });
    const filter = { environment: "", status: ["COMPLETED"], functionId } as const;
    const page = (more: object = {}) => bench.store.bulkPage({ ...filter, ...more }, "~", 10);
    const all = [twice.runId, once.runId];
    expect(await page()).toEqual({ runIds: all, leftOut: 0, nextBeforeId: null });
    expect(await page({ notAgain: "none" })).toEqual({ runIds: [once.runId], leftOut: 1, nextBeforeId: null });
    expect(await page({ notAgain: made.runId.slice(0, 20) })).toMatchObject({ runIds: all, leftOut: 0 });
    expect(await page({ notAgain: "none", status: ["FAILED"] })).toMatchObject({ runIds: [], leftOut: 0 });
    await cancel(made.runId);
    await bench.store.deleteRuns([made.runId]);
    expect(await page({ notAgain: "none" })).toMatchObject({ runIds: all, leftOut: 0 });
  });

  describe("Deleted runs", () => {
    it("a run that has ended is deleted with its log and its event; one that goes on stays", async () => {
      const [ended, living] = [await seedEnded(), await seedLeased(bench.store, "deleted")];
      expect(await bench.store.deleteRuns([living.runId, ended.runId, newId(), ended.runId])).toEqual([
        "living",
        "deleted",
        "gone",
        "deleted",
      ]);
      expect(await bench.store.getRun(ended.runId)).toBeNull();
      expect(await bench.store.loadRuns([ended.runId])).toEqual([]);
      expect(await bench.store.getEvent(ended.eventId)).toBeNull();
      expect(await bench.store.getRun(living.runId)).not.toBeNull();
      expect(await bench.store.deleteRuns([ended.runId])).toEqual(["gone"]);
      expect(await bench.store.deleteRuns([])).toEqual([]);
    });

    it("what is written to a deleted run is refused: it is gone, and its work is another worker's", async () => {
      const run = await seedEnded();
      await bench.store.deleteRuns([run.runId]);
      expect(await bench.store.commit(runDone(run))).toEqual({ won: false, why: "stale" });
      expect(await bench.store.commit({ ...runDone(run, 2), fence: null })).toEqual({ won: false, why: "gone" });
      expect(await bench.store.getRun(run.runId)).toBeNull();
    });

    it("an event stays for as long as a run of it is left, or its job has not been done", async () => {
      const run = await seedEnded();
      const other = await runAgain([run.eventId]);
      expect(await bench.store.deleteRuns([run.runId])).toEqual(["deleted"]);
      expect((await bench.store.getEvent(run.eventId))?.runIds).toEqual([other.runId]);
      await cancel(other.runId);
      const job = passJob("", { kind: "event", key: run.eventId, functionId: "" });
      const child = await seedRun(bench.store, { run: { functionId: "with-jobs" } });
      await bench.store.commit({
        runId: child.runId,
        fence: null,
        cas: "live",
        log: [logRow("PASS_REPORTED")],
        head: { status: "WAITING" },
        removeJobs: [],
        addJobs: [job],
      });
      expect(await bench.store.deleteRuns([other.runId])).toEqual(["deleted"]);
      expect((await bench.store.getEvent(run.eventId))?.runIds).toEqual([]);
    });

    it("the event that says how a run ended goes with it, unless a run was made of that", async () => {
      const [alone, heard] = [await seedEnded(), await seedEnded()];
      const end = (runId: string) => ({ id: runId, name: "inngest/function.failed", tsMs: 0, payloadJson: "{}" });
      await bench.store.intake([{ event: end(alone.runId), runs: [] }]);
      const of = newRun({ eventId: heard.runId });
      await bench.store.intake([
        { event: end(heard.runId), runs: [{ run: of, log: [logRow("RUN_CREATED")], jobs: [] }] },
      ]);
      expect(await bench.store.deleteRuns([alone.runId, heard.runId])).toEqual(["deleted", "deleted"]);
      expect(await bench.store.getEvent(alone.runId)).toBeNull();
      expect(await bench.store.getEvent(heard.runId)).toMatchObject({ runIds: [of.id] });
      await cancel(of.id);
    });

    it("all events of a batch go with its run", async () => {
      const first = await seedEnded();
      const second = await seedEnded();
      const batch = await runAgain([first.eventId, second.eventId]);
      await bench.store.deleteRuns([first.runId, second.runId]);
      expect((await bench.store.getEvent(second.eventId))?.runIds).toEqual([batch.runId]);
      await cancel(batch.runId);
      expect(await bench.store.deleteRuns([batch.runId])).toEqual(["deleted"]);
      for (const { eventId } of [first, second]) expect(await bench.store.getEvent(eventId)).toBeNull();
    });

    it("the sender's id of a deleted event may be used again", async () => {
      const send = async () => {
        const run = newRun();
        const event = { id: run.eventId, name: "shop/keyed", idempotencyKey: 'a "key"', tsMs: 0 };
        const payloadJson = '{"id":"a \\"key\\"","name":"shop/keyed"}';
        const job = passJob(run.id, { lease: { gatewayId: "g", leaseMs: 60_000 } });
        const runs = [{ run, log: [logRow("RUN_CREATED")], jobs: [job] }];
        const [outcome] = await bench.store.intake([{ event: { ...event, payloadJson }, runs }]);
        return { runId: run.id, jobId: job.id, outcome };
      };
      const first = await send();
      expect((await send()).outcome?.duplicate).toBe(true);
      await bench.store.commit(runDone(first));
      await bench.store.deleteRuns([first.runId]);
      const again = await send();
      expect(again.outcome?.duplicate).toBe(false);
      await bench.store.commit(runDone(again));
    });

    it("a run whose end a step waits for, or is about to be told, stays until then", async () => {
      const [parent, child] = [await seedLeased(bench.store, "parent"), await seedEnded()];
      const jobs = [passJob("", { kind: "child", key: child.runId, functionId: "" })];
      const wait = { runId: parent.runId, key: "call", kind: "invoke", name: child.runId } as const;
      await bench.store.commit({
        runId: parent.runId,
        fence: null,
        cas: 1,
        log: [logRow("STEP_WAITING", "call")],
        head: { status: "WAITING" },
        removeJobs: [],
        addJobs: jobs,
        addWaits: [wait],
      });
      expect(await bench.store.deleteRuns([child.runId])).toEqual(["needed"]);
      const over = { runId: parent.runId, fence: null, cas: 2, head: { status: "RUNNING" }, removeJobs: [] } as const;
      const log = [logRow("STEP_COMPLETED", "call")];
      await bench.store.commit({ ...over, log, addJobs: [], removeWaits: ["call"] });
      expect(await bench.store.deleteRuns([child.runId])).toEqual(["needed"]);
      const [claimed] = await bench.store
        .claim({
          gatewayId: "g",
          leaseMs: 60_000,
          wants: [{ functionId: "", limit: 10 }],
        })
        .then((all) => all.filter(({ kind, key }) => kind === "child" && key === child.runId));
      await bench.store.finishJob({ jobId: claimed?.id ?? "", epoch: claimed?.epoch ?? 0 });
      expect(await bench.store.deleteRuns([child.runId])).toEqual(["deleted"]);
    });
  });

  describe("Runs on hold", () => {
    it("a run on hold is not deleted before it is released", async () => {
      const run = await seedEnded();
      await bench.store.holdRun(run.runId, "an audit");
      expect(await bench.store.deleteRuns([run.runId])).toEqual(["held"]);
      await bench.store.releaseHold(run.runId);
      expect(await bench.store.deleteRuns([run.runId])).toEqual(["deleted"]);
    });
  });

  describe("Runs made of others", () => {
    it("are listed, the newest first, as long as they are there", async () => {
      const run = await seedEnded();
      expect(await bench.store.descendantsOf(run.runId, 10)).toEqual([]);
      const rerun = await runAgain([run.eventId], { runId: run.runId });
      const fork = await runAgain([run.eventId], { runId: run.runId, step: "charge" });
      const listed = [
        { runId: fork.runId, kind: "fork", step: "charge" },
        { runId: rerun.runId, kind: "rerun", step: null },
      ];
      expect(await bench.store.descendantsOf(run.runId, 10)).toEqual(listed);
      expect(await bench.store.descendantsOf(run.runId, 1)).toEqual(listed.slice(0, 1));
      expect(await bench.store.descendantsOf(rerun.runId, 10)).toEqual([]);
      await cancel(fork.runId);
      await bench.store.deleteRuns([fork.runId]);
      expect(await bench.store.descendantsOf(run.runId, 10)).toEqual(listed.slice(1));
    });

    it("a run is made once with one id", async () => {
      const run = await seedEnded();
      const again = newRun({ eventId: run.eventId });
      const event = { id: run.eventId, name: again.eventName, tsMs: 0, payloadJson: "{}" };
      const make = () =>
        bench.store.intake([
          {
            event,
            runs: [{ run: again, log: [logRow("RUN_CREATED")], jobs: [passJob(again.id, { delayMs: 3_600_000 })] }],
            storedEvents: [run.eventId],
          },
        ]);
      await make();
      await expect(make()).rejects.toMatchObject({ code: "STORE_FAILED", reason: "data" });
    });
  });
}
