import { expect, test } from "vitest";
import { reportOf } from "../../src/faults/torture/judge.ts";
import type { PlayedRound, SeenBody } from "../../src/faults/torture/torture-types.ts";

const body = (name: string, resultJson: string): SeenBody => ({
  ...{ hash: name, name, requestId: "q", attempt: 0, ordinal: 0, resultJson },
  ...{ hasFailed: false, wasStored: false },
});

function calm(number: number, outputJson: string, bodies: readonly SeenBody[]): PlayedRound {
  const run = {
    runId: `r${number}`,
    eventId: "e",
    status: "COMPLETED",
    error: null,
    waits: null,
    commits: 1,
    faults: [],
  };
  return { round: { number, plan: { kind: "calm" }, seed: 1 }, run: { ...run, outputJson, bodies }, effectsJson: "1" };
}

const notesOf = (...played: readonly PlayedRound[]): readonly string[] =>
  reportOf({ functionId: "shop-order", seed: 1 }, played, []).notes;

test("a result that differs while the steps give the same is said to come from outside of steps", () => {
  const steps = [body("charge", "1")];
  expect(notesOf(calm(1, "17", steps), calm(2, "18", steps))).toEqual([
    expect.stringMatching(
      /though its steps give the same: part of it is computed outside of steps, such as from the clock/,
    ),
  ]);
  expect(notesOf(calm(1, "17", steps), calm(2, "18", [body("charge", "2")]))).toEqual([
    "What the run returns differs even when nothing goes wrong, so results were not compared.",
  ]);
});

test("steps that only one of two calm runs has are named, unless they may follow from another step", () => {
  const [charge, bonus] = [body("charge", "1"), body("bonus", "1")];
  expect(notesOf(calm(1, "1", [charge]), calm(2, "1", [charge, bonus]))).toEqual([
    expect.stringMatching(/^Not every run in which nothing goes wrong has "bonus"/),
  ]);
  expect(notesOf(calm(1, "1", [charge]), calm(2, "1", [body("charge", "2"), bonus]))).toEqual([]);
  expect(notesOf(calm(1, "1", [charge]), calm(2, "1", [charge]))).toEqual([]);
});
