import { sleep, systemTimers } from "@holdfast/core";
import type { Store } from "@holdfast/store";
import { createDatabase, type TestDatabase } from "@holdfast/testing";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import type { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { appOf, engineOf, workerOf } from "./engine-harness.ts";

/** Looks into the queue that nothing has asked for come too late to help. */
const NEVER_MS = 600_000;
/** Longer than a worker that connects rests. */
const SLOW_LOOK_MS = 150;
const APP = appOf({ order: { concurrency: [{ limit: 1 }] } });

let db: TestDatabase;
let store: Store;
let engine: Dispatcher;
let looks = 0;
let areSlow = false;

beforeEach(async () => {
  db = await createDatabase(inject("postgresUrl"));
  store = openPostgresStore({ url: db.url, maxConnections: 5 });
  await store.migrate();
  looks = 0;
  areSlow = false;
  const nextDueInMs: Store["nextDueInMs"] = async (functionIds) => {
    const found = await store.nextDueInMs(functionIds);
    if (areSlow) await sleep(systemTimers, SLOW_LOOK_MS);
    looks += 1;
    return found;
  };
  engine = engineOf({ ...store, nextDueInMs }, "here", { pollMinMs: NEVER_MS, pollMaxMs: NEVER_MS });
  await engine.register([APP]);
  await engine.start();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
  await db.drop();
});

test("a worker whose rest ends while the queue is looked at is given what waits", async () => {
  // The next event is stored sooner than the worker has rested.
  await engine.sendEvents([{ name: "shop/nothing", data: {} }]);
  let seen: number;
  do {
    seen = looks;
    await sleep(systemTimers, SLOW_LOOK_MS);
  } while (looks === 0 || looks > seen);
  areSlow = true;
  const worker = workerOf(engine, { functionIds: ["shop-order"], apps: [APP], capacity: 1 });
  await engine.sendEvents([{ name: "shop/order", data: {} }]);
  expect((await worker.request()).request.functionSlug).toBe("shop-order");
});
