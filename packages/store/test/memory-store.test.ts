import { systemClock } from "@holdfast/core";
import { expect, test } from "vitest";
import { createMemoryDatabase, type MemoryDatabase } from "../src/index.ts";
import { newId, runDone, seedLeased, stepDone } from "./contract/harness.ts";
import { storeContract } from "./contract/index.ts";

const openDatabase = (keptEndedRuns = 1000): MemoryDatabase =>
  createMemoryDatabase({ clock: systemClock, soon: setImmediate, newUuid: newId, secret: "secret", keptEndedRuns });

storeContract({
  open: () => {
    const database = openDatabase();
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

test("a closed memory store rejects calls with a code, and what was called before is done", async () => {
  const store = openDatabase().open();
  const seeding = seedLeased(store);
  const closing = store.close();
  const { runId } = await seeding;
  expect(runId).not.toBe("");
  await closing;
  await expect(store.ping()).rejects.toMatchObject({ code: "STORE_FAILED" });
});
