import { expect, test } from "vitest";

import { DueBounds, type LookParams, wholeLook } from "../../src/store-postgres/queue/due-bounds.ts";

function bounds() {
  let nowMs = 1_000;
  const own = new DueBounds(() => nowMs);
  /** A look that takes so long; returns from where on it looked. */
  const lookAt = (functionIds: readonly string[], tookMs = 0): Promise<LookParams> =>
    own.look(functionIds, async (params) => {
      nowMs += tookMs;
      return params;
    });
  /** One at function `fn`: its gaps and bounds, or null when it was from the beginning. */
  const look = async (tookMs = 0): Promise<string | null> => {
    const params = await lookAt(["fn"], tookMs);
    const [above, below, bounded, since] = params.map((param) => param.slice(2, -2));
    return params.join() === wholeLook(["fn"]).join() ? null : `gaps ${above} ${below}, since ${bounded} ${since}`;
  };
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  return { own, look, lookAt, pass };
}

const taken = (functionId: string, dueMs: number, priority = 0) => ({
  function_id: functionId,
  priority,
  due_ms: dueMs,
});

test("while looks from the beginning are quick, every look is from the beginning", async () => {
  const { own, look } = bounds();
  own.recordTaken([taken("fn", 500)]);
  for (let times = 0; times < 3; times++) expect(await look(20)).toBeNull();
});

test("after a slow look others begin where jobs were taken last, until it has cost a twentieth of the time", async () => {
  const { own, look, lookAt, pass } = bounds();
  expect(await look(100)).toBeNull();
  own.recordTaken([taken("fn", 5_500), taken("fn", 5_700), taken("fn", 5_600), taken("fn", 5_300, 5)]);
  const bounded = "gaps {2147483647,5,0} {5,0,-2147483647}, since {5,0} {3300,3700}";
  expect(await look()).toBe(bounded);
  // A function of which none was taken is looked at from the beginning.
  expect((await lookAt(["fn", "other"]))[0]).toBe(`{"{2147483647,5,0}","{2147483647}"}`);
  // Bounds never go back.
  own.recordTaken([taken("fn", 5_650)]);
  pass(1_999);
  expect(await look()).toBe(bounded);
  pass(1);
  expect(await look(10_000)).toBeNull();
  pass(4_999);
  expect(await look()).toBe(bounded);
  pass(1);
  expect(await look()).toBeNull();
});

test("a look after jobs were put back is from the beginning", async () => {
  const { own, look } = bounds();
  await look(100);
  own.recordTaken([taken("fn", 500)]);
  own.forget();
  expect(await look()).toBeNull();
});

test("a slow look that fails does not bound the next one", async () => {
  const { own, look, pass } = bounds();
  own.recordTaken([taken("fn", 500)]);
  const failed = own.look(["fn"], async () => {
    pass(1_000);
    throw new Error("refused");
  });
  await expect(failed).rejects.toThrow("refused");
  expect(await look()).toBeNull();
});

test("a function with more than a hundred priorities has no bounds", async () => {
  const { own, look } = bounds();
  await look(100);
  own.recordTaken(Array.from({ length: 101 }, (_, priority) => taken("fn", 500, priority)));
  expect(await look()).toBeNull();
});
