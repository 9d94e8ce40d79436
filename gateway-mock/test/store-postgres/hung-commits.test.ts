/** The only synchronous standby is away: reads are answered, and no commit ends. */
import type { Store } from "@holdfast/store";
import { startTestPostgres, type TestPostgres } from "@holdfast/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openPostgresStore } from "../../src/store-postgres/index.ts";
import { claimOne, createTestDatabase, seedLeased, type TestDatabase } from "./harness.ts";

const LEASE_MS = 16_000;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let server: TestPostgres;
let db: TestDatabase;
const stores: Store[] = [];
beforeAll(async () => {
  server = await startTestPostgres({ own: true, durable: true });
  db = await createTestDatabase(server.url);
  for (let count = 0; count < 2; count += 1) stores.push(openPostgresStore({ url: db.url }));
  await stores[0]?.migrate();
});
afterAll(async () => {
  await setStandby("");
  await Promise.all(stores.map((store) => store.close()));
  await db.drop();
  await server.stop();
});

async function setStandby(name: string): Promise<void> {
  await db.sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
  await db.sql.unsafe("SELECT pg_reload_conf()");
}

it("a gateway says so, and takes no lease that could not be extended meanwhile", async () => {
  const [holder, other] = stores as [Store, Store];
  const run = await seedLeased(holder, "hung", LEASE_MS);
  const began = performance.now();
  await setStandby("away");
  const extend = (): Promise<readonly boolean[]> =>
    holder.extendLeases([{ jobId: run.jobId, epoch: 1, gatewayId: "gw-a", leaseMs: LEASE_MS }]);
  const extended = extend();
  // Nothing else is written there: only that it is alive.
  const touched = other.touchGateway("gw-b");
  for (const store of [holder, other]) {
    await expect
      .poll(() => store.health(), { timeout: 14_000 })
      .toMatchObject({
        ok: false,
        error: expect.stringContaining("no write has ended"),
      });
  }
  await sleep(LEASE_MS + 1_000 - (performance.now() - began));
  const claimed = claimOne(other, "hung").catch(() => undefined);
  await sleep(1_000);
  await setStandby("");
  expect(await extended).toEqual([true]);
  // As the worker has asked meanwhile: the first extension counts from when it was sent.
  expect(await extend()).toEqual([true]);
  await touched;
  expect(await claimed).toBeUndefined();
  expect(await claimOne(other, "hung")).toBeUndefined();
  expect([holder.health().ok, other.health().ok]).toEqual([true, true]);
}, 60_000);
