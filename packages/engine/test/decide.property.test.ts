import type { Op } from "@holdfast/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import { decide, decideTogether, type StepEnd } from "../src/decide/decide.ts";
import type { FetchResult, Input, PassReport } from "../src/decide/input.ts";
import { isEnded, isRunTimer, needsWorker } from "../src/run/run-state.ts";
import { compensationKey, isCompensating } from "../src/run/saga.ts";
import { isParked } from "../src/run/step-ops.ts";
import { op, ops, undoable, World } from "./world.ts";

const ids = fc.constantFrom("a", "b", "c", "d");

/** Waits of all kinds; some of them cannot work. */
function waitOp(id: string, timeout: string, race: boolean, kind: number): Op {
  const parallel = race ? { parallelMode: "race" } : {};
  switch (kind) {
    case 0:
      return op("WaitForEvent", id, { name: "shop/paid", opts: { timeout, ...parallel } });
    case 1:
      return op("WaitForEvent", id, { name: "shop/paid", opts: { timeout, if: "(", ...parallel } });
    case 2:
      return op("WaitForSignal", id, { opts: { signal: "go", timeout, conflict: race ? "fail" : "replace" } });
    case 3:
      return op("WaitForSignal", id, { opts: { signal: "taken", timeout, conflict: "fail", ...parallel } });
    case 4:
      return op("InvokeFunction", id, { opts: { function_id: race ? "shop-pack" : "gone", timeout } });
    default:
      return op("Gateway", id, { opts: { url: "http://127.0.0.1/", method: "GET" } });
  }
}

const someOp = fc.oneof(
  { weight: 4, arbitrary: fc.record({ id: ids }).map(({ id }) => op("StepRun", id, { data: id })) },
  { weight: 1, arbitrary: ids.map((id) => undoable(id)) },
  { weight: 1, arbitrary: ids.map((id) => op("StepRun", compensationKey(id), { data: null })) },
  {
    weight: 1,
    arbitrary: ids.map((id) => op("StepFailed", compensationKey(id), { error: { name: "E", message: "m" } })),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({ id: ids, race: fc.boolean() })
      .map(({ id, race }) => op("StepPlanned", id, race ? { opts: { parallelMode: "race" } } : {})),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ id: ids, name: fc.constantFrom("", "1s", "1m", "2026-01-01T00:00:00Z") })
      .map(({ id, name }) => op("Sleep", id, { name })),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ id: ids, attempt: fc.option(fc.integer({ min: -1, max: 4 }), { nil: undefined }) })
      .map(({ id, attempt }) =>
        op("StepError", id, { error: { name: "E", message: "m" }, ...(attempt === undefined ? {} : { attempt }) }),
      ),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ id: ids, timeout: fc.constantFrom("1s", "1h", ""), race: fc.boolean(), kind: fc.nat(5) })
      .map(({ id, timeout, race, kind }) => waitOp(id, timeout, race, kind)),
  },
  { weight: 2, arbitrary: ids.map((id) => op("StepFailed", id, { error: { name: "E", message: "m" } })) },
  { weight: 1, arbitrary: fc.constantFrom(op("None", ""), op("DiscoveryRequest", "x")) },
);

const report: fc.Arbitrary<PassReport> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc
      .record({ list: fc.array(someOp, { maxLength: 4 }), version: fc.constantFrom(1, 2), noRetry: fc.boolean() })
      .map(({ list, version, noRetry }) =>
        ops(list, { requestVersion: version, noRetry: noRetry && list.length === 1 }),
      ),
  },
  { weight: 4, arbitrary: fc.constant<PassReport>({ status: "ERROR", error: { name: "E", message: "m" } }) },
  { weight: 1, arbitrary: fc.constant<PassReport>({ status: "DONE", outputText: "1" }) },
  { weight: 1, arbitrary: fc.constant<PassReport>({ status: "FAILED", error: { name: "E", message: "m" } }) },
  { weight: 1, arbitrary: fc.constant<PassReport>(ops([op("DeferAdd", "w")])) },
);

interface Move {
  readonly pick: number;
  readonly skipMs: number;
  readonly inPlace: boolean;
  readonly report: PassReport;
}

const move: fc.Arbitrary<Move> = fc.record({
  pick: fc.nat(100),
  skipMs: fc.constantFrom(0, 0, 500, 1500, 70_000),
  inPlace: fc.boolean(),
  report,
});

