import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Candidate, capacityOf, chooseWorker, UNLIMITED_CAPACITY } from "../../src/ws/routing.ts";

const worker = (id: string, more: Partial<Candidate> = {}): Candidate => ({
  id,
  capacity: 10,
  inFlight: 0,
  seenMs: 1000,
  heartbeatMs: 1000,
  ...more,
});

describe("chooseWorker", () => {
  test("chooseWorker picks the least loaded worker in proportion to its capacity", () => {
    const big = worker("big", { capacity: 100, inFlight: 20 });
    const small = worker("small", { capacity: 10, inFlight: 3 });
    expect(chooseWorker([small, big], { nowMs: 1000 })?.id).toBe("big");
  });

  test("chooseWorker never picks a worker without free capacity", () => {
    expect(chooseWorker([worker("full", { inFlight: 10 })], { nowMs: 1000 })).toBeUndefined();
  });

  test("chooseWorker prefers workers heard from recently", () => {
    const silent = worker("silent", { seenMs: 0 });
    const busy = worker("busy", { inFlight: 9, seenMs: 5000 });
    expect(chooseWorker([silent, busy], { nowMs: 5000 })?.id).toBe("busy");
    expect(chooseWorker([silent], { nowMs: 5000 })?.id).toBe("silent");
  });

  test("chooseWorker picks a worker to avoid only when there is no other", () => {
    const avoid = new Set(["a"]);
    expect(chooseWorker([worker("a"), worker("b", { inFlight: 9 })], { nowMs: 1000, avoid })?.id).toBe("b");
    expect(chooseWorker([worker("a")], { nowMs: 1000, avoid })?.id).toBe("a");
  });

  test("chooseWorker picks a worker exactly when one has free capacity", () => {
    const candidate = fc.record({
      capacity: fc.integer({ min: 1, max: 5 }),
      inFlight: fc.nat(6),
      seenMs: fc.nat(9000),
    });
    fc.assert(
      fc.property(fc.array(candidate), (list) => {
        const candidates = list.map((one, index) => worker(String(index), one));
        const chosen = chooseWorker(candidates, { nowMs: 9000 });
        expect(chosen !== undefined).toBe(candidates.some((one) => one.inFlight < one.capacity));
        if (chosen) expect(chosen.inFlight).toBeLessThan(chosen.capacity);
      }),
    );
  });
});

test("a limit that is absent, zero or negative means unlimited", () => {
  for (const none of [undefined, 0, -1]) expect(capacityOf(none)).toBe(UNLIMITED_CAPACITY);
  expect(capacityOf(7)).toBe(7);
});
