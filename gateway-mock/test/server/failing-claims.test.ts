import { expect, test } from "vitest";
import { appOf, useEngine, workerOf } from "./engine-harness.ts";

const APP = appOf({ limited: { concurrency: [{ limit: 1 }] }, free: {} });
const FAILURES = 3;

let failures = 0;
const bench = useEngine(APP, (store) => {
  failures = 0;
  return {
    claimLimited: (request) => {
      if (failures >= FAILURES) return store.claimLimited(request);
      failures += 1;
      return Promise.reject(new Error("the database fails"));
    },
  };
});

test.each([
  ["at once", 10],
  ["one after the other", 1],
])("what one claim has taken reaches its worker although the other one fails, %s", async (_, capacity) => {
  for (const name of ["shop/free", "shop/limited"]) await bench.engine.sendEvents([{ name, data: {} }]);
  const functionIds = ["shop-free", "shop-limited"];
  const worker = workerOf(bench.engine, { functionIds, apps: [APP], capacity });
  for (const _ of functionIds) {
    const { request } = await worker.request();
    // Claimed once: what was lost would come under the next epoch, when its lease has ended.
    expect(request.requestId).toMatch(/\.1$/);
    worker.reply(request, { status: "DONE", value: 1 });
  }
  expect(failures).toBe(FAILURES);
});
