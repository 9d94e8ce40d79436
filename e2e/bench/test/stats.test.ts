import { expect, test } from "vitest";
import { median, quantile, ratios, spread } from "../stats.mjs";

test("the median and the quantiles of the benchmark are values that were measured", () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 3, 2])).toBe(2);
  expect(quantile([10, 20, 30, 40], 0.99)).toBe(40);
  expect(quantile([10, 20, 30, 40], 0)).toBe(10);
  expect(median([])).toBeNaN();
});

test("the spread leaves out what could not be measured", () => {
  expect(spread([3, Number.NaN, 1, 2])).toEqual({ median: 2, from: 1, to: 3 });
  expect(spread([Number.NaN])).toEqual({ median: Number.NaN, from: Number.NaN, to: Number.NaN });
});

test("a ratio compares values of the same round, so that a slow minute that hits both changes nothing", () => {
  // The second round was ten times slower for both: the quotient of the medians would be 1.1, or even 11.
  expect(ratios([110, 11, 220], [100, 10, 200])).toEqual({ median: 1.1, from: 1.1, to: 1.1 });
  expect(ratios([2, 4], [1])).toEqual({ median: 2, from: 2, to: 2 });
});
