import { sleep, systemTimers } from "@holdfast/core";
import { expect, test } from "vitest";
import { appOf, NEVER_POLLS, useEngine, workerOf } from "./engine-harness.ts";

/** Longer than a worker that connects rests. */
const SLOW_LOOK_MS = 150;
const APP = appOf({ order: { concurrency: [{ limit: 1 }] } });

let looks = 0;
let areSlow = false;
const bench = useEngine(
  APP,
  (store) => {
    looks = 0;
    areSlow = false;
    return {
      nextDueInMs: async (functionIds) => {
        const found = await store.nextDueInMs(functionIds);
        if (areSlow) await sleep(systemTimers, SLOW_LOOK_MS);
        looks += 1;
        return found;
      },
    };
  },
  NEVER_POLLS,
);

test("a worker whose rest ends while the queue is looked at is given what waits", async () => {
  // The next event is stored sooner than the worker has rested.
  await bench.engine.sendEvents([{ name: "shop/nothing", data: {} }]);
  let seen: number;
  do {
    seen = looks;
    await sleep(systemTimers, SLOW_LOOK_MS);
  } while (looks === 0 || looks > seen);
  areSlow = true;
  const worker = workerOf(bench.engine, { functionIds: ["shop-order"], apps: [APP], capacity: 1 });
  await bench.engine.sendEvents([{ name: "shop/order", data: {} }]);
  expect((await worker.request()).request.functionSlug).toBe("shop-order");
});
