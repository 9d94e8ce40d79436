import { checkInvariants, type Store } from "@holdfast/store";
import { startTestPostgres, type TestPostgres } from "@holdfast/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { createTestDatabase, runDone, seedLeased, seedRun, stepDone, type TestDatabase } from "./harness.ts";

let server: TestPostgres;
let db: TestDatabase;
let store: Store;
beforeAll(async () => {
  server = await startTestPostgres({ own: true });
  db = await createTestDatabase(server.url);
  store = openPostgresStore({ url: db.url });
  await store.migrate();
});
afterAll(async () => {
  await store.close();
  await db.drop();
  await server.stop();
});

it("after a crash and restart of the server no acknowledged write is lost and none is repeated", async () => {
  const runs = await Promise.all(Array.from({ length: 20 }, () => seedLeased(store)));
  let crashes = 0;
  const work = runs.map(async (run) => {
    let steps = 0;
    for (; crashes < 2; steps += 1) {
      expect(await store.commit(stepDone(run, `s${steps}`))).toMatchObject({ won: true, inserted: [true] });
    }
    expect(await store.commit(runDone(run))).toMatchObject({ won: true, version: 2, inserted: [true] });
    return steps;
  });
  const crash = async (): Promise<void> => {
    for (; crashes < 2; crashes += 1) {
      const before = store.stats().batches;
      await expect.poll(() => store.stats().batches).toBeGreaterThan(before + 5);
      await server.kill();
      await server.restart();
    }
  };
  const [steps] = await Promise.all([Promise.all(work), crash()]);
  const stored = await store.loadRuns(runs.map((run) => run.runId));
  for (const [index, run] of runs.entries()) {
    const log = stored.find((each) => each.head.id === run.runId)?.log ?? [];
    expect(log.filter((row) => row.kind === "STEP_COMPLETED")).toHaveLength(steps[index] ?? -1);
  }
  await seedRun(store);
  expect(await checkInvariants(store)).toEqual({ runs: 21, broken: [] });
});
