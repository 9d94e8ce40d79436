import fc from "fast-check";
import { expect, test } from "vitest";
import { Histogram } from "../src/index.ts";

test("each value is counted once, in the first bucket whose bound it does not exceed", () => {
  const ascending = fc
    .uniqueArray(fc.integer({ min: -50, max: 50 }), { maxLength: 8 })
    .map((all) => all.sort((a, b) => a - b));
  fc.assert(
    fc.property(ascending, fc.array(fc.integer({ min: -60, max: 60 })), (bounds, values) => {
      const histogram = new Histogram(bounds);
      for (const value of values) histogram.observe(value);
      const { counts, sum, count } = histogram.read();
      expect(count).toBe(values.length);
      expect(sum).toBe(values.reduce((total, value) => total + value, 0));
      const expected = [...bounds, Number.POSITIVE_INFINITY].map(
        (bound, n) =>
          values.filter((value) => value <= bound && value > (bounds[n - 1] ?? Number.NEGATIVE_INFINITY)).length,
      );
      expect(counts).toEqual(expected);
    }),
  );
});
