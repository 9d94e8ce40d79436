import { expect, test } from "vitest";
import { call, useGateway } from "./harness.ts";

const bench = useGateway();
const HOUR_MS = 3_600_000;

interface Limits {
  readonly limits: readonly {
    readonly functionId: string;
    readonly kind: string;
    readonly uses: readonly {
      readonly key: string | null;
      readonly taken: number;
      readonly waiting: number;
      readonly holders: readonly { readonly runId: string }[];
      readonly waiters: readonly { readonly runId: string }[];
      readonly nextStartMs: number | null;
    }[];
  }[];
}

test("of limits it is told who has the places of each key, and who waits; of throttles, when the next starts", async () => {
  const gateway = await bench.gateway();
  const config = {
    concurrency: [{ limit: 1, key: "event.data.shop" }, { limit: 5 }],
    throttle: { limit: 4, period: "1h" },
  };
  const worker = await bench.worker(gateway, { functions: [{ id: "order", event: "shop/order", config }] });
  worker.answer(() => "later");
  for (const shop of ["north", "north", "south", "east", "west", "far"]) {
    const body = JSON.stringify({ name: "shop/order", data: { shop } });
    await call(gateway, "/e/test", { method: "POST", body });
  }
  const read = async (): Promise<Limits["limits"]> => ((await call(gateway, "/v1/limits")) as Limits).limits;
  await expect.poll(async () => (await read())[0]?.uses.filter(({ taken }) => taken === 1).length).toBe(4);
  const [byShop, all, throttle] = await read();
  expect([byShop?.kind, all?.kind, throttle?.kind]).toEqual(["concurrency", "concurrency", "throttle"]);
  expect(byShop?.uses.find(({ key }) => key === "north")).toMatchObject({ taken: 1, waiting: 1, nextStartMs: null });
  expect(byShop?.uses.map(({ key }) => key).sort()).toEqual(["east", "far", "north", "south", "west"]);
  expect(all?.uses).toMatchObject([{ key: null, taken: 4, waiting: 2 }]);
  const { runs } = await bench.store.listRuns({ status: "RUNNING", limit: 10 });
  expect(all?.uses[0]?.holders.map(({ runId }) => runId).sort()).toEqual(runs.map(({ id }) => id).sort());
  expect(throttle?.uses).toMatchObject([{ key: null, taken: 4, waiting: 2, holders: [] }]);
  expect(throttle?.uses[0]?.nextStartMs).toBeGreaterThan(Date.now() - HOUR_MS);
});

test("schedules are listed with their next tick, and with the run that they started last", async () => {
  const gateway = await bench.gateway({ virtualTime: true });
  const triggers = [{ cron: "0 * * * *" }, { cron: "30 * * * *" }];
  const worker = await bench.worker(gateway, { functions: [{ id: "hourly", event: "x", config: { triggers } }] });
  worker.answer(() => ({ status: "DONE", value: "ok" }));
  const read = async () =>
    ((await call(gateway, "/v1/schedules")) as { schedules: Record<string, unknown>[] }).schedules;
  await expect.poll(async () => (await read()).length).toBe(2);
  expect((await read()).map(({ last }) => last)).toEqual([null, null]);
  await call(gateway, "/v1/testing/skip-time", { method: "POST", body: JSON.stringify({ ms: HOUR_MS }) });
  await expect.poll(async () => (await read()).filter(({ last }) => last !== null).length).toBe(2);
  const [full, half] = await read();
  expect([full?.cron, half?.cron]).toEqual(["0 * * * *", "30 * * * *"]);
  expect(full?.last).not.toEqual(half?.last);
  expect(full).toMatchObject({ functionId: expect.stringContaining("hourly"), graph: null, paused: false });
});

test("events are listed page by page, by name and by its beginning", async () => {
  const gateway = await bench.gateway();
  for (const name of ["shop/a", "shop/b", "other/c"]) {
    await call(gateway, "/e/test", { method: "POST", body: JSON.stringify({ name, data: {} }) });
  }
  const names = async (query: string): Promise<unknown[]> => {
    const page = (await call(gateway, `/v1/events${query}`)) as { events: { name: string }[]; nextCursor: unknown };
    return [page.events.map(({ name }) => name), page.nextCursor !== null];
  };
  expect(await names("")).toEqual([["other/c", "shop/b", "shop/a"], false]);
  expect(await names("?limit=1")).toEqual([["other/c"], true]);
  expect(await names("?name=shop/*")).toEqual([["shop/b", "shop/a"], false]);
  expect(await names("?name=shop/a")).toEqual([["shop/a"], false]);
  expect(await names("?name=shop/")).toEqual([[], false]);
});

test("runs are found by the id that their sender gave, and by a text in their error", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions: [{ id: "order", event: "shop/order" }] });
  worker.answer(() => "later");
  for (const id of ["order-1", "order-2"]) {
    const body = JSON.stringify({ id, name: "shop/order", data: { id } });
    await call(gateway, "/e/test", { method: "POST", body });
  }
  const [functionId = ""] = (await bench.store.listRuns({ limit: 1 })).runs.map((run) => run.functionId);
  const asked = { method: "POST", body: JSON.stringify({ id: "own-3", data: {} }) };
  const { runId } = (await call(gateway, `/v1/functions/${functionId}/runs`, asked)) as { runId: string };
  const runs = async (query: string): Promise<string[]> =>
    ((await call(gateway, `/v1/runs?${query}`)) as { runs: { id: string }[] }).runs.map(({ id }) => id);
  const [, second, first] = await runs("limit=10");
  expect(await runs("key=order-1")).toEqual([first]);
  expect(await runs("key=order-2&status=COMPLETED")).toEqual([]);
  expect(await runs("key=own-3")).toEqual([runId]);
  expect(await runs("key=order-9")).toEqual([]);
  await call(gateway, `/v1/runs/${second}/cancel`, { method: "POST" });
  expect(await runs("error=OVER%20the%20api")).toEqual([second]);
  expect(await runs("error=another")).toEqual([]);
});
