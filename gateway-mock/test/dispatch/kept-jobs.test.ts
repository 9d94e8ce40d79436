import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../src/dispatch/ports.ts";
import { KeptJobs } from "../../src/dispatch/queue/kept-jobs.ts";

const LEASE_MS = 20_000;

function setUp() {
  const clock = fakeClock();
  const extended: string[][] = [];
  const store = {
    extendLeases: async (leases: readonly { jobId: string; epoch: number; gatewayId: string; leaseMs: number }[]) => {
      for (const { epoch, gatewayId, leaseMs } of leases)
        expect([epoch, gatewayId, leaseMs]).toEqual([1, "g", LEASE_MS]);
      extended.push(leases.map(({ jobId }) => jobId));
      throw new Error("What fails is tried again the next time.");
    },
  };
  const options = { store, timers: clock, settings: { gatewayId: "g" } } as unknown as DispatcherOptions;
  const kept = new KeptJobs(options, LEASE_MS);
  const keep = (jobId: string) => {
    const fence = { jobId, epoch: 1 };
    kept.keep(fence);
    return () => kept.letGo(fence);
  };
  return { clock, extended, keep };
}

test("jobs that last are extended together, before their leases end; those that are over soon are not", async () => {
  const { clock, extended, keep } = setUp();
  const first = keep("first");
  const short = keep("short");
  await clock.advance(4_000);
  const second = keep("second");
  await clock.advance(2_000);
  short();
  await clock.advance(3_999);
  expect(extended).toEqual([]);
  await clock.advance(1);
  expect(extended).toEqual([["first", "second"]]);
  first();
  await clock.advance(5_000);
  expect(extended).toEqual([["first", "second"], ["second"]]);
  second();
  await clock.advance(60_000);
  expect(extended).toHaveLength(2);
});

test("a lease is extended within half of it, whenever it began, and after nothing was kept for a while", async () => {
  const { clock, extended, keep } = setUp();
  for (let beganMs = 0; beganMs < 5_000; beganMs += 700) {
    const other = keep("other");
    await clock.advance(beganMs);
    const letGo = keep("kept");
    await clock.advance(LEASE_MS / 2);
    expect(extended.flat()).toContain("kept");
    extended.length = 0;
    letGo();
    other();
    await clock.advance(12_345);
  }
});

test("a crowd is extended in several statements", async () => {
  const { clock, extended, keep } = setUp();
  const all = Array.from({ length: 1_200 }, (_, index) => keep(`job ${index}`));
  await clock.advance(10_000);
  expect(extended.map((one) => one.length)).toEqual([500, 500, 200]);
  expect(new Set(extended.flat()).size).toBe(1_200);
  for (const letGo of all) letGo();
});
