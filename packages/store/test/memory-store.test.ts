import { randomUUID } from "node:crypto";
import { systemClock } from "@holdfast/core";
import { expect, test } from "vitest";
import { createMemoryDatabase, type MemoryDatabase } from "../src/index.ts";
import { newId, runDone, seedLeased, stepDone } from "./contract/harness.ts";
import { storeContract } from "./contract/index.ts";

const openDatabase = (
  keptEndedRuns = 1000,
  clock: { nowMs(): number } = systemClock,
  virtualTime = false,
): MemoryDatabase =>
  createMemoryDatabase({
    clock,
    soon: setImmediate,
    newUuid: randomUUID,
    secret: "secret",
    keptEndedRuns,
    virtualTime,
  });

storeContract({
  open: ({ virtualTime }) => {
    const database = openDatabase(1000, systemClock, virtualTime);
    return { store: database.open(), another: () => database.open() };
  },
});

test("the memory store keeps the newest ended runs and every run that goes on", async () => {
  const store = openDatabase(20).open();
  const live = await seedLeased(store);
  const ended: string[] = [];
  for (let n = 0; n < 100; n += 1) {
    const run = await seedLeased(store);
    await store.commit(runDone(run));
    ended.push(run.runId);
  }
  const { runs } = await store.listRuns({ limit: 1000 });
  expect(runs.length).toBeLessThanOrEqual(1 + 22);
  expect((await store.listEvents({ limit: 1000 })).events.length).toBeLessThanOrEqual(runs.length + 22);
  const kept = new Set(runs.map(({ id }) => id));
  expect(kept.has(live.runId)).toBe(true);
  expect(ended.slice(-20).every((id) => kept.has(id))).toBe(true);
  expect(await store.commit(stepDone(live, "a"))).toMatchObject({ won: true });
});

test("the memory store shows since when a gateway is silent, and removes connections that no gateway marks", async () => {
  let nowMs = 1_700_000_000_000;
  const store = openDatabase(1000, { nowMs: () => nowMs }).open();
  const connection = {
    instanceId: "i",
    appIds: ["shop"],
    versions: ["shop@1"],
    queues: ["*"],
    partitions: [],
    capacity: 10,
    status: "READY",
    connectedMs: 1,
  };
  await store.saveConnection({ ...connection, id: "c1", gatewayId: "g1" });
  await store.saveConnection({ ...connection, id: "c2", gatewayId: "g2" });
  await store.touchGateway("g1");
  nowMs += 20_000;
  await store.touchGateway("g2");
  const silence = (await store.listConnections()).map(({ gatewayId, silentMs }) => [gatewayId, silentMs]);
  expect(Object.fromEntries(silence)).toEqual({ g1: 20_000, g2: 0 });
  nowMs += 3_600_000;
  await store.touchConnections("g1", 60_000);
  expect((await store.listConnections()).map(({ id }) => id)).toEqual(["c1"]);
});

test("a closed memory store rejects calls with a code, and what was called before is done", async () => {
  const store = openDatabase().open();
  const seeding = seedLeased(store);
  const closing = store.close();
  const { runId } = await seeding;
  expect(runId).not.toBe("");
  await closing;
  await expect(store.ping()).rejects.toMatchObject({ code: "STORE_FAILED" });
});

test("a transaction of the memory store has one time, though the clock moves on with every look at it", async () => {
  let nowMs = 1_700_000_000_000;
  const clock = { nowMs: () => (nowMs += 1) };
  const store = openDatabase(1000, clock).open();
  const run = await seedLeased(store);
  await store.commit(runDone(run));
  const detail = await store.getRun(run.runId);
  expect(detail?.head.endedMs).toBe(detail?.log.at(-1)?.atMs);
  expect(detail?.head.createdMs).toBe(detail?.log[0]?.atMs);
});

test("an event finds a wait that began before it in the same millisecond, and none that began after it", async () => {
  const store = openDatabase(1000, { nowMs: () => 1_700_000_000_000 }).open();
  const run = await seedLeased(store);
  const send = async (): Promise<string> => {
    const event = { id: newId(), name: "shop/answer", tsMs: 1, payloadJson: "{}" };
    await store.intake([{ event, runs: [] }]);
    return event.id;
  };
  const found = (eventId: string) => store.findWaits({ name: "shop/answer", kinds: ["event"], eventId, limit: 10 });
  const before = await send();
  await store.commit({
    ...stepDone(run, "a"),
    cas: 1,
    addWaits: [{ runId: run.runId, key: "w", kind: "event", name: "shop/answer" }],
  });
  const after = await send();
  expect(await found(before)).toEqual([]);
  expect(await found(after)).toMatchObject([{ runId: run.runId, key: "w" }]);
});
