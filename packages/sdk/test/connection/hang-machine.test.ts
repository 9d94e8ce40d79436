import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import {
  HANG_START,
  type HangEffect,
  type HangEvent,
  type HangState,
  STARTING,
  stepHang,
} from "../../src/connection/machines/hang-machine.ts";

const LIMIT = 5;

function play(events: readonly HangEvent[], from: HangState = HANG_START): HangEffect[] {
  const all: HangEffect[] = [];
  let state = from;
  for (const event of events) {
    const [next, effects] = stepHang(state, event);
    state = next;
    all.push(...effects);
  }
  return all;
}

const tick = (signs: number, more: Partial<Extract<HangEvent, { type: "TICK" }>> = {}): HangEvent => ({
  type: "TICK",
  signs,
  limitTicks: LIMIT,
  debugged: false,
  isInspecting: false,
  ...more,
});
const ticks = (count: number, signs: number, more = {}): HangEvent[] =>
  Array.from({ length: count }, () => tick(signs, more));
const STARTED: HangEvent = { type: "STARTED", signs: 0 };

describe("Hang machine", () => {
  it("HANG-1: a hung thread is detected once, after a number of consecutive ticks without a sign of life", () => {
    const begun = [STARTED, tick(1)];
    expect(play([...begun, ...ticks(LIMIT - 1, 1)])).toEqual([]);
    expect(play([...begun, ...ticks(LIMIT, 1)])).toEqual([{ do: "HUNG" }]);
    expect(play([...begun, ...ticks(50, 1)])).toEqual([{ do: "HUNG" }]);
    expect(play([...begun, ...ticks(LIMIT - 1, 1), tick(2), ...ticks(LIMIT - 1, 2)])).toEqual([]);
  });

  it("HANG-1: the limit of the latest tick applies, which is lower while closing", () => {
    expect(play([STARTED, tick(1), ...ticks(3, 1), tick(1, { limitTicks: 2 })])).toEqual([{ do: "HUNG" }]);
  });

  it("HANG-3: ticks with an open inspector do not count, and restart the count", () => {
    const open = ticks(50, 1, { debugged: true });
    expect(play([STARTED, tick(1), ...ticks(LIMIT - 1, 1), ...open, ...ticks(LIMIT - 1, 1)])).toEqual([]);
  });

  it("HANG-4: a thread that inspects the main thread is given twice as long", () => {
    const isInspecting = { isInspecting: true };
    expect(play([STARTED, tick(1), ...ticks(2 * LIMIT - 1, 1, isInspecting)])).toEqual([]);
    expect(play([STARTED, tick(1), ...ticks(2 * LIMIT, 1, isInspecting)])).toEqual([{ do: "HUNG" }]);
  });

  it("HANG-5: a thread that starts is given longer", () => {
    expect(play([STARTED, ...ticks(STARTING * LIMIT - 1, 0)])).toEqual([]);
    expect(play([STARTED, ...ticks(STARTING * LIMIT, 0)])).toEqual([{ do: "HUNG" }]);
  });

  it("HANG-1, HANG-6: in any sequence, only a thread silent for the limit is reported, and only once", () => {
    const event = fc.oneof(
      { weight: 1, arbitrary: fc.constantFrom<HangEvent>(STARTED, { type: "ENDED" }) },
      { weight: 12, arbitrary: fc.record({ sign: fc.boolean(), debugged: fc.boolean(), isInspecting: fc.boolean() }) },
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 120 }), (sequence) => {
        let state: HangState = HANG_START;
        let [signs, still, reported, living] = [0, 0, false, false];
        for (const next of sequence) {
          let sent: HangEvent;
          if ("type" in next) {
            sent = next.type === "STARTED" ? { ...next, signs } : next;
            [still, reported, living] = [0, false, next.type === "STARTED"];
          } else {
            if (next.sign) signs += 1;
            still = next.sign ? 0 : still + 1;
            sent = tick(signs, next);
          }
          const [after, effects] = stepHang(state, sent);
          state = after;
          if (effects.length === 0) continue;
          expect(living, "HANG-6").toBe(true);
          expect(reported, "HANG-1: once").toBe(false);
          expect(still, "HANG-1").toBeGreaterThanOrEqual(LIMIT);
          reported = true;
        }
      }),
      { numRuns: runs(500) },
    );
  });
});
