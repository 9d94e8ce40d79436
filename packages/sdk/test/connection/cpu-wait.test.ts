import { describe, expect, test } from "vitest";
import { type CpuReading, type CpuWait, firstCpuWait, nextCpuWait } from "../../src/connection/machines/cpu-wait.ts";

const start: CpuReading = { atMs: 0, runMs: 100, waitMs: 50, isRunnable: true };

function read(...readings: readonly Partial<CpuReading>[]): readonly number[] {
  let wait: CpuWait = firstCpuWait(start);
  return readings.map((changes, index) => {
    wait = nextCpuWait(wait, { ...wait.last, atMs: (index + 1) * 100, ...changes });
    return wait.waitedMs;
  });
}

describe("Time that a thread waits for a processor", () => {
  test("is what the kernel counts", () => {
    expect(read({ runMs: 140, waitMs: 110 }, { runMs: 150, waitMs: 200 })).toEqual([60, 150]);
  });

  test("is none while the thread computes, sleeps or waits for something else (WAIT-2)", () => {
    expect(read({ runMs: 200 }, { runMs: 300 })).toEqual([0, 0]);
    expect(read({ isRunnable: false }, { isRunnable: false }, { isRunnable: true })).toEqual([0, 0, 0]);
  });

  test("counts at once for a thread that gets no processor at all, and not again when the kernel counts it (WAIT-1)", () => {
    const stuck = [{}, {}, {}];
    expect(read(...stuck)).toEqual([100, 200, 300]);
    expect(read(...stuck, { runMs: 101, waitMs: 50 + 390 })).toEqual([100, 200, 300, 390]);
  });

  test("is guessed from the state alone where the kernel counts only what a thread ran", () => {
    let wait = firstCpuWait({ ...start, waitMs: null });
    wait = nextCpuWait(wait, { atMs: 100, runMs: 110, waitMs: null, isRunnable: true });
    expect(wait.waitedMs).toBe(90);
    wait = nextCpuWait(wait, { atMs: 200, runMs: 110, waitMs: null, isRunnable: false });
    expect(wait.waitedMs).toBe(90);
  });
});
