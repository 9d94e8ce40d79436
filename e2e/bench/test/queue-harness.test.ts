import { expect, test } from "vitest";
import { Credit, jobsAskedFor, readSettings } from "../queue-harness/settings.mjs";
import { Window } from "../queue-harness/windows.mjs";

const DATABASE_URL = "postgres://bench:bench@localhost:15555/holdfast_bench";

test("the adapter's settings have the defaults of the harness", () => {
  expect(readSettings({ DATABASE_URL })).toMatchObject({
    mode: "fixed",
    pacedByHarness: false,
    rate: 800,
    targetDepth: 1000,
    workerCount: 32,
    payloadBytes: 256,
    workMs: 1,
    sampleEveryS: 5,
    queueCount: 1,
    produces: true,
  });
  expect(readSettings({ DATABASE_URL, JOB_WORK_MS: "0", PRODUCER_PACING: "harness" })).toMatchObject({
    workMs: 0,
    pacedByHarness: true,
  });
  expect(readSettings({ DATABASE_URL, BENCH_INSTANCE_ID: "1", PRODUCER_ONLY_INSTANCE_ZERO: "1" }).produces).toBe(false);
});

test.each([
  [{}, "DATABASE_URL must be set."],
  [{ DATABASE_URL, SCENARIO: "short" }, 'This adapter knows no scenario "short".'],
  [{ DATABASE_URL, PRODUCER_MODE: "wild" }, 'There is no PRODUCER_MODE "wild".'],
  [{ DATABASE_URL, PRODUCER_RATE: "fast" }, 'PRODUCER_RATE must be a number from 0 on, not "fast".'],
])("the adapter rejects the environment %j", (env, message) => {
  expect(() => readSettings(env)).toThrow(message);
});

test("jobs are made for the lines that ask for them only", () => {
  expect(["ENQUEUE 12", "ENQUEUE 3\r", "enqueue 1", "ENQUEUE", "ENQUEUE -1", ""].map(jobsAskedFor)).toEqual([
    12, 3, 0, 0, 0, 0,
  ]);
});

test("the offered rate follows the clock, however late a turn comes, and does not pile up for ever", () => {
  const credit = new Credit(0);
  expect(credit.take(100, 100, 512)).toBe(10);
  expect(credit.take(105, 100, 512)).toBe(0);
  expect(credit.take(1005, 100, 512)).toBe(90);
  // What one turn may not make is made by the next.
  expect(credit.take(2005, 100, 60)).toBe(60);
  expect(credit.take(2005, 100, 60)).toBe(40);
  expect(credit.take(100_000, 100, 60)).toBe(60);
  expect(credit.take(100_000, 100, 60)).toBe(40);
  expect(credit.take(100_000, 100, 60)).toBe(0);
});

test("percentiles are those of the last seconds", () => {
  const window = new Window(30);
  for (let index = 1; index <= 100; index++) window.add(1_000, index);
  expect(window.percentiles(2_000).p50).toBeCloseTo(50, 0);
  expect(window.percentiles(2_000).p99).toBeCloseTo(99, 0);
  window.add(20_000, 1_000);
  expect(window.percentiles(40_000).p50).toBeCloseTo(1_000, -1);
  expect(window.percentiles(60_000)).toEqual({ p50: 0, p95: 0, p99: 0 });
});
