import { expect, test } from "vitest";
import { failedAttempts, pastOf } from "../src/data/revivals.ts";
import { timelineOf } from "../src/data/timeline.ts";
import type { Fact } from "../src/data/types.ts";
import { FAILURE_STEP } from "../src/data/undoing.ts";
import { detail, step } from "./runs.ts";

const fact = (atMs: number, kind: string, key: string, data: unknown): Fact => ({
  ...{ seq: atMs, atMs, kind, key, attempt: 0, iteration: 0, data },
});
const error = { name: "Error", message: "out of paper" };
const print = step("print", 240_000, { endedMs: 240_100 });
const fails = (atMs: number): Fact[] => [
  fact(atMs, "STEP_FAILED", print.id, { step: { name: "print", startedMs: atMs - 60, durationMs: 50 }, error }),
  fact(atMs, "RUN_FAILED", "", { error }),
];
const resumed = (atMs: number): Fact => fact(atMs, "RUN_REVIVED", "", { dropped: [print.id], pin: {} });

const log = [...fails(2_000), resumed(100_000), ...fails(100_200), resumed(239_000)];
const run = detail([print], { log, endedMs: 240_200 });

test("a run that was resumed says when, and what it had failed with each time", () => {
  const { revivals, failures } = pastOf(run);
  expect(revivals).toEqual([
    { atMs: 100_000, status: "FAILED", endedMs: 2_000, error, isOfUndoing: false },
    { atMs: 239_000, status: "FAILED", endedMs: 100_200, error, isOfUndoing: false },
  ]);
  expect(failures.get(print.id)?.map(({ fromMs, toMs }) => [fromMs, toMs])).toEqual([
    [1_940, 1_990],
    [100_140, 100_190],
  ]);
});

test("its timeline has the failures from before, and nothing for the time in which it had ended", () => {
  const entry = timelineOf(run, 0)
    .tracks.flat()
    .find(({ name }) => name === "print");
  expect(entry?.bars.map(({ kind, fromMs, toMs }) => [kind, fromMs, toMs])).toEqual([
    ["failed", 1_940, 1_990],
    ["failed", 100_140, 100_190],
    ["attempt", 240_000, 240_100],
  ]);
});

test("a run that tried again what it had not undone was not resumed, and one that was cancelled says so", () => {
  const begins = fact(2_100, "STEP_COMPLETED", FAILURE_STEP, { step: {} });
  const undoing = detail([print], { log: [begins, ...fails(2_200), resumed(3_000)] });
  expect(pastOf(undoing).revivals.map(({ isOfUndoing }) => isOfUndoing)).toEqual([true]);
  const cancelled = [fact(2_000, "RUN_CANCELLED", "", { error }), fact(3_000, "RUN_REVIVED", "", { dropped: [] })];
  expect(pastOf(detail([], { log: cancelled })).revivals).toMatchObject([{ status: "CANCELLED", endedMs: 2_000 }]);
  expect(pastOf(detail([])).revivals).toEqual([]);
});

test("the attempt that ended a step counts among those that failed, where it failed", () => {
  const failure = (attempt: number) => ({ attempt, atMs: 1, error });
  const earlier = [failure(0), failure(1)];
  const counts = (more: object) => failedAttempts(step("mail", 1, more));
  expect(counts({ status: "failed", attempt: 2, failedAttempts: earlier })).toBe(3);
  expect(counts({ status: "failed", attempt: 2, failedAttempts: [...earlier, failure(2)] })).toBe(3);
  expect(counts({ status: "completed", attempt: 2, failedAttempts: earlier })).toBe(2);
  expect(counts({ status: "retrying", attempt: 2, failedAttempts: earlier })).toBe(2);
  expect(counts({ status: "failed", attempt: 0 })).toBe(0);
});
