import { afterAll, beforeAll, expect, test } from "vitest";
import { createDice } from "../../src/random.ts";
import { Pair } from "./pair.ts";
import { Player } from "./player.ts";
import { openReal, type Real } from "./postgres.ts";

/** Each of so many random calls. `HOLDFAST_TEST_SEED` plays others. */
const SEQUENCES = 20;
const CALLS = 50;
const FIRST_SEED = Number(process.env.HOLDFAST_TEST_SEED ?? 1);

let real: Real;
beforeAll(async () => {
  real = await openReal();
});
afterAll(() => real.close());

test("the model of the store gives the same answers and tables as the Postgres store", async () => {
  let calls = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEQUENCES; seed += 1) {
    const pair = new Pair(real);
    await pair.begin();
    try {
      await new Player(pair, createDice(seed)).play(CALLS);
    } catch (error) {
      throw new Error(`Sequence ${seed} (HOLDFAST_TEST_SEED=${seed}): ${(error as Error).message}`, { cause: error });
    }
    calls += pair.calls.length;
  }
  expect(calls).toBeGreaterThan(SEQUENCES * CALLS);
});
