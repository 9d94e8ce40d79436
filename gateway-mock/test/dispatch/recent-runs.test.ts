import { expect, test } from "vitest";
import { FunctionCounts, OTHER_FUNCTIONS } from "../../src/dispatch/function-counts.ts";
import { RecentRuns, SLOT_MS, SLOTS } from "../../src/dispatch/recent-runs.ts";

const START_MS = 1_000 * SLOT_MS;

test("the last hour of a function has as many slots whatever happened, each with what ended in it", () => {
  const recent = new RecentRuns();
  expect(recent.read(START_MS)).toHaveLength(SLOTS);
  recent.ended(START_MS + 5, 1_000, false);
  recent.ended(START_MS + SLOT_MS - 1, 1_000, true);
  recent.ended(START_MS + SLOT_MS, 30, false);
  const slots = recent.read(START_MS + SLOT_MS + 1);
  expect(slots.map(({ atMs }) => atMs)).toEqual(
    Array.from({ length: SLOTS }, (_, n) => START_MS + (n - SLOTS + 2) * SLOT_MS),
  );
  expect(slots.slice(-3)).toEqual([
    { atMs: START_MS - SLOT_MS, ended: 0, failed: 0, p99Ms: null },
    { atMs: START_MS, ended: 2, failed: 1, p99Ms: expect.any(Number) },
    { atMs: START_MS + SLOT_MS, ended: 1, failed: 0, p99Ms: expect.any(Number) },
  ]);
});

test("what is older than an hour is forgotten, also where nothing came after it, and does not come back", () => {
  const recent = new RecentRuns();
  recent.ended(START_MS, 10, true);
  const sum = (nowMs: number): number => recent.read(nowMs).reduce((all, { ended }) => all + ended, 0);
  expect(sum(START_MS + (SLOTS - 1) * SLOT_MS)).toBe(1);
  expect(sum(START_MS + SLOTS * SLOT_MS)).toBe(0);
  recent.ended(START_MS + SLOTS * SLOT_MS, 10, false);
  recent.ended(START_MS, 10, false);
  expect(sum(START_MS + SLOTS * SLOT_MS)).toBe(1);
});

test("p99 is that of the runs, give or take a quarter, from nothing to a day", () => {
  for (const tookMs of [0, 1, 7, 90, 1_500, 65_000, 3_600_000, 70_000_000]) {
    const recent = new RecentRuns();
    for (let run = 0; run < 200; run += 1) recent.ended(START_MS, tookMs, false);
    recent.ended(START_MS, 80_000_000, false);
    const ratio = (recent.read(START_MS).at(-1)?.p99Ms ?? 0) / Math.max(1, tookMs);
    expect([tookMs, ratio > 0.75 && ratio < 1.3]).toEqual([tookMs, true]);
  }
});

test("of fewer than a hundred runs p99 is what the longest took, to the millisecond, and never more than that", () => {
  const recent = new RecentRuns();
  for (const tookMs of [4_223, 80, 3]) recent.ended(START_MS, tookMs, false);
  expect(recent.read(START_MS).at(-1)?.p99Ms).toBe(4_223);
  for (let run = 0; run < 200; run += 1) recent.ended(START_MS, 4_000, false);
  expect(recent.read(START_MS).at(-1)?.p99Ms).toBeLessThanOrEqual(4_223);
  expect(recent.read(START_MS + SLOTS * SLOT_MS).at(-1)?.p99Ms).toBeNull();
});

test("of more than 1,000 functions the rest has no history of its own", () => {
  const counts = new FunctionCounts();
  const runId = "01JZ6Q4WJ2M6W9S0V7K3N8T5YB";
  for (let n = 0; n < 1_001; n += 1) {
    counts.stored({ functionId: `shop-${n}`, runId }, "RUN_COMPLETED", START_MS);
  }
  expect(counts.recent("shop-999", START_MS)?.at(-1)).toMatchObject({ ended: 1, failed: 0 });
  expect(counts.recent("shop-1000", START_MS)).toBeNull();
  expect(counts.read().get(OTHER_FUNCTIONS)?.ended.COMPLETED).toBe(1);
  expect(Object.keys(counts.read().get("shop-1") ?? {})).not.toContain("recent");
});
