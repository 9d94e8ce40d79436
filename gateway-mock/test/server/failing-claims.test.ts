import type { Store } from "@holdfast/store";
import { createDatabase, type TestDatabase } from "@holdfast/testing";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import type { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { appOf, engineOf, workerOf } from "./engine-harness.ts";

const APP = appOf({ limited: { concurrency: [{ limit: 1 }] }, free: {} });
const FAILURES = 3;

let db: TestDatabase;
let store: Store;
let engine: Dispatcher;
let failures = 0;

beforeEach(async () => {
  db = await createDatabase(inject("postgresUrl"));
  store = openPostgresStore({ url: db.url, maxConnections: 5 });
  await store.migrate();
  failures = 0;
  const claimLimited: Store["claimLimited"] = (request) => {
    if (failures >= FAILURES) return store.claimLimited(request);
    failures += 1;
    return Promise.reject(new Error("the database fails"));
  };
  engine = engineOf({ ...store, claimLimited }, "here");
  await engine.register([APP]);
  await engine.start();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
  await db.drop();
});

test.each([
  ["at once", 10],
  ["one after the other", 1],
])("what one claim has taken reaches its worker although the other one fails, %s", async (_, capacity) => {
  for (const name of ["shop/free", "shop/limited"]) await engine.sendEvents([{ name, data: {} }]);
  const functionIds = ["shop-free", "shop-limited"];
  const worker = workerOf(engine, { functionIds, apps: [APP], capacity });
  for (const _ of functionIds) {
    const { request } = await worker.request();
    // Claimed once: what was lost would come under the next epoch, when its lease has ended.
    expect(request.requestId).toMatch(/\.1$/);
    worker.reply(request, { status: "DONE", value: 1 });
  }
  expect(failures).toBe(FAILURES);
});
