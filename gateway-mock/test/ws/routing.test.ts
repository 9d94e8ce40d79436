import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Candidate, capacityOf, chooseSession, UNLIMITED_CAPACITY } from "../../src/ws/routing.ts";

const session = (id: string, more: Partial<Candidate> = {}): Candidate => ({
  id,
  capacity: 10,
  inFlight: 0,
  seenMs: 1000,
  heartbeatMs: 1000,
  ...more,
});

describe("chooseSession", () => {
  test("chooseSession picks the least loaded session in proportion to its capacity", () => {
    const big = session("big", { capacity: 100, inFlight: 20 });
    const small = session("small", { capacity: 10, inFlight: 3 });
    expect(chooseSession([small, big], { nowMs: 1000 })?.id).toBe("big");
  });

  test("chooseSession never picks a session without free capacity", () => {
    expect(chooseSession([session("full", { inFlight: 10 })], { nowMs: 1000 })).toBeUndefined();
  });

  test("chooseSession prefers sessions heard from recently", () => {
    const silent = session("silent", { seenMs: 0 });
    const busy = session("busy", { inFlight: 9, seenMs: 5000 });
    expect(chooseSession([silent, busy], { nowMs: 5000 })?.id).toBe("busy");
    expect(chooseSession([silent], { nowMs: 5000 })?.id).toBe("silent");
  });

  test("chooseSession picks a session to avoid only when there is no other", () => {
    const avoid = new Set(["a"]);
    expect(chooseSession([session("a"), session("b", { inFlight: 9 })], { nowMs: 1000, avoid })?.id).toBe("b");
    expect(chooseSession([session("a")], { nowMs: 1000, avoid })?.id).toBe("a");
  });

  test("chooseSession picks a session exactly when one has free capacity", () => {
    const candidate = fc.record({
      capacity: fc.integer({ min: 1, max: 5 }),
      inFlight: fc.nat(6),
      seenMs: fc.nat(9000),
    });
    fc.assert(
      fc.property(fc.array(candidate), (list) => {
        const candidates = list.map((one, index) => session(String(index), one));
        const chosen = chooseSession(candidates, { nowMs: 9000 });
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
