import { waitFor } from "@holdfast/testing";
import { test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, op, send, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();
const done = { status: "DONE", value: null } as const;
const ONE_AT_ONCE = { concurrency: [{ limit: 1 }] };

const connect = (gateway: Gateway, appVersion: string, config: object): Promise<RawWorker> =>
  bench.worker(gateway, { appVersion, functions: [{ id: "order", event: "shop/order", config }] });

async function waitingForLimits(gateway: Gateway): Promise<number> {
  const { runs } = (await call(gateway, "/v1/runs?waiting=only&limit=100")) as {
    runs: { waiting: { reason: string } | null }[];
  };
  return runs.filter(({ waiting }) => waiting?.reason === "LIMITS").length;
}

/** Each run is given to the worker when the one before has ended. */
async function answerOneByOne(gateway: Gateway, worker: RawWorker, runs: number): Promise<void> {
  for (let left = runs - 1; left >= 0; left -= 1) {
    const { request } = await worker.request();
    await waitFor(async () => (await waitingForLimits(gateway)) === left, { what: `${left} runs that wait` });
    await worker.replied(request, done);
  }
}

test.each([
  ["no limit", {}],
  ["another limit", { concurrency: [{ limit: 9, key: "event.data.key" }, { limit: 9 }] }],
  ["a throttle", { throttle: { limit: 100, period: "1s" } }],
])("runs that waited under %s are counted by the limit of a later deployment", async (_, before) => {
  const gateway = await bench.gateway();
  const first = await connect(gateway, "1", before);
  await first.close();
  for (let key = 0; key < 4; key += 1) await send(gateway, "shop/order", { key });
  await answerOneByOne(gateway, await connect(gateway, "2", ONE_AT_ONCE), 4);
});

test("runs that slept through a deployment are counted by its limit", async () => {
  const gateway = await bench.gateway();
  const first = await connect(gateway, "1", {});
  for (let key = 0; key < 3; key += 1) {
    await send(gateway, "shop/order", { key });
    const { request } = await first.request();
    await first.replied(request, { value: [op("Sleep", "nap", { name: "2s" })] });
  }
  await first.close();
  await answerOneByOne(gateway, await connect(gateway, "1", ONE_AT_ONCE), 3);
});

test("a place that a run takes which began without limits is free when it ends", async () => {
  const gateway = await bench.gateway();
  const first = await connect(gateway, "1", {});
  await send(gateway, "shop/order");
  const { request } = await first.request();
  const second = await connect(gateway, "2", ONE_AT_ONCE);
  await send(gateway, "shop/order");
  await waitFor(async () => (await waitingForLimits(gateway)) === 1, { what: "a run that waits for the first one" });
  await first.replied(request, done);
  await second.replied((await second.request()).request, done);
});
