import { expect, test } from "vitest";
import { type Clock, type ClockReading, clockOfThread, readClocks } from "../src/index.ts";

const BUN = { versions: { node: "24.3.0", bun: "1.4.4" } };
const DENO = { versions: { node: "24.2.0", deno: "2.9.6" } };
const NODE = { versions: { node: "24.21.0" } };

/** A thread that began when its machine was as old as this, on a machine whose wall clock can be set. */
function threadOf(machine: { ageMs: number; wallMs: number }): Clock {
  const bornMs = machine.ageMs;
  return { nowMs: () => machine.wallMs, monotonicMs: () => machine.ageMs - bornMs };
}

function pass(machine: { ageMs: number; wallMs: number }, ms: number): void {
  machine.ageMs += ms;
  machine.wallMs += ms;
}

test.each([
  ["Bun", BUN],
  ["Deno", DENO],
])(
  "where a clock begins anew in every thread, a thread goes on from the clock of its starter: %s",
  (_name, runtime) => {
    const machine = { ageMs: 40_000, wallMs: 1_700_000_000_000 };
    const main = threadOf(machine);
    pass(machine, 90_000);
    const started = readClocks(main);
    pass(machine, 30);
    const own = threadOf(machine);
    pass(machine, 12);
    const clock = clockOfThread(started, runtime, own);
    expect(readClocks(clock)).toEqual(readClocks(main));
    // The machine sleeps, or its clock is set.
    machine.wallMs += 3_600_000;
    expect(readClocks(clock)).toEqual(readClocks(main));
    pass(machine, 5_000);
    expect(readClocks(clock)).toEqual(readClocks(main));
  },
);

test("a wall clock that is set back while the thread starts does not bring it before its starter", () => {
  const machine = { ageMs: 0, wallMs: 1_700_000_000_000 };
  const main = threadOf(machine);
  pass(machine, 10_000);
  const started = readClocks(main);
  machine.ageMs += 20;
  machine.wallMs -= 60_000;
  expect(clockOfThread(started, BUN, threadOf(machine)).monotonicMs()).toBe(started.monotonicMs);
});

test("Node has one clock for all threads, whatever the wall clock says", () => {
  const own: Clock = { nowMs: () => 5, monotonicMs: () => 123 };
  const started: ClockReading = { monotonicMs: 100, wallMs: 1_000_000 };
  expect(clockOfThread(started, NODE, own).monotonicMs()).toBe(123);
});
