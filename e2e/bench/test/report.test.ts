import { expect, test } from "vitest";
import { comparison, table } from "../report.mjs";
import type { Scenario } from "../scenarios/scenario.mjs";

const scenario: Scenario = {
  name: "one",
  title: "{n} runs",
  rounds: 3,
  sizes: { tiny: 1, quick: 1, usual: 1000, large: 1 },
  measure: async () => ({}),
  shown: [
    { label: "runs/s", value: "rate", digits: 0, better: "higher", aim: 400 },
    { label: "CPU, µs", value: "cpu", digits: 1, better: "lower" },
    { label: "unknown here", value: "missing", digits: 0, better: "lower" },
  ],
};
const words = (text: string): string[] => text.split("\n").map((line) => line.trim().replaceAll(/ {2,}/g, " | "));

test("the table shows the median, the extremes and how far the aim is", () => {
  const rows = [
    { rate: 100, cpu: 2 },
    { rate: 300, cpu: 1 },
    { rate: 200, cpu: 3 },
  ];
  expect(words(table([{ scenario, size: 1000, rows: [rows] }]))).toEqual([
    "median | from | to | aim",
    "1,000 runs (3 times)",
    "runs/s | 200 | 100 | 300 | >= 400 | missed: 50 %",
    "CPU, µs | 2.0 | 1.0 | 3.0",
    "unknown here | ? | ? | ?",
  ]);
});

test("a comparison says better or worse only where all rounds agree", () => {
  const own = [
    { rate: 220, cpu: 2 },
    { rate: 110, cpu: 1 },
  ];
  const other = [
    { rate: 200, cpu: 1 },
    { rate: 100, cpu: 2 },
  ];
  expect(words(comparison([{ scenario, size: 1000, rows: [own, other] }], ["this", "main"]))).toEqual([
    "this | main | ratio | from | to",
    "1,000 runs (2 rounds)",
    "runs/s | 110 | 100 | 1.100 | 1.100 | 1.100 | better",
    "CPU, µs | 1.0 | 1.0 | 0.500 | 0.500 | 2.000",
    "unknown here | ? | ? | ? | ? | ?",
  ]);
});
