import { describe, expect, test } from "vitest";
import { barNote, timelineOf } from "../src/data/timeline.ts";
import type { Fact, RunDetail, Step, Waiting } from "../src/data/types.ts";
import { workerWaits } from "../src/data/worker-waits.ts";
import { detail, fact, step } from "./runs.ts";

const dispatched = (atMs: number, data: object = {}, iteration = 2): Fact =>
  fact(atMs, "DISPATCHED", { kind: "pass", ...data }, { iteration });
const worked = (startedMs: number, kind = "STEP_COMPLETED"): Fact =>
  fact(startedMs + 10, kind, { step: { op: "StepRun", startedMs, durationMs: 8 } });
const ended = (atMs: number): Fact => fact(atMs, "STEP_COMPLETED", { step: { op: "Sleep" } });
const lost = (atMs: number): Fact => fact(atMs, "LEASE_LOST", { kind: "pass", key: "" }, { iteration: 1 });

const run = (log: readonly Fact[], steps: readonly Step[] = [], more: Partial<RunDetail> = {}): RunDetail =>
  detail(steps, { startedMs: 1_000, endedMs: 40_000, log, ...more });
const barsOf = (of: RunDetail, nowMs = 0): unknown[] =>
  timelineOf(of, nowMs).tracks.flatMap((track) =>
    track.map(({ name, bars }) => [name, ...bars.map(({ kind, fromMs, toMs }) => [kind, fromMs, toMs])]),
  );

describe("A run waited for a worker", () => {
  test("from when a sleep was over to when its next step began", () => {
    const log = [worked(1_010), ended(9_000), dispatched(9_000), worked(29_000)];
    expect(workerWaits(run(log))).toEqual([{ kind: "queue", fromMs: 9_000, toMs: 29_000 }]);
    const steps = [step("a", 1_010), step("b", 29_000)];
    expect(barsOf(run(log, steps))).toContainEqual(["waited 20.0 s for a worker", ["queue", 9_000, 29_000]]);
  });

  test("not while the work was handed out, nor before it was due", () => {
    expect(workerWaits(run([dispatched(9_000), worked(9_400)]))).toEqual([]);
    expect(workerWaits(run([dispatched(9_000, { delayMs: 20_000 }), worked(29_300)]))).toEqual([]);
    expect(workerWaits(run([dispatched(9_000, { untilMs: 29_000 }), worked(29_300)]))).toEqual([]);
  });

  test("not while a sleep ended, and not for the results of another run", () => {
    const kept = fact(9_500, "STEP_COMPLETED", { step: { op: "StepRun", startedMs: 9_400, kept: true } });
    expect(workerWaits(run([dispatched(9_000), kept, ended(12_000), worked(29_000)]))).toEqual([
      { kind: "queue", fromMs: 9_000, toMs: 29_000 },
    ]);
  });

  test("in the queue, where its function limits how many runs go on at once", () => {
    const created = fact(1_000, "RUN_CREATED", { run: { flow: { slots: ["a"], priority: 0 } } });
    expect(barsOf(run([created, dispatched(9_000), worked(29_000)]))).toEqual([
      ["waited 20.0 s in the queue", ["queue", 9_000, 29_000]],
    ]);
  });

  test("once a failed attempt's next one was due, in the entry of its step", () => {
    const flaky = step("flaky", 30_000, { attempt: 1 });
    const failed = fact(1_060, "STEP_ATTEMPT_FAILED", { step: { startedMs: 1_010, durationMs: 50 }, delayMs: 3_000 });
    const log = [{ ...failed, key: flaky.id }, dispatched(1_060, { delayMs: 3_000 }), worked(30_000)];
    expect(barsOf(run(log, [flaky]))).toEqual([
      [
        "flaky",
        ...[
          ["failed", 1_010, 1_060],
          ["backoff", 1_060, 4_060],
          ["queue", 4_060, 30_000],
        ],
        ["attempt", 30_000, 30_100],
      ],
    ]);
  });
});

describe("A worker was lost", () => {
  test("from what is known of it last to when another one took over", () => {
    const log = [dispatched(1_000, {}, 1), worked(1_010), lost(29_000), worked(29_030)];
    expect(workerWaits(run(log))).toEqual([{ kind: "lost", fromMs: 1_020, toMs: 29_000 }]);
    expect(barsOf(run(log, [step("a", 1_010, { durationMs: 8 })]))).toContainEqual([
      "worker lost, another took over after 28.0 s",
      ["lost", 1_020, 29_000],
    ]);
  });

  test("with the next attempt of a step: it did not only wait", () => {
    const flaky = step("flaky", 30_000, { attempt: 1 });
    const failed = fact(1_060, "STEP_ATTEMPT_FAILED", { step: { startedMs: 1_010, durationMs: 50 }, delayMs: 0 });
    const log = [{ ...failed, key: flaky.id }, dispatched(1_060), lost(29_900), worked(30_000)];
    expect(workerWaits(run(log)).map(({ kind }) => kind)).toEqual(["lost"]);
    expect(barsOf(run(log, [flaky]))).toEqual([
      ["flaky", ["failed", 1_010, 1_060], ["lost", 1_060, 30_000], ["attempt", 30_000, 30_100]],
    ]);
  });
});

describe("A run that waits for a worker now", () => {
  const waiting = (reason: string): Waiting => ({
    ...{ reason, message: "", untilMs: null, step: null, runId: null, instanceId: null },
  });
  const open = (reason: string): RunDetail =>
    run([worked(1_010), ended(9_000), dispatched(9_000)], [step("a", 1_010)], {
      ...{ status: "RUNNING", endedMs: null, waiting: waiting(reason) },
    });

  test("says so, and since when it is due", () => {
    expect(barsOf(open("NO_WORKER"), 12_000)).toContainEqual(["waiting 3.00 s for a worker", ["queue", 9_000, 12_000]]);
  });

  test("says that a worker which had it was lost", () => {
    const begun = { ...open("NO_WORKER"), log: [dispatched(1_000, {}, 1), worked(1_100)] };
    expect(barsOf(begun, 12_000)).toContainEqual(["worker lost, no other has taken over yet", ["lost", 1_110, 12_000]]);
  });

  test("unless a worker has it", () => {
    expect(barsOf(open("AT_WORK"), 12_000)).toContainEqual(["with a worker", ["active", 1_110, 12_000]]);
  });
});

test("bars of steps, sleeps and retries need no note", () => {
  for (const kind of ["attempt", "failed", "backoff", "sleep", "wait", "active"] as const) {
    expect(barNote({ kind, fromMs: 0, toMs: 5, isOpen: false }, { isLimited: false })).toBeNull();
  }
});