/** The job that the move is about: one that is due, since no one can report on another. */
function inputOf(world: World, { pick, inPlace, report }: Move): Input | undefined {
  const due = [...world.queue.values()].filter((job) => job.dueMs <= world.nowMs);
  const job = due[pick % Math.max(1, due.length)];
  if (pick === 50 && job && needsWorker(job))
    return { type: "fail", jobId: job.id, error: { name: "E", message: "lost" } };
  if (pick === 51 || (pick > 60 && isEnded(world.state.status))) return { type: "revive" };
  const waiting = [...world.waits.keys()];
  const key = waiting[pick % Math.max(1, waiting.length)];
  if (pick % 3 === 0 && key !== undefined) return { type: "arrived", key, result: { type: "data", text: "1" } };
  if (!job) return undefined;
  if (job.kind === "timer") return { type: "timer", jobId: job.id, startedMs: pick % 2 === 0 ? null : 1_000_000 };
  if (job.kind === "fetch") return { type: "fetched", jobId: job.id, result: fetched(pick) };
  const sleeps = report.status === "OPS" ? report.ops.filter((one) => isParked(one)) : [];
  if (pick % 5 === 0 && sleeps.length > 0) return { type: "parked", ops: sleeps };
  return { type: "report", jobId: job.id, inPlace, report };
}

/** What may end one of the steps that wait. */
function endOf(world: World, pick: number): StepEnd[] {
  const timers = [...world.queue.values()].filter((job) => job.kind === "timer" && job.dueMs <= world.nowMs);
  const keys = [...world.waits.keys()];
  const [timer, key] = [timers[pick % Math.max(1, timers.length)], keys[pick % Math.max(1, keys.length)]];
  if (pick % 2 === 0 && timer) return [{ type: "timer", jobId: timer.id }];
  return key === undefined ? [] : [{ type: "arrived", key, result: { type: "data", text: String(pick) } }];
}

/** All of a run but ids and numbers, which follow from how many decisions there were. */
function outlineOf({ state, queue, waits }: World) {
  const jobs = [...queue.values()].map(({ kind, key, attempt, dueMs }) => [kind, key, attempt, dueMs].join(" "));
  return {
    status: state.status,
    memo: [...state.memo],
    open: [...state.open.keys()].sort(),
    pending: [...state.pending].sort(),
    waits: [...waits.keys()].sort(),
    jobs: jobs.sort(),
  };
}

function fetched(pick: number): FetchResult {
  const error = { name: "E", message: "m" };
  if (pick % 3 === 0) return { type: "data", text: '{"status_code":200}' };
  return pick % 3 === 1 ? { type: "error", error } : { type: "retry", error };
}

