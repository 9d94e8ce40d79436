import { ulidFromSeed } from "@holdfast/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LeaseAges } from "../../src/connection/machines/lease-ages.ts";

const LEASE_MS = 20_000;
const idOf = (endsMs: number): string => ulidFromSeed(endsMs, new Uint8Array(10), 0);

/** A gateway's clock, ours, and a way between that takes as long as it is told. */
const wayOf =
  (ages: LeaseAges, skewMs: number, leaseMs = LEASE_MS) =>
  (sentMs: number, tookMs: number) =>
    ages.lateMs(idOf(skewMs + sentMs + leaseMs), sentMs + tookMs);

describe("Lease ages", () => {
  const skew = fc.integer({ min: 1e12, max: 2e12 });

  it("AGE-1, AGE-2: lateness is the transit time beyond the quickest one so far, whatever the clocks say", () => {
    fc.assert(
      fc.property(skew, fc.array(fc.integer({ min: 0, max: 60_000 }), { minLength: 1 }), (skewMs, took) => {
        const lateMs = wayOf(new LeaseAges(), skewMs);
        let quickestMs = Number.POSITIVE_INFINITY;
        for (const [index, tookMs] of took.entries()) {
          quickestMs = Math.min(quickestMs, tookMs);
          expect(lateMs(index * 100, tookMs)).toBe(index === 0 ? null : tookMs - quickestMs);
        }
      }),
    );
  });

  it("AGE-3: a confirmed lease becomes the reference for lateness", () => {
    const ages = new LeaseAges();
    expect(wayOf(ages, 1e12)(0, 5)).toBeNull();
    // The gateway's clock was set back by a minute.
    const lateMs = wayOf(ages, 1e12 - 60_000);
    expect(lateMs(1_000, 5)).toBe(60_000);
    ages.onConfirmed(idOf(1e12 - 60_000 + 1_000 + LEASE_MS), 1_005);
    expect(lateMs(2_000, 5)).toBe(0);
    expect(lateMs(3_000, 7_005)).toBe(7_000);
  });

  it("AGE-4: lateness is unknown for ids that are not ULIDs, for the first id, and after a reconnect", () => {
    const ages = new LeaseAges();
    expect(ages.lateMs("first-lease", 0)).toBeNull();
    expect(ages.lateMs(idOf(1e12), 0)).toBeNull();
    expect(ages.lateMs(idOf(1e12), 9_000)).toBe(9_000);
    ages.reset();
    expect(ages.lateMs(idOf(1e12), 9_000)).toBeNull();
  });
});
