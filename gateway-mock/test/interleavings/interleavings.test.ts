import { checkInvariants } from "@holdfast/store";
import { createDatabase } from "@holdfast/testing";
import postgres from "postgres";
import { expect, inject, test } from "vitest";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { type Ground, Schedule } from "./schedule.ts";

/** HOLDFAST_TEST_SCHEDULES=5000 plays more, HOLDFAST_TEST_SEED=7 others; with HOLDFAST_TEST_SCHEDULE=123 one is played and printed. */
const { HOLDFAST_TEST_SCHEDULES = "150", HOLDFAST_TEST_SEED = "1", HOLDFAST_TEST_SCHEDULE: only } = process.env;
const LANES = 3;

/** Each lane has a database of its own, so that schedules do not see each other. */
async function onGround(work: (ground: Ground) => Promise<void>): Promise<void> {
  const db = await createDatabase(inject("postgresUrl"));
  const sql = postgres(db.url, { max: 1, onnotice: () => {} });
  const store = openPostgresStore({ url: db.url, maxConnections: 3, virtualTime: true });
  try {
    await store.migrate();
    const endLeases = () => sql`UPDATE holdfast.queue SET available_at = holdfast.now() WHERE leased_by IS NOT NULL`;
    await work({ store, endLeases });
    expect((await checkInvariants(store)).broken).toEqual([]);
  } finally {
    await sql.end();
    await store.close();
    await db.drop();
  }
}

test("in random orders of events at several gateways, waits and runs end once and nothing is lost or dispatched twice", async () => {
  const base = Number(HOLDFAST_TEST_SEED) * 1_000_000;
  const seeds = only ? [Number(only)] : Array.from({ length: Number(HOLDFAST_TEST_SCHEDULES) }, (_, n) => base + n);
  const wrong: string[] = [];
  const count = seeds.length;
  const lane = () =>
    onGround(async (ground) => {
      for (let seed = seeds.shift(); seed !== undefined && wrong.length < 5; seed = seeds.shift()) {
        const { broken, trace } = await new Schedule(seed, ground).play();
        if (only) console.log(trace.join("\n"));
        if (broken.length > 0) wrong.push(`HOLDFAST_TEST_SCHEDULE=${seed}: ${broken.join("; ")}`);
      }
    });
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: Math.min(LANES, count) }, lane));
  console.log(`${count} schedules in ${Math.round(performance.now() - startedMs)} ms`);
  expect(wrong).toEqual([]);
});

test("the schedule is determined by its seed", async () => {
  const seeds = [3, 14, 159];
  const traces: string[][] = [];
  for (let round = 0; round < 2; round++) {
    await onGround(async (ground) => {
      const played = [];
      for (const seed of seeds) played.push((await new Schedule(seed, ground).play()).trace.join("\n"));
      traces.push(played);
    });
  }
  expect(traces[1]).toEqual(traces[0]);
});