describe("decide() over random reports", () => {
  test("DECIDE-1 to DECIDE-4, DECIDE-6 and DECIDE-8 hold, and the state can be rebuilt from the log alone", () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 25 }), (moves) => {
        const world = new World({ run: moves.length % 2 === 0 ? {} : { deadlineInMs: 60_000, finishInMs: 90_000 } });
        for (const one of moves) {
          world.nowMs += one.skipMs;
          const input = inputOf(world, one);
          if (!input) continue;
          const undoing = isCompensating(world.state);
          const running = [...world.queue.values()].find((job) => job.kind === "pass" && job.dueMs <= world.nowMs);
          const memoBefore = new Map(world.state.memo);
          world.decide(input);
          check(world, input);
          // Beginning to undo gives everything up, as the end does.
          if (!undoing && isCompensating(world.state)) continue;
          if (running && !("jobId" in input && input.jobId === running.id) && !isEnded(world.state.status)) {
            expect(world.queue.has(running.id), "6: a pass that may be running stays").toBe(true);
          }
          if (input.type === "revive") continue;
          for (const [id, memo] of memoBefore) expect(world.state.memo.get(id), "3: first result stays").toEqual(memo);
        }
      }),
      { numRuns: runs(3000) },
    );
  });

  test("ends that are decided on together leave the run as if each had come after the one before", () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 6 }), fc.array(fc.nat(100), { maxLength: 6 }), (moves, picks) => {
        const run = moves.length % 2 === 0 ? {} : { deadlineInMs: 60_000, finishInMs: 90_000 };
        const [one, together] = [new World({ run }), new World({ run })];
        for (const world of [one, together]) {
          const [kind = 0, isRace = 0] = picks;
          const waits = ["a", "b", "c", "e", "f"].map((id) => waitOp(id, "1s", isRace % 3 === 0, (kind % 2) * 4));
          world.pass(ops([...waits, op("Sleep", "g", { name: "1s" })]));
          for (const step of moves) {
            world.nowMs += step.skipMs;
            const input = inputOf(world, step);
            if (input) world.decide(input);
          }
          world.nowMs += 2_000;
        }
        const ends = picks.flatMap((pick) => endOf(one, pick));
        const counted = ends.map((end) => one.decide(end) !== null);
        const joined = decideTogether(together.state, ends, together.context());
        expect(joined?.counted ?? ends.map(() => false)).toEqual(counted.slice(0, joined?.counted.length));
        if (!joined) return;
        together.commit(joined.decision);
        check(together, ends[counted.indexOf(true)] as StepEnd);
        for (const late of ends.slice(joined.counted.length)) together.decide(late);
        expect(outlineOf(together)).toEqual(outlineOf(one));
      }),
      { numRuns: runs(2000) },
    );
  });

  test("together they may be too large for a run, where each alone is not", () => {
    const world = new World();
    world.pass(ops(["a", "b", "c"].map((id) => waitOp(id, "1h", false, 0))));
    const text = JSON.stringify("x".repeat(40_000));
    const ends = ["a", "b", "c"].map((key) => ({ type: "arrived", key, result: { type: "data", text } }) as const);
    const joined = decideTogether(world.state, ends, world.context());
    expect(joined?.counted).toEqual([true, true, true]);
    expect(joined?.decision.log.at(-1)?.dataJson).toContain("RUN_TOO_LARGE");
  });

  test("DECIDE-5: a run that has ended never changes, whatever report arrives", () => {
    fc.assert(
      fc.property(report, fc.boolean(), (late, inPlace) => {
        const world = new World();
        const jobId = world.job("pass").id;
        world.pass({ status: "DONE", outputText: "1" });
        expect(world.decide({ type: "report", jobId, inPlace, report: late })).toBeNull();
        expect(world.decide({ type: "cancel", reason: "late" })).toBeNull();
        expect(world.state.status).toBe("COMPLETED");
        expect(world.queue.size).toBe(0);
      }),
    );
  });

  test("every run ends when its planned steps execute, its sleeps wake and its handler returns", () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 12 }), (moves) => {
        const world = new World();
        for (const one of moves) {
          world.nowMs += one.skipMs;
          const input = inputOf(world, one);
          if (input) world.decide(input);
        }
        for (let turns = 0; turns < 50 && !isEnded(world.state.status); turns += 1) {
          world.nowMs += 3_600_000;
          const [job] = [...world.queue.values()].sort((x, y) => x.dueMs - y.dueMs);
          if (!job) throw new Error("the run was forgotten");
          if (job.kind === "timer") world.decide({ type: "timer", jobId: job.id });
          else if (job.kind === "fetch") world.decide({ type: "fetched", jobId: job.id, result: fetched(0) });
          else if (job.kind === "step") world.step(job.key, ops([op("StepRun", job.key, { data: 1 })]));
          else world.pass({ status: "DONE", outputText: "1" });
        }
        expect(isEnded(world.state.status)).toBe(true);
      }),
      { numRuns: runs(1000) },
    );
  });
});

function check(world: World, input: Input): void {
  const { state, queue } = world;
  const passes = [...queue.values()].filter((job) => job.kind === "pass");
  if (isEnded(state.status)) expect(queue.size, "5: no job after the end").toBe(0);
  else expect(queue.size, "1: a live run has a job").toBeGreaterThan(0);
  expect(passes.length, "2: at most one pass").toBeLessThanOrEqual(1);
  const rows = state.waits.filter((key) => world.waits.has(key) || !world.displaced.has(key));
  expect(rows.toSorted(), "the rows are what the log says").toEqual([...world.waits.keys()].sort());
  for (const key of world.waits.keys()) expect(state.memo.has(key), "8: a finished step waits for nothing").toBe(false);
  if (isEnded(state.status)) expect(world.waits.size, "8: an ended run waits for nothing").toBe(0);
  for (const key of world.waits.keys()) expect(state.open.get(key)?.phase, "what waits is open").toBe("waiting");
  for (const job of queue.values()) {
    if (job.key !== "") expect(state.memo.has(job.key), "3: no job of a finished step").toBe(false);
  }
  expect(decide(state, input, world.context()), "4: a duplicate decides nothing").toBeNull();
  const drives = [...queue.values()].some((job) => !isRunTimer(job.key));
  if (!isEnded(state.status)) expect(drives, "1: timers of the run alone move nothing on").toBe(true);
  expect([...state.jobs.values()].map((job) => job.id).sort()).toEqual([...queue.keys()].sort());
  const reread = world.reread();
  expect(reread).toEqual(state);
}
