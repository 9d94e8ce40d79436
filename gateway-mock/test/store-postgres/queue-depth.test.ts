/** How often the jobs of the queue are counted for those who read the metrics. */
import { expect, test } from "vitest";

import { queueDepthOf } from "../../src/store-postgres/reads.ts";

function counting() {
  let nowMs = 0;
  let counted = 0;
  let takesMs = 0;
  const depth = queueDepthOf({
    options: { monotonicMs: () => nowMs },
    query: async <R extends object>() => {
      nowMs += takesMs;
      counted += 1;
      return [{ due: counted, leased: 0, later: 0 }] as unknown[] as R[];
    },
  });
  return {
    /** Counts that take so long; says which one the answer is of. */
    async due(tookMs: number): Promise<number> {
      takesMs = tookMs;
      return (await depth()).due;
    },
    pass: (ms: number): void => {
      nowMs += ms;
    },
  };
}

test("a short queue is counted each time, of a long one the last count stands for twenty times as long", async () => {
  const { due, pass } = counting();
  expect(await due(100)).toBe(1);
  expect(await due(100)).toBe(2);
  expect(await due(500)).toBe(3);
  pass(9_999);
  expect(await due(500)).toBe(3);
  pass(1);
  expect(await due(10)).toBe(4);
  expect(await due(10)).toBe(5);
});
