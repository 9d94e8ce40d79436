import type { Log } from "@holdfast/core";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, test } from "vitest";
import { hashSigningKey } from "../../src/http/keys.ts";
import type { Gateway } from "../../src/server.ts";
import { call, ended, SIGNING_KEY, send, start, triggered, useGateway } from "./harness.ts";

const bench = useGateway();

test("a function missing from a newer deployment is no longer triggered, and its existing run continues", async () => {
  const gateway = await bench.gateway();
  const old = await bench.worker(gateway, {
    appVersion: "1",
    functions: [
      { id: "order", event: "shop/order" },
      { id: "gone", event: "shop/gone" },
    ],
  });
  const running = await triggered(gateway, await send(gateway, "shop/gone"));
  const { request } = await old.request();
  const fresh = await bench.worker(gateway, { appVersion: "2", functions: [{ id: "order", event: "shop/order" }] });
  expect(await triggered(gateway, await send(gateway, "shop/gone"))).toBe("");
  // The old deployment connects again while the roll-out goes on.
  const again = await bench.worker(gateway, {
    appVersion: "1",
    functions: [
      { id: "order", event: "shop/order" },
      { id: "gone", event: "shop/gone" },
    ],
  });
  const other = await bench.gateway();
  expect(await triggered(other, await send(other, "shop/gone"))).toBe("");
  await old.replied(request, { status: "DONE", value: "kept" });
  expect((await ended(gateway, running)).output).toBe("kept");
  await Promise.all([old.close(), again.close()]);
  const [runId = ""] = await start(gateway);
  const next = await fresh.request();
  await fresh.replied(next.request, { status: "DONE", value: 2 });
  expect((await ended(gateway, runId)).output).toBe(2);
  expect(((await call(gateway, "/v1/runs")) as { runs: unknown[] }).runs).toHaveLength(2);
});

interface FunctionView {
  readonly id: string;
  readonly active: boolean;
  readonly workers: number;
}

const buildA = { appVersion: "a", functions: [{ id: "one", event: "shop/one" }] };
const buildB = { appVersion: "b", functions: [...buildA.functions, { id: "two", event: "shop/two" }] };
const isTriggered = async (gateway: Gateway, name: string): Promise<boolean> =>
  (await triggered(gateway, await send(gateway, name))) !== "";

test("back to a known build and forward again: what was started last counts, whatever is still connected", async () => {
  const gateway = await bench.gateway();
  await bench.worker(gateway, { ...buildA, uptimeMs: 0 });
  await bench.worker(gateway, { ...buildB, uptimeMs: 0 });
  expect(await isTriggered(gateway, "shop/two")).toBe(true);
  await bench.worker(gateway, { ...buildA, uptimeMs: 0 });
  expect(await isTriggered(gateway, "shop/two")).toBe(false);
  // Connected again: its process has been there since before.
  await bench.worker(gateway, { ...buildB, uptimeMs: 3_600_000 });
  expect(await isTriggered(gateway, "shop/two")).toBe(false);
  await bench.worker(gateway, { ...buildB, uptimeMs: 0 });
  expect(await isTriggered(gateway, "shop/two")).toBe(true);
  // What no process can have run for is taken as very long.
  await bench.worker(gateway, { ...buildA, uptimeMs: Number.MAX_VALUE });
  expect(await isTriggered(gateway, "shop/two")).toBe(true);
});

