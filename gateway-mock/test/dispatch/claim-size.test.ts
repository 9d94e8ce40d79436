import { expect, test } from "vitest";
import { ClaimSize } from "../../src/dispatch/queue/claim-size.ts";

const MEBI = 1024 * 1024;

test("the claim size doubles for small runs, up to the limit", () => {
  const size = new ClaimSize(200);
  const limits = [size.limit];
  for (let look = 0; look < 5; look++) {
    size.recordClaim(size.limit, size.limit * 1000);
    limits.push(size.limit);
  }
  expect(limits).toEqual([25, 50, 100, 200, 200, 200]);
});

test("the claim size shrinks for large runs, to at least one, and grows again for small ones", () => {
  const size = new ClaimSize(200);
  size.recordClaim(25, 25 * 10 * MEBI);
  expect(size.limit).toBe(6);
  size.recordClaim(6, 60 * MEBI);
  expect(size.limit).toBe(6);
  size.recordClaim(6, 6 * 32 * MEBI);
  expect(size.limit).toBe(2);
  size.recordClaim(2, 200 * MEBI);
  expect(size.limit).toBe(1);
  size.recordClaim(0, 0);
  expect(size.limit).toBe(1);
  size.recordClaim(1, 1000);
  expect(size.limit).toBe(2);
});

test("a claim that returned fewer jobs than asked for does not change the claim size", () => {
  const size = new ClaimSize(200);
  size.recordClaim(3, 3000);
  expect(size.limit).toBe(25);
});
