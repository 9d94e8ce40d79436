import type { Store } from "@holdfast/store";
import { createDatabase, type TestDatabase, waitFor } from "@holdfast/testing";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import type { Dispatcher } from "../../src/dispatch/dispatcher.ts";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { appOf, engineOf, workerOf } from "./engine-harness.ts";

/** Looks into the queue that nothing has asked for come too late to help. */
const NEVER_MS = 600_000;
const APP = appOf({ limited: { concurrency: [{ limit: 1 }] }, free: {} });

let db: TestDatabase;
let store: Store;
let engine: Dispatcher;
/** Looks into the queue that had to leave work for its limits. */
let looksAtLimits = 0;

beforeEach(async () => {
  db = await createDatabase(inject("postgresUrl"));
  store = openPostgresStore({ url: db.url, maxConnections: 5 });
  await store.migrate();
  looksAtLimits = 0;
  const claimLimited: Store["claimLimited"] = async (request) => {
    const claimed = await store.claimLimited(request);
    if (claimed.blocked.length > 0) looksAtLimits += 1;
    return claimed;
  };
  engine = engineOf({ ...store, claimLimited }, "here", { pollMinMs: NEVER_MS, pollMaxMs: NEVER_MS });
  await engine.register([APP]);
  await engine.start();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
  await db.drop();
});

const workerFor = (id: string, functionIds: readonly string[]) =>
  workerOf(engine, { id, instanceId: id, functionIds, apps: [APP], capacity: 1 });

test("a place that becomes free while no worker has room is taken as soon as one has", async () => {
  const leaving = workerFor("leaving", ["shop-limited"]);
  const send = (name: string) => engine.sendEvents([{ name, data: {} }]);
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
  await waitFor(async () => (await store.getRun(one.request.runId))?.head.status === "COMPLETED", {
    what: "the end of the first run",
  });
  staying.reply(other.request, { status: "DONE", value: 1 });
  const second = await staying.request();
  expect(second.request.runId).not.toBe(one.request.runId);
});