test("with keys, an older build replaces the newest one once it was away, not when one of its processes is started again", async () => {
  const lines: string[] = [];
  const log: Log = (level, message) => void lines.push(`${level}: ${message}`);
  const keys = { signingKey: SIGNING_KEY, eventKey: "test" };
  const gateway = await bench.gateway({ ...keys, virtualTime: true, log });
  const headers = { Authorization: `Bearer ${hashSigningKey(SIGNING_KEY)}` };
  const active = async (): Promise<string[]> => {
    const { functions } = (await call(gateway, "/v1/functions", { headers })) as { functions: FunctionView[] };
    return functions.flatMap(({ id, active }) => (active ? [id] : []));
  };
  const all = ["shop-one", "shop-two"];
  await bench.worker(gateway, { ...buildA, uptimeMs: 0, headers });
  await bench.worker(gateway, { ...buildB, uptimeMs: 0, headers });
  await bench.worker(gateway, { ...buildA, uptimeMs: 0, headers });
  expect(await active()).toEqual(all);
  await gateway.skipTime(120_000);
  await bench.worker(gateway, { ...buildB, uptimeMs: 0, headers });
  await bench.worker(gateway, { ...buildA, uptimeMs: 0, headers });
  expect(await active()).toEqual(["shop-one"]);
  expect(lines.filter((line) => line.includes("newest deployment"))).toEqual([]);
  // The log warns about a worker of the other build.
  await bench.worker(gateway, { ...buildB, uptimeMs: 3_600_000, headers });
  expect(await active()).toEqual(["shop-one"]);
  expect(lines).toContainEqual(
    'warn: A worker of the app "shop" is not of its newest deployment, whose functions count: events and schedules do not start shop-two.',
  );
});

test("a deployment counts as gone once its last worker, at whatever gateway, has said that it ends", async () => {
  const [here, there] = [await bench.gateway(), await bench.gateway()];
  const left = async (): Promise<string[]> => {
    const sql = postgres(bench.db.url, { max: 1 });
    const rows = await sql`SELECT version FROM holdfast.app_groups WHERE left_at >= seen_at ORDER BY version`;
    await sql.end();
    return rows.map((row) => String(row.version));
  };
  const listed = async (): Promise<number> => (await bench.store.listConnections()).length;
  await bench.worker(here, buildA);
  const [first, second, cut] = [
    await bench.worker(here, buildB),
    await bench.worker(there, buildB),
    await bench.worker(there, buildB),
  ];
  await first.close();
  await waitFor(async () => (await listed()) === 3, { what: "one to be gone" });
  expect(await left()).toEqual([]);
  cut.cut();
  await waitFor(async () => (await listed()) === 2, { what: "two to be gone" });
  expect(await left()).toEqual([]);
  await second.close();
  await waitFor(async () => (await left()).length > 0, { what: "the deployment to be gone" });
  expect(await left()).toEqual(["b"]);
});

test("the log warns once about two builds without a version that are connected together", async () => {
  const lines: string[] = [];
  const log: Log = (level, message) => void (message.includes("appVersion") && lines.push(`${level}: ${message}`));
  const keys = { signingKey: SIGNING_KEY, eventKey: "test" };
  const [gateway, other] = [await bench.gateway({ ...keys, log }), await bench.gateway(keys)];
  const headers = { Authorization: `Bearer ${hashSigningKey(SIGNING_KEY)}` };
  await bench.worker(other, { functions: buildA.functions, headers });
  await bench.worker(gateway, { functions: buildA.functions, headers });
  await bench.worker(gateway, { ...buildB, headers });
  expect(lines).toEqual([]);
  for (const { functions } of [buildB, buildA, buildB]) await bench.worker(gateway, { functions, headers });
  expect(lines).toEqual([
    'warn: Workers of two builds of the app "shop" have been connected within the last minute, and neither build has a version. Either may resume runs that began on the other one, and a run fails where their steps differ. Give each build a version, such as its commit, before you deploy it: `appVersion` of the client, or HOLDFAST_APP_VERSION.',
  ]);
});

test("of builds without a version, only workers that have a function count as its workers", async () => {
  const gateway = await bench.gateway();
  const workers = async (): Promise<(readonly [string, number])[]> => {
    const { functions } = (await call(gateway, "/v1/functions")) as { functions: FunctionView[] };
    return functions.map(({ id, workers }) => [id, workers]);
  };
  await bench.worker(gateway, { functions: buildA.functions });
  const two = await bench.worker(gateway, { functions: buildB.functions });
  expect(await workers()).toEqual([
    ["shop-one", 2],
    ["shop-two", 1],
  ]);
  await two.close();
  await waitFor(async () => (await workers())[0]?.[1] === 1, { what: "the worker to be gone" });
  expect(await workers()).toEqual([
    ["shop-one", 1],
    ["shop-two", 0],
  ]);
});
