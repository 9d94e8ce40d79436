import { type Gateway, startGateway } from "@holdfast/gateway";
import { createDatabase, waitFor } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import { afterEach, expect, inject, test } from "vitest";

/** Flow control as a function of the SDK asks for it; time is the gateway's own, and is moved on. */

const STORES = ["postgres", "memory"] as const;

let gateway: Gateway;
let client: Holdfast;
const cleanUps: (() => Promise<unknown>)[] = [];

async function start(store: (typeof STORES)[number]): Promise<void> {
  const db = store === "postgres" ? await createDatabase(inject("postgresUrl")) : null;
  if (db) cleanUps.push(() => db.drop());
  gateway = await startGateway({ port: 0, store, ...(db ? { databaseUrl: db.url } : {}), virtualTime: true });
  cleanUps.push(() => gateway.close());
  client = new Holdfast({ id: "flow", baseUrl: gateway.url, isDev: true });
}
afterEach(async () => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp();
});

const HOUR_MS = 3_600_000;

test.each(STORES)("limits, windows, priorities and schedules hold within one app on the store %s", async (store) => {
  await start(store);
  const seen: Record<string, unknown[]> = { limited: [], batched: [], debounced: [], daily: [], paced: [], once: [] };
  let running = 0;
  let most = 0;
  let worked = 0;
  const functions = [
    client.createFunction(
      { id: "limited", triggers: { event: "a/limited" }, concurrency: { limit: 2, key: "event.data.user" } },
      async ({ event, step }) => {
        await step.run("work", async () => {
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setTimeout(resolve, 20));
          running -= 1;
          worked += 1;
        });
        await step.sleep("wait", "1h");
        seen.limited?.push(event.data.n);
      },
    ),
    client.createFunction(
      { id: "batched", triggers: { event: "a/batched" }, batchEvents: { maxSize: 4, timeout: "10m" } },
      async ({ events }) => {
        seen.batched?.push(events.map(({ data }) => data.n));
      },
    ),
    client.createFunction(
      { id: "debounced", triggers: { event: "a/debounced" }, debounce: { period: "5m", key: "event.data.doc" } },
      async ({ event }) => {
        seen.debounced?.push(event.data);
      },
    ),
    client.createFunction({ id: "daily", triggers: { cron: "TZ=America/New_York 30 1 * * *" } }, async ({ event }) => {
      seen.daily?.push(event.data.cron);
    }),
    client.createFunction(
      { id: "paced", triggers: { event: "a/paced" }, throttle: { limit: 1, period: "1h" } },
      async ({ event }) => {
        seen.paced?.push(event.data.n);
      },
    ),
    client.createFunction(
      { id: "once", triggers: { event: "a/once", if: "event.data.n > 1" }, idempotency: "event.data.order" },
      async ({ event }) => {
        seen.once?.push(event.data.n);
      },
    ),
  ];
  const connection = await client.connect({ functions });
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
  await client.send(numbers(6).map((n) => ({ name: "a/limited", data: { n, user: "u" } })));
  await client.send(numbers(6).map((n) => ({ name: "a/batched", data: { n } })));
  for (const n of numbers(4)) await client.send({ name: "a/debounced", data: { doc: `d${n % 2}`, n } });
  for (const n of numbers(3)) await client.send({ name: "a/paced", data: { n } });
  for (const n of numbers(6)) await client.send({ name: "a/once", data: { n, order: n % 2 } });
  const settled = (): boolean => seen.batched?.length === 1 && seen.paced?.length === 1 && seen.once?.length === 2;
  await waitFor(settled, { what: "what is due at once", context: () => JSON.stringify(seen) });
  expect(seen).toMatchObject({ batched: [[0, 1, 2, 3]], paced: [0], once: [2, 3], debounced: [] });
  await waitFor(() => worked === 6, { what: "all to work, two at a time" });
  await gateway.skipTime(HOUR_MS / 6);
  await waitFor(() => seen.debounced?.length === 2 && seen.batched?.length === 2, { what: "the windows" });
  expect(seen.debounced).toEqual(
    expect.arrayContaining([
      { doc: "d0", n: 2 },
      { doc: "d1", n: 3 },
    ]),
  );
  for (let day = 1; day <= 2; day++) {
    await gateway.skipTime(24 * HOUR_MS);
    await waitFor(() => seen.daily?.length === day && seen.paced?.length === day + 1, {
      what: `day ${day}`,
      context: () => JSON.stringify(seen),
    });
  }
  await waitFor(() => seen.limited?.length === 6, { what: "all runs that slept" });
  expect(most).toBe(2);
  expect(seen).toMatchObject({
    batched: [
      [0, 1, 2, 3],
      [4, 5],
    ],
    paced: [0, 1, 2],
    once: [2, 3],
  });
  await connection.close();
});

test("an app whose function has an unreadable expression is rejected with the reason", async () => {
  await start("memory");
  const wrong = client.createFunction(
    { id: "wrong", triggers: { event: "a/b", if: "event.data.n >" } },
    async () => {},
  );
  await expect(client.connect({ functions: [wrong], connectTimeout: "5s" })).rejects.toThrow(/triggers\[0\]\.if/);
});
