import type { Store } from "@holdfast/store";
import { createDatabase, type TestDatabase, waitFor } from "@holdfast/testing";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { appOf, engineOf, workerOf } from "./engine-harness.ts";
import { did, op } from "./harness.ts";

/** Claims of this store find no timers, until one is let through; its answer then comes when the test says so. */
function holdingClaims(store: Store) {
  let lets = false;
  let held: (() => void) | null = null;
  const claim: Store["claim"] = async ({ wants, ...rest }) => {
    const jobs = await store.claim({
      ...rest,
      wants: lets ? wants : wants.filter(({ functionId }) => functionId !== ""),
    });
    if (jobs.some(({ kind }) => kind === "timer")) {
      lets = false;
      await new Promise<void>((resolve) => {
        held = resolve;
      });
    }
    return jobs;
  };
  return {
    store: { ...store, claim },
    let: () => {
      lets = true;
    },
    held: () => held,
  };
}

let db: TestDatabase;
let store: Store;
const cleanUps: (() => unknown)[] = [];

beforeEach(async () => {
  db = await createDatabase(inject("postgresUrl"));
  store = openPostgresStore({ url: db.url, maxConnections: 5 });
  await store.migrate();
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
  await store.close();
  await db.drop();
});

test("a step stored while its gateway reads the run for another purpose is not dispatched again", async () => {
  const claims = holdingClaims(store);
  const here = engineOf(claims.store, "here");
  const one: Store["claim"] = ({ wants, ...rest }) =>
    store.claim({ ...rest, wants: wants.map((want) => ({ ...want, limit: 1 })) });
  const other = engineOf({ ...store, claim: one }, "other");
  cleanUps.push(
    () => claims.held()?.(),
    () => Promise.all([here.stop(), other.stop()]),
  );
  const settled = (runId: string, count: number) =>
    waitFor(
      async () => {
        const [run] = await store.loadRuns([runId]);
        return run?.log.filter(({ kind }) => kind === "STEP_COMPLETED").length === count;
      },
      { what: `${count} finished steps` },
    );
  await here.register([appOf({ order: {} })]);
  const worker = workerOf(here);
  await here.sendEvents([{ name: "shop/order", data: {} }]);
  const { request } = await worker.request();
  await worker.checkpoint(1, request, [op("Sleep", "s1", { name: "1ms" }), op("Sleep", "s2", { name: "1ms" })]);
  // Another gateway decides on the run, so that what the claim here reads is newer than what is known here.
  await waitFor(async () => (await other.tick()) > 0, { what: "one sleep to be due" });
  await settled(request.runId, 1);
  claims.let();
  const answer = await waitFor(() => claims.held(), { what: "the other sleep to be claimed" });
  expect(await worker.checkpoint(2, request, [did("a")])).toMatchObject({ outcome: "stored" });
  answer();
  await settled(request.runId, 3);
  worker.reply(request, { value: [op("Sleep", "s1", { name: "1ms" })] });
  expect(Object.keys((await worker.request()).steps).sort()).toEqual(["a", "s1", "s2"]);
});

test("a step stored while another gateway fails the run is undone", async () => {
  let write: (() => void) | null = null;
  const commit: Store["commit"] = async (transition) => {
    if (transition.log.some(({ kind }) => kind === "TIMER_FIRED") && write === null) {
      await new Promise<void>((resolve) => {
        write = resolve;
      });
    }
    return store.commit(transition);
  };
  const here = engineOf(holdingClaims(store).store, "here");
  const other = engineOf({ ...store, commit }, "other");
  cleanUps.push(
    () => write?.(),
    () => Promise.all([here.stop(), other.stop()]),
  );
  await here.register([appOf({ order: { holdfast: { deadline: "1s" } } })]);
  const worker = workerOf(here);
  await here.sendEvents([{ name: "shop/order", data: {} }]);
  const { request } = await worker.request();
  await waitFor(async () => (await other.tick()) > 0, { what: "the deadline" });
  const end = await waitFor(() => write, { what: "the run to be failed" });
  const done = op("StepRun", "a", { data: 1, userland: { id: "a" }, opts: { compensate: true } });
  expect(await worker.checkpoint(1, request, [done])).toMatchObject({ outcome: "stored" });
  end();
  const { steps } = await worker.request();
  expect(Object.keys(steps)).toEqual(["a", expect.any(String)]);
});

test("a worker at another gateway is told at once that the deadline has ended its work", async () => {
  const hereStore = openPostgresStore({ url: db.url, maxConnections: 3 });
  const here = engineOf(holdingClaims(hereStore).store, "here");
  const other = engineOf(store, "other");
  cleanUps.push(
    () => Promise.all([here.stop(), other.stop()]),
    () => hereStore.close(),
  );
  let listens = false;
  hereStore.onWake(({ type }) => {
    listens ||= type === "ANYTHING";
  });
  await waitFor(() => listens, { what: "the first gateway to listen" });
  await here.register([appOf({ order: { holdfast: { deadline: "1s" } } })]);
  await here.start();
  const worker = workerOf(here, { extensions: new Set(["checkpoint", "cancel"]) });
  await here.sendEvents([{ name: "shop/order", data: {} }]);
  const first = await worker.request();
  const done = op("StepRun", "a", { data: 1, userland: { id: "a" }, opts: { compensate: true } });
  expect(await worker.checkpoint(1, first.request, [done])).toMatchObject({ outcome: "stored" });
  await waitFor(async () => (await other.tick()) > 0, { what: "the deadline" });
  expect(await worker.cancel()).toMatchObject({ requestId: first.request.requestId });
  // The pass that undoes cannot be taken away.
  const undoing = await worker.request();
  expect(Object.keys(undoing.steps)).toEqual(["a", expect.any(String)]);
  expect(worker.frames.map(({ kind }) => kind)).not.toContain("GATEWAY_CANCEL");
});
