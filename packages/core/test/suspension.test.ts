import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ClockReading, suspensionBetween } from "../src/index.ts";

const START: ClockReading = { monotonicMs: 1_000, wallMs: 1_700_000_000_000 };
const later = (monotonicMs: number, wallMs: number): ClockReading => ({
  monotonicMs: START.monotonicMs + monotonicMs,
  wallMs: START.wallMs + wallMs,
});

describe("Process suspensions", () => {
  it.each([
    ["both clocks went on as they should", 1_999, 1_999, null],
    ["the limit itself is none", 2_000, 2_000, null],
    ["SUSPENSION-1: the process was stopped", 2_001, 2_001, 2_001],
    ["SUSPENSION-1: and its wall clock was set back meanwhile", 15_000, -60_000, 15_000],
    ["SUSPENSION-2: the machine slept and the monotonic clock with it", 10, 3_600_000, 3_600_000],
    ["SUSPENSION-2: the wall clock was set back", 10, -60_000, 10],
    ["a wall clock that is set right by a little", 250, 1_900, null],
  ])("suspension detection: %s", (_what, monotonicMs, wallMs, expected) => {
    expect(suspensionBetween(START, later(monotonicMs, wallMs), 2_000)).toBe(expected);
  });

  it("SUSPENSION-3: a suspension is never shorter than the monotonic clock says, and is always found beyond the limit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: -1e9, max: 1e9 }), (monotonicMs, wallMs) => {
        const suspendedMs = suspensionBetween(START, later(monotonicMs, wallMs), 2_000);
        if (monotonicMs > 2_000) expect(suspendedMs).not.toBeNull();
        if (suspendedMs !== null) expect(suspendedMs).toBeGreaterThanOrEqual(monotonicMs);
      }),
    );
  });
});
