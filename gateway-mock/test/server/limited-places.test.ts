import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import { appOf, NEVER_POLLS, useEngine, workerOf } from "./engine-harness.ts";

const APP = appOf({ limited: { concurrency: [{ limit: 1 }] }, free: {} });

/** Looks into the queue that had to leave work for its limits. */
let looksAtLimits = 0;
const bench = useEngine(
  APP,
  (store) => {
    looksAtLimits = 0;
    return {
      claimLimited: async (request) => {
        const claimed = await store.claimLimited(request);
        if (claimed.blocked.length > 0) looksAtLimits += 1;
        return claimed;
      },
    };
  },
  NEVER_POLLS,
);

const workerFor = (id: string, functionIds: readonly string[]) =>
  workerOf(bench.engine, { id, instanceId: id, functionIds, apps: [APP], capacity: 1 });

test("a place that becomes free while no worker has room is taken as soon as one has", async () => {
  const leaving = workerFor("leaving", ["shop-limited"]);
  const send = (name: string) => bench.engine.sendEvents([{ name, data: {} }]);
  await send("shop/limited");
  const one = await leaving.request();
  const staying = workerFor("staying", ["shop-limited", "shop-free"]);
  // The look for the second one finds its limits reached: a worker has room.
  await send("shop/limited");
  await waitFor(() => looksAtLimits > 0, { what: "a look that finds the limits reached" });
  await send("shop/free");
  const other = await staying.request();
  leaving.pause();
  leaving.reply(one.request, { status: "DONE", value: 1 });
  await waitFor(async () => (await bench.store.getRun(one.request.runId))?.head.status === "COMPLETED", {
    what: "the end of the first run",
  });
  staying.reply(other.request, { status: "DONE", value: 1 });
  const second = await staying.request();
  expect(second.request.runId).not.toBe(one.request.runId);
});
