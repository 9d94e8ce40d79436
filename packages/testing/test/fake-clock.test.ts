import { type Clock, sleep, type Timers, withTimeout } from "@holdfast/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import { fakeClock } from "../src/index.ts";

describe("Fake clock", () => {
  test("the fake clock implements the core's Clock and Timers", () => {
    const clock = fakeClock({ nowMs: 5 }) satisfies Clock & Timers;
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([5, 0]);
  });

  test("advancing the fake clock fires due timers in order, including those set on the way", async () => {
    const clock = fakeClock();
    const fired: string[] = [];
    const note = (name: string) => () => void fired.push(`${name}@${clock.monotonicMs()}`);
    clock.set(30, note("c"));
    clock.set(10, () => {
      note("a")();
      clock.set(10, note("b"));
    });
    clock.set(30, note("d"));
    clock.set(31, note("late"));
    await clock.advance(30);
    expect(fired).toEqual(["a@10", "b@20", "c@30", "d@30"]);
    expect(clock.pending).toEqual([{ atMs: 31, delayMs: 31 }]);
  });

  test("a fake timer can be cancelled, even after it fired", async () => {
    const clock = fakeClock();
    let fired = 0;
    const timer = clock.set(1, () => {
      fired += 1;
    });
    clock.set(1, () => timer.cancel()).cancel();
    await clock.advance(5);
    timer.cancel();
    expect([fired, clock.pending.length]).toEqual([1, 0]);
  });

  test("the fake clock lets promises settle between timers", async () => {
    const clock = fakeClock();
    const steps: number[] = [];
    const work = (async () => {
      for (let i = 0; i < 3; i += 1) {
        await sleep(clock, 100);
        steps.push(clock.monotonicMs());
      }
    })();
    await clock.advance(1000);
    await work;
    expect(steps).toEqual([100, 200, 300]);
    const late = withTimeout(clock, new Promise(() => {}), 50, () => new Error("late"));
    await Promise.all([expect(late).rejects.toThrow("late"), clock.runNext()]);
    expect(await clock.runNext()).toBe(false);
  });

  test("moving the wall clock fires no timers", async () => {
    const clock = fakeClock({ nowMs: 1000 });
    let fired = false;
    clock.set(10, () => {
      fired = true;
    });
    clock.setWallClock(500);
    expect([clock.nowMs(), clock.monotonicMs(), fired]).toEqual([500, 0, false]);
    await clock.advance(10);
    expect([clock.nowMs(), fired]).toEqual([510, true]);
  });

  test("the fake clock names a timer loop that never ends", async () => {
    const clock = fakeClock();
    const again = (): void => void clock.set(1, again);
    again();
    await expect(clock.runAll(50)).rejects.toThrow(/More than 50 timers/);
  });

  test("the fake clock fires every timer once, in order of time", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(1000), { maxLength: 30 }), fc.nat(1000), async (delays, stop) => {
        const clock = fakeClock();
        const fired: number[] = [];
        for (const delay of delays) clock.set(delay, () => void fired.push(delay));
        await clock.advance(stop);
        expect(fired).toEqual(delays.filter((delay) => delay <= stop).sort((a, b) => a - b));
        await clock.runAll();
        expect(fired).toHaveLength(delays.length);
      }),
      { numRuns: runs(50) },
    );
  });
});
