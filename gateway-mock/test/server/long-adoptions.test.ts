/** A function gets limits while very many of its runs wait: nothing else has to wait for them. */
import { type Deferred, deferred } from "@holdfast/core";
import { expect, test } from "vitest";
import { appOf, useEngine, workerOf } from "./engine-harness.ts";

const BEFORE = appOf({ order: {}, free: {} });
const AFTER = { ...appOf({ order: { concurrency: [{ limit: 1 }] }, free: {} }), version: "2" };
const done = { status: "DONE", value: 1 } as const;

let adopted: Deferred<void>;
const bench = useEngine(BEFORE, (store) => {
  adopted = deferred();
  let isFirst = true;
  return {
    // As of a queue of which the first look finds only a part.
    adoptLanes: async (adoptions, version) => {
      const limited = adoptions.map(({ functionId }) => functionId);
      if (limited.length === 0) return store.adoptLanes(adoptions, version);
      if (isFirst) {
        isFirst = false;
        return { moved: 1, left: limited };
      }
      await adopted.promise;
      return store.adoptLanes(adoptions, version);
    },
  };
});

test("workers connect, events are taken and other functions run while the runs that wait get new limits", async () => {
  for (let i = 0; i < 3; i += 1) await bench.engine.sendEvents([{ name: "shop/order", data: {} }]);
  await bench.engine.register([AFTER]);
  const worker = workerOf(bench.engine, { functionIds: ["shop-order", "shop-free"], apps: [AFTER] });
  await bench.engine.sendEvents([{ name: "shop/order", data: {} }]);
  await bench.engine.sendEvents([{ name: "shop/free", data: {} }]);
  const free = await worker.request();
  expect(free.request.functionSlug).toBe("shop-free");
  worker.reply(free.request, done);
  expect(await bench.engine.tick()).toBe(0);

  adopted.resolve();
  for (let left = 3; left >= 0; left -= 1) {
    const { request } = await worker.request();
    expect(await bench.engine.tick()).toBe(0);
    worker.reply(request, done);
  }
});
