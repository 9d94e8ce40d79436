import { systemTimers } from "@holdfast/core";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { expect, test } from "vitest";
import type { Gateway, GatewayPorts } from "../../src/server.ts";
import { readHello } from "../../src/ws/hello.ts";
import { call, ended, send, triggered, useGateway } from "./harness.ts";
import { helloFrame, RawWorker, type WorkerOptions } from "./raw-worker.ts";

const bench = useGateway();

const SHOP = { app: "shop", functions: [{ id: "eu-order", event: "shop/refund" }] };
const SHOP_EU = { app: "shop-eu", functions: [{ id: "order", event: "eu/order" }] };

/** What the gateway says to a worker that it does not take. */
async function refusalOf(gateway: Gateway, options: Omit<WorkerOptions, "url">): Promise<string> {
  const { worker, connectionId } = await RawWorker.open({ url: gateway.url, ...options });
  await worker.frame("GATEWAY_HELLO");
  worker.send(helloFrame({ url: gateway.url, ...options }, connectionId, worker.instanceId));
  const { code, message } = await worker.frame("SYNC_FAILED");
  expect(code).toBe("config_invalid");
  expect(await worker.gone()).toMatchObject({ code: 1008 });
  return message;
}

/** Nothing was heard of any deployment for longer than those that count. */
async function silence(): Promise<void> {
  const sql = postgres(bench.db.url, { max: 1 });
  await sql`UPDATE holdfast.app_groups SET seen_at = now() - interval '2 minutes'`;
  await sql.end();
}

test("an app whose function has another app's full name is rejected with both names; events still go to the first app", async () => {
  const [gateway, other] = [await bench.gateway(), await bench.gateway()];
  const first = await bench.worker(gateway, SHOP);
  const before = await bench.store.loadRegistry();
  const message = await refusalOf(other, SHOP_EU);
  for (const part of ["FUNCTION_TAKEN", '"order" of app "shop-eu"', '"eu-order" of app "shop"', '"shop-eu-order"']) {
    expect(message).toContain(part);
  }
  expect(await bench.store.loadRegistry()).toEqual(before);
  const runId = await triggered(other, await send(other, "shop/refund"));
  const { request } = await first.request();
  expect(request).toMatchObject({ runId, appName: "shop" });
  await first.replied(request, { status: "DONE", value: "refunded" });
  expect((await ended(gateway, runId)).output).toBe("refunded");
});

test("of two apps registered at the same time, one gets the name", async () => {
  const record = ({ app, functions }: typeof SHOP) => ({
    id: app,
    version: "1",
    sdk: "test",
    functions: functions.map(({ id }) => ({ slug: `${app}-${id}`, name: id, triggersJson: "[]", configJson: "{}" })),
  });
  const outcomes = await Promise.allSettled([SHOP, SHOP_EU].map((app) => bench.store.saveApps([record(app)])));
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "FUNCTION_TAKEN" } });
});

test("the name of a disconnected app is free once its runs have ended", async () => {
  const gateway = await bench.gateway();
  const old = await bench.worker(gateway, SHOP);
  const runId = await triggered(gateway, await send(gateway, "shop/refund"));
  await old.request();
  await old.close();
  await waitFor(async () => (await bench.store.listConnections()).length === 0, { what: "the worker to be gone" });
  expect(await refusalOf(gateway, SHOP_EU)).toContain("for a minute");
  await silence();
  expect(await refusalOf(gateway, SHOP_EU)).toContain("cancel the runs");
  await call(gateway, `/v1/runs/${runId}/cancel`, { method: "POST" });
  const next = await bench.worker(gateway, SHOP_EU);
  expect(await triggered(gateway, await send(gateway, "shop/refund"))).toBe("");
  const started = await triggered(gateway, await send(gateway, "eu/order"));
  const { request } = await next.request();
  expect(request).toMatchObject({ runId: started, appName: "shop-eu" });
  await next.replied(request, { status: "DONE", value: 1 });
  expect(await refusalOf(gateway, SHOP)).toContain('app "shop-eu" has had');
});

test("a known worker is checked again when another app has taken its name in the meantime", async () => {
  const deaf: GatewayPorts = { timers: systemTimers, storeFor: (store) => ({ ...store, onWake: () => () => {} }) };
  const [gateway, other] = [await bench.gateway({}, deaf), await bench.gateway()];
  const old = await bench.worker(gateway, SHOP);
  await old.close();
  await silence();
  await bench.worker(other, SHOP_EU);
  expect(await refusalOf(gateway, SHOP)).toContain('app "shop-eu" has had');
});

test("a function name missing from the newest deployment is free once older deployments are gone", async () => {
  const gateway = await bench.gateway();
  const [one, two] = [
    { ...SHOP, appVersion: "1" },
    { app: "shop", appVersion: "2", functions: [{ id: "x", event: "x" }] },
  ];
  const old = await bench.worker(gateway, one);
  await bench.worker(gateway, two);
  // The old deployment still runs what it has begun under that name.
  await refusalOf(gateway, SHOP_EU);
  await old.close();
  await silence();
  await bench.worker(gateway, SHOP_EU);
});

test("two apps of one connection cannot have functions with the same full name", () => {
  const [shop, eu] = [SHOP, SHOP_EU].map((app) => helloFrame({ url: "", ...app }, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "i"));
  if (shop?.kind !== "WORKER_CONNECT" || eu?.kind !== "WORKER_CONNECT") throw new Error("no hello");
  const both = { ...shop, apps: [...shop.apps, ...eu.apps] };
  const rules = { extensions: [], maxApps: 10, maxFunctions: 10, environmentOf: () => "" };
  expect(readHello(both, rules)).toMatchObject({ ok: false, refusal: { code: "config_invalid" } });
  expect(readHello({ ...shop, apps: [...shop.apps, ...shop.apps] }, rules)).toMatchObject({ ok: true });
});
