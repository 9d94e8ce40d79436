import { describe, expect, it } from "vitest";
import type { NewJob } from "../../src/index.ts";
import {
  type ContractBench,
  claimOne,
  logRow,
  lost,
  newId,
  newRun,
  passJob,
  runDone,
  seedLeased,
  seedRun,
  stepDone,
} from "./harness.ts";

export function commitContract(bench: ContractBench): void {
  describe("Fences", () => {
    it("a step of the current dispatch is stored and leaves the head unchanged", async () => {
      const run = await seedLeased(bench.store);
      expect(await bench.store.commit(stepDone(run, "a"))).toMatchObject({
        won: true,
        inserted: [true],
        version: null,
      });
      const [stored] = await bench.store.loadRuns([run.runId]);
      expect(stored?.head).toMatchObject({ version: 1, status: "RUNNING" });
      expect(stored?.log.map((row) => row.kind)).toEqual(["RUN_CREATED", "DISPATCHED", "STEP_COMPLETED"]);
    });

    it("a zombie worker's result is rejected once another worker has the work, and counted (E8)", async () => {
      const run = await seedLeased(bench.store, "zombie", 0);
      const again = await claimOne(bench.store, "zombie");
      expect(again).toMatchObject({ id: run.jobId, epoch: 2, lost: true });
      const before = bench.store.stats().staleWrites;
      expect(await bench.store.commit(stepDone(run, "a", 1))).toEqual(lost("stale"));
      expect(await bench.store.commit(runDone(run, 1, 1))).toEqual(lost("stale"));
      expect(bench.store.stats().staleWrites).toBe(before + 2);
      const [stored] = await bench.store.loadRuns([run.runId]);
      expect(stored?.head).toMatchObject({ version: 1, outputJson: null });
      expect(stored?.log.some((row) => row.kind === "STEP_COMPLETED")).toBe(false);
      expect(await bench.store.commit(runDone(run, 1, 2))).toMatchObject({ won: true, version: 2 });
    });

    it("a late result is accepted while no other worker has claimed the work", async () => {
      const expired = await seedLeased(bench.store, "late", 0);
      expect(await bench.store.commit(stepDone(expired, "a"))).toMatchObject({ won: true });
      const released = await seedLeased(bench.store, "late");
      expect(await bench.store.releaseLeases([{ jobId: released.jobId, epoch: 1, lost: true }])).toEqual([true]);
      expect(await bench.store.commit(runDone(released))).toMatchObject({ won: true });
      expect(await bench.store.commit(runDone(expired))).toMatchObject({ won: true });
    });

    it("the job of one run does not permit a write to another", async () => {
      const a = await seedLeased(bench.store);
      const b = await seedLeased(bench.store);
      const foreign = { ...stepDone(a, "x"), runId: b.runId };
      expect(await bench.store.commit(foreign)).toEqual(lost("stale"));
    });
  });

  describe("The run log", () => {
    it("of two results of one step the first is kept, and the second is reported as a duplicate", async () => {
      const run = await seedLeased(bench.store);
      await bench.store.commit(stepDone(run, "a", 1, '{"data":"first"}'));
      const second = await bench.store.commit({
        ...stepDone(run, "a", 1, '{"data":"second"}'),
        log: [logRow("STEP_COMPLETED", "a", { dataJson: '{"data":"second"}' }), logRow("STEP_COMPLETED", "b")],
      });
      expect(second).toMatchObject({ won: true, inserted: [false, true] });
      const [stored] = await bench.store.loadRuns([run.runId]);
      expect(stored?.log.find((row) => row.key === "a")?.dataJson).toBe('{"data":"first"}');
    });

    it("a write returns the rows that it had not seen, and the number of its own", async () => {
      const { store } = bench;
      const run = await seedLeased(store);
      const last = async () => (await store.loadRuns([run.runId]))[0]?.log.at(-1)?.seq ?? 0;
      const begin = await last();
      const one = await store.commit({ ...stepDone(run, "a"), seen: begin });
      expect(one).toMatchObject({ won: true, newer: [], seq: await last() });
      const two = await bench.another().commit({ ...stepDone(run, "b"), seen: begin });
      expect(two).toMatchObject({ won: true, inserted: [true], newer: [one.won && one.seq], seq: await last() });
      expect(two.won && one.won && (two.seq ?? 0) > (one.seq ?? 0)).toBe(true);
      const same = await store.commit({ ...stepDone(run, "b"), seen: one.won ? (one.seq ?? 0) : 0 });
      expect(same).toMatchObject({ won: true, inserted: [false], newer: [two.won && two.seq], seq: null });
      const end = await store.commit({ ...runDone(run), seen: await last() });
      expect(end).toMatchObject({ won: true, newer: [], version: 2, seq: await last() });
    });

    it("an event's outcome says where the logs of its runs begin", async () => {
      const { store } = bench;
      const runs = [newRun(), newRun()];
      const [outcome] = await store.intake([
        {
          event: { id: newId(), name: "shop/order", tsMs: 1, payloadJson: "{}" },
          runs: runs.map((run) => ({
            run,
            log: [logRow("RUN_CREATED"), logRow("DISPATCHED")],
            jobs: [passJob(run.id)],
          })),
        },
      ]);
      const stored = await store.loadRuns(runs.map(({ id }) => id));
      expect(stored.flatMap(({ log }) => log.map(({ seq }) => seq))).toEqual(Array(4).fill(outcome?.seq));
    });

    it("a fact in a decision that the log has already is left out, and the rest of the decision is stored", async () => {
      const run = await seedLeased(bench.store);
      await bench.store.commit(stepDone(run, "a", 1, '{"data":"first"}'));
      const log = [logRow("STEP_COMPLETED", "a", { dataJson: '{"data":"second"}' }), ...runDone(run).log];
      const outcome = await bench.another().commit({ ...runDone(run), log });
      expect(outcome).toMatchObject({ won: true, inserted: [false, true], version: 2 });
      const [stored] = await bench.store.loadRuns([run.runId]);
      expect(stored?.log.filter(({ key }) => key === "a").map(({ dataJson }) => dataJson)).toEqual([
        '{"data":"first"}',
      ]);
      expect(stored?.head.status).toBe("COMPLETED");
    });

    it("two equal rows of one batch are distinguished", async () => {
      const run = await seedLeased(bench.store);
      const outcomes = await Promise.all([1, 2, 3].map(() => bench.store.commit(stepDone(run, "same"))));
      expect(outcomes.map((outcome) => outcome.won && outcome.inserted[0])).toEqual([true, false, false]);
    });

    it("text is returned unchanged", async () => {
      const run = await seedLeased(bench.store);
      const dataJson = JSON.stringify({ data: 'quo"te \\ back\\\\slash {braces}, NULL \u0000 \ud800 é 😀\n\t' });
      await bench.store.commit(stepDone(run, 'key "with" \\ {odd}, signs', 1, dataJson));
      const [stored] = await bench.store.loadRuns([run.runId]);
      expect(stored?.log.at(-1)).toMatchObject({ key: 'key "with" \\ {odd}, signs', dataJson });
    });

    it("the texts of events, results and errors are returned unchanged and in their places", async () => {
      const odd = JSON.stringify('quo"te \\ back\\\\slash {braces}, NULL \u0000 \u001f é 😀\n\t');
      const texts = ["null", odd, '""', ` [ ${odd},\n\t{} ] `, "1"];
      const runs = await Promise.all(texts.map(() => seedLeased(bench.store)));
      await Promise.all(
        runs.map(({ runId, jobId }, index) => {
          const [status, kind, field] =
            index % 2 === 0
              ? (["COMPLETED", "RUN_COMPLETED", "output"] as const)
              : (["FAILED", "RUN_FAILED", "error"] as const);
          const log = [logRow(kind, "", { dataJson: `{"${field}":${texts[index]}}` })];
          return bench.store.commit({
            ...runDone({ runId, jobId }),
            log,
            head: { status, [`${field}Json`]: texts[index] },
          });
        }),
      );
      const heads = (await bench.store.loadRuns(runs.map(({ runId }) => runId))).map(({ head }) => head);
      const byId = new Map(heads.map((head) => [head.id, head]));
      expect(runs.map(({ runId }) => byId.get(runId)?.outputJson ?? byId.get(runId)?.errorJson)).toEqual(texts);
      expect(heads.every((head) => (head.outputJson === null) === (head.status === "FAILED"))).toBe(true);
      const events = texts.map((payloadJson) => ({ id: newId(), name: "odd/text", tsMs: 1, payloadJson }));
      await bench.store.intake(events.map((event) => ({ event, runs: [] })));
      const stored = await Promise.all(events.map(({ id }) => bench.store.getEvent(id)));
      expect(stored.map((event) => event?.payloadJson)).toEqual(texts);
    });

    it("long texts are returned unchanged and in their places, whatever is stored with them", async () => {
      const kinds = ["x", "é", "漢😀", '\\"{}[]', "\\u0000\\ud800", "1234567890123456789.10e400,"];
      const textOf = (index: number): string => {
        const [kind = ""] = kinds.slice(index % kinds.length);
        const inner = kind.repeat(1 + Math.ceil((index % 3 === 0 ? 200 : 70_000) / kind.length));
        return kind.startsWith("1") ? `[${inner}${index}]` : `"${inner}${index}"`;
      };
      // More than one statement takes one by one.
      const texts = Array.from({ length: 40 }, (_, index) => textOf(index));
      const runs = await Promise.all(texts.map(() => seedLeased(bench.store)));
      const events = texts.map((payloadJson) => ({ id: newId(), name: "long/text", tsMs: 1, payloadJson }));
      await Promise.all([
        ...runs.map((run, index) => bench.store.commit(stepDone(run, `step ${index}`, 1, `{"data":${texts[index]}}`))),
        bench.store.intake(events.map((event) => ({ event, runs: [] }))),
      ]);
      await Promise.all(
        runs.map(({ runId, jobId }, index) => {
          const log = [logRow("RUN_COMPLETED", "", { dataJson: `{"output":${texts[index]}}` })];
          const head = { status: "COMPLETED", outputJson: texts[index] ?? "" } as const;
          return bench.store.commit({ ...runDone({ runId, jobId }), log, head });
        }),
      );
      const found = new Map(
        (await bench.store.loadRuns(runs.map(({ runId }) => runId))).map((run) => [run.head.id, run]),
      );
      for (const [index, { runId }] of runs.entries()) {
        const { head, log } = found.get(runId) ?? { head: null, log: [] };
        expect(head?.outputJson === texts[index], `output ${index}`).toBe(true);
        const ends = log.slice(-2).map(({ key, dataJson }) => [key, dataJson]);
        expect(ends, `log ${index}`).toEqual([
          [`step ${index}`, `{"data":${texts[index]}}`],
          ["", `{"output":${texts[index]}}`],
        ]);
      }
      const stored = await Promise.all(events.map(({ id }) => bench.store.getEvent(id)));
      expect(stored.map((event, index) => event?.payloadJson === texts[index])).toEqual(texts.map(() => true));
    });
  });

  describe("Versions", () => {
    it("one of two decisions on the same version wins, in one gateway and across two", async () => {
      const other = bench.another();
      for (let round = 0; round < 10; round += 1) {
        const run = await seedLeased(bench.store);
        const outcomes = await Promise.all(
          [bench.store, other, bench.store, other].map((store, index) =>
            store.commit({
              runId: run.runId,
              fence: null,
              cas: 1,
              log: [logRow("DISPATCHED", "step", { iteration: index })],
              head: { status: "RUNNING" },
              removeJobs: [],
              addJobs: [passJob(run.runId, { kind: "step", key: "step" })],
            }),
          ),
        );
        expect(outcomes.filter((outcome) => outcome.won)).toHaveLength(1);
        expect(outcomes.filter((outcome) => !outcome.won)).toEqual([lost("version"), lost("version"), lost("version")]);
        const detail = await bench.store.getRun(run.runId);
        expect(detail?.head.version).toBe(2);
        expect(detail?.jobs.filter((job) => job.kind === "step")).toHaveLength(1);
        expect(detail?.log.filter((row) => row.kind === "DISPATCHED")).toHaveLength(2);
      }
    });

    it("all live changes of one run are applied in the order of the calls", async () => {
      const run = await seedLeased(bench.store);
      const outcomes = await Promise.all(
        [1, 2, 3].map((iteration) =>
          bench.store.commit({
            runId: run.runId,
            fence: null,
            cas: "live",
            log: [logRow("STEP_WAITING", "s", { iteration })],
            head: { status: "WAITING" },
            removeJobs: [],
            addJobs: [],
          }),
        ),
      );
      expect(outcomes.map((outcome) => outcome.won && outcome.version)).toEqual([2, 3, 4]);
    });

    it("a live change whose rows all exist changes nothing, even within the same batch", async () => {
      const run = await seedLeased(bench.store);
      const fence = { jobId: run.jobId, epoch: 1 };
      const step = { runId: run.runId, fence, log: [logRow("STEP_COMPLETED", "a")], removeJobs: [], addJobs: [] };
      const live = { ...step, cas: "live", head: { status: "WAITING" } } as const;
      const outcomes = await Promise.all([
        bench.store.commit({ ...step, cas: null }),
        bench.store.commit(live),
        bench.store.commit({ ...live, log: [...step.log, logRow("STEP_COMPLETED", "b")] }),
      ]);
      expect(outcomes).toMatchObject([
        { won: true, version: null, inserted: [true] },
        { won: true, version: 1, inserted: [false] },
        { won: true, version: 2, inserted: [false, true] },
      ]);
      expect(await bench.store.commit(live)).toMatchObject({ won: true, version: 2, inserted: [false] });
      expect((await bench.store.getRun(run.runId))?.head.version).toBe(2);
    });

    it("a step and the end of its run that are sent together are both stored", async () => {
      const run = await seedLeased(bench.store);
      const [step, end, zombie] = await Promise.all([
        bench.store.commit(stepDone(run, "a")),
        bench.store.commit(runDone(run)),
        bench.store.commit(stepDone(run, "b")),
      ]);
      expect([step.won, end.won]).toEqual([true, true]);
      expect(zombie).toEqual(lost("stale"));
      const detail = await bench.store.getRun(run.runId);
      expect(detail).toMatchObject({ head: { status: "COMPLETED", outputJson: '"done"' }, jobs: [] });
    });

    it("a decision that lost gets the reason", async () => {
      const run = await seedLeased(bench.store);
      await bench.store.commit(runDone(run));
      const late = { ...runDone(run, "live"), fence: null };
      expect(await bench.store.commit(late)).toEqual(lost("ended"));
      expect(await bench.store.commit({ ...late, runId: newId() })).toEqual(lost("gone"));
      const again = newRun({ id: run.runId });
      const create = { runId: run.runId, fence: null, cas: null, create: again, removeJobs: [], addJobs: [] } as const;
      expect(await bench.store.commit({ ...create, log: [logRow("RUN_CREATED")] })).toEqual(lost("exists"));
    });
  });

  describe("Jobs", () => {
    it("a later job in the same transition replaces an earlier one, and one of each kind is kept", async () => {
      const run = await seedLeased(bench.store, "replaced");
      const retry = passJob(run.runId, { functionId: "replaced", attempt: 1, delayMs: 3_600_000 });
      const outcome = await bench.store.commit({
        runId: run.runId,
        fence: { jobId: run.jobId, epoch: 1 },
        cas: 1,
        log: [logRow("PASS_FAILED"), logRow("DISPATCHED", "", { iteration: 1 })],
        head: { status: "WAITING" },
        removeJobs: [run.jobId],
        addJobs: [retry, passJob(run.runId, { functionId: "replaced" })],
      });
      expect(outcome).toMatchObject({ won: true, version: 2 });
      const detail = await bench.store.getRun(run.runId);
      expect(detail?.jobs).toMatchObject([{ id: retry.id, attempt: 1, epoch: 0, leasedBy: null }]);
      expect((detail?.jobs[0]?.availableMs ?? 0) - (outcome.won ? outcome.atMs : 0)).toBe(3_600_000);
      expect(detail?.head.status).toBe("WAITING");
      expect(await claimOne(bench.store, "replaced")).toBeUndefined();
    });

    it("a job that is there stays, unless it is removed with the one that is added", async () => {
      const functionId = "next";
      const [kept, replaced, bare] = await Promise.all([1, 2, 3].map(() => seedLeased(bench.store, functionId)));
      if (!kept || !replaced || !bare) throw new Error("unreachable");
      const next = (run: { runId: string }, iteration: number) => passJob(run.runId, { functionId, iteration });
      const decided = (run: typeof kept, cas: number, removeJobs: readonly string[], addJobs: readonly NewJob[]) => {
        const log = [logRow("DISPATCHED", "", { iteration: cas })];
        return { runId: run.runId, fence: null, cas, log, head: { status: "RUNNING" }, removeJobs, addJobs } as const;
      };
      const step = passJob(kept.runId, { functionId, kind: "step", key: "a" });
      const jobOfReplaced = next(replaced, 1);
      // Sent together, so that what removes a job and what does not are one batch.
      const first = await Promise.all([
        bench.store.commit(decided(kept, 1, [], [next(kept, 1), step])),
        bench.store.commit(decided(replaced, 1, [replaced.jobId], [jobOfReplaced])),
        bench.store.commit(decided(bare, 1, [bare.jobId], [])),
      ]);
      expect(first.map(({ won }) => won)).toEqual([true, true, true]);
      const jobsOf = async ({ runId }: typeof kept) =>
        (await bench.store.getRun(runId))?.jobs.map(({ id }) => id).sort();
      expect(await jobsOf(kept)).toEqual([kept.jobId, step.id].sort());
      expect(await jobsOf(replaced)).toEqual([jobOfReplaced.id]);
      expect(await jobsOf(bare)).toEqual([]);
      // Nothing is removed: one that has none gets it, the others keep theirs.
      const jobOfBare = next(bare, 2);
      const second = await Promise.all([
        bench.store.commit(decided(kept, 2, [], [next(kept, 2)])),
        bench.another().commit(decided(replaced, 2, [], [next(replaced, 2)])),
        bench.store.commit(decided(bare, 2, [], [jobOfBare])),
      ]);
      expect(second.map(({ won }) => won)).toEqual([true, true, true]);
      expect(await jobsOf(kept)).toEqual([kept.jobId, step.id].sort());
      expect(await jobsOf(replaced)).toEqual([jobOfReplaced.id]);
      expect(await jobsOf(bare)).toEqual([jobOfBare.id]);
    });

    it("a run that failed or was cancelled is revived with a version, a completed one is not", async () => {
      for (const status of ["FAILED", "CANCELLED", "COMPLETED"] as const) {
        const run = await seedLeased(bench.store, "revivable");
        const end = status === "COMPLETED" ? { outputJson: "1" } : { errorJson: "{}" };
        const dataJson = status === "COMPLETED" ? '{"output":1}' : '{"error":{}}';
        const log = [logRow(`RUN_${status}`, "", { dataJson })];
        const ended = { runId: run.runId, fence: null, cas: 1, log, removeJobs: "all", addJobs: [] } as const;
        expect(await bench.store.commit({ ...ended, head: { status, ...end } })).toMatchObject({ won: true });
        const revival = {
          runId: run.runId,
          fence: null,
          log: [logRow("RUN_REVIVED", "", { iteration: 1 })],
          head: { status: "RUNNING", appVersion: "2", deadlineMs: 5_000 },
          revives: true,
          removeJobs: [],
          addJobs: [passJob(run.runId, { functionId: "revivable", delayMs: 3_600_000 })],
        } as const;
        expect(await bench.store.commit({ ...revival, cas: 1 })).toEqual(
          lost(status === "COMPLETED" ? "ended" : "version"),
        );
        const outcome = await bench.store.commit({ ...revival, cas: 2 });
        const detail = await bench.store.getRun(run.runId);
        if (status === "COMPLETED") expect([outcome, detail?.head.status]).toEqual([lost("ended"), status]);
        else {
          const head = { status: "RUNNING", version: 3, appVersion: "2", deadlineMs: 5_000, errorJson: null };
          expect(detail?.head).toMatchObject({ ...head, endedMs: null });
        }
      }
    });

    it("a transition that would change a head without a log row is rejected", async () => {
      const run = await seedRun(bench.store);
      const empty = { runId: run.runId, fence: null, cas: 1, log: [], removeJobs: [], addJobs: [] } as const;
      await expect(bench.store.commit(empty)).rejects.toMatchObject({ code: "INTERNAL" });
      await expect(bench.store.commit({ ...empty, cas: null, removeJobs: "all" })).rejects.toMatchObject({
        code: "INTERNAL",
      });
    });
  });
}
