import type { VersionPolicy } from "@holdfast/engine";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";

import type { Gateway } from "../../src/server.ts";
import { ended, metrics, runDetail, start, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();
const POLICIES: readonly VersionPolicy[] = ["prefer", "strict", "any"];

/** What a version says about its runs, so that one sees whose options a run has. */
const V1 = { appVersion: "1", functions: [{ id: "order", event: "shop/order", retries: 1 }] };
const V2 = {
  appVersion: "2",
  functions: [
    {
      id: "order",
      event: "shop/order",
      retries: 6,
      config: { holdfast: { deadline: "1h" }, cancel: [{ event: "shop/stop" }] },
    },
  ],
};

const answer = (worker: RawWorker): void => worker.answer(() => ({ status: "DONE", value: 1 }));

async function versionsOf(gateway: Gateway, runIds: readonly string[]): Promise<string[]> {
  const runs = await Promise.all(runIds.map((id) => ended(gateway, id)));
  return [...new Set(runs.map(({ appVersion }) => appVersion))];
}

test.each(POLICIES)(
  "PLACE-1: %s: with two connected versions all new runs start on the newer one",
  async (versionPolicy) => {
    const gateway = await bench.gateway({ versionPolicy });
    const old = await bench.worker(gateway, V1);
    const fresh = await bench.worker(gateway, V2);
    answer(old);
    answer(fresh);
    for (let n = 0; n < 10; n += 1) expect(await versionsOf(gateway, await start(gateway))).toEqual(["2"]);
    expect(await versionsOf(gateway, await start(gateway, 100))).toEqual(["2"]);
    expect([old.taken, fresh.taken]).toEqual([0, 110]);
  },
);

test.each(POLICIES.slice(0, 2))(
  "PLACE-1: %s: new runs start on the newer version even when that is connected to another gateway",
  async (versionPolicy) => {
    const [one, two] = [await bench.gateway({ versionPolicy }), await bench.gateway({ versionPolicy })];
    const old = await bench.worker(one, V1);
    const fresh = await bench.worker(two, V2);
    answer(old);
    answer(fresh);
    expect(await versionsOf(one, await start(one, 20))).toEqual(["2"]);
    expect(old.taken).toBe(0);
  },
);

/** Version 2 has one place, and it is taken. */
async function full(
  versionPolicy: VersionPolicy,
): Promise<{ gateway: Gateway; old: RawWorker; free: () => Promise<void> }> {
  const gateway = await bench.gateway({ versionPolicy, virtualTime: true });
  const old = await bench.worker(gateway, V1);
  const fresh = await bench.worker(gateway, { ...V2, maxWorkerConcurrency: 1 });
  const [blocking = ""] = await start(gateway);
  const { request } = await fresh.request();
  expect(request.runId).toBe(blocking);
  answer(fresh);
  return { gateway, old, free: () => fresh.replied(request, { status: "DONE", value: 0 }) };
}

/** Nothing is due any more, and no one but the first has work. */
const isPutOff = (gateway: Gateway): Promise<unknown> =>
  waitFor(
    async () => {
      const { queue } = await metrics(gateway);
      return queue.due === 0 && queue.leased === 1;
    },
    { what: "the run to be put off" },
  );

test("prefer: when the newest version lacks capacity for a while, an older one gets the run with its own options", async () => {
  const { gateway, old } = await full("prefer");
  const [runId = ""] = await start(gateway);
  await isPutOff(gateway);
  expect(old.frames.filter(({ kind }) => kind === "GATEWAY_EXECUTOR_REQUEST")).toEqual([]);
  expect(await runDetail(gateway, runId)).toMatchObject({ appVersion: "2", deadlineMs: expect.any(Number) });
  await gateway.skipTime(6_000);
  const { request, payload } = await old.request();
  expect(request.runId).toBe(runId);
  expect(payload.ctx.max_attempts).toBe(2);
  const run = await runDetail(gateway, runId);
  expect(run).toMatchObject({ appVersion: "1", deadlineMs: null, waits: [] });
  // Nothing of the other version's is left: no timer of its deadline.
  expect(run.jobs.map(({ kind }) => kind)).toEqual(["pass"]);
  await old.replied(request, { status: "DONE", value: 1 });
  await ended(gateway, runId);
});

test("strict: a run waits for the newest version however long that lacks capacity", async () => {
  const { gateway, old, free } = await full("strict");
  const [runId = ""] = await start(gateway);
  for (let n = 0; n < 3; n += 1) {
    await isPutOff(gateway);
    await gateway.skipTime(60_000);
  }
  await isPutOff(gateway);
  await free();
  expect((await ended(gateway, runId)).appVersion).toBe("2");
  expect(old.taken).toBe(0);
});

test("any: an older version gets the run as soon as the newest lacks capacity", async () => {
  const { gateway, old } = await full("any");
  const [runId = ""] = await start(gateway);
  const { request, payload } = await old.request();
  expect([request.runId, payload.ctx.max_attempts]).toEqual([runId, 2]);
  await old.replied(request, { status: "DONE", value: 1 });
  expect((await ended(gateway, runId)).appVersion).toBe("1");
});

test.each(POLICIES.slice(0, 2))(
  "%s: when the newest version has disconnected, new runs start on the previous one",
  async (versionPolicy) => {
    const [one, two] = [await bench.gateway({ versionPolicy }), await bench.gateway({ versionPolicy })];
    const old = await bench.worker(one, V1);
    const fresh = await bench.worker(two, { ...V2, maxWorkerConcurrency: 1 });
    const [blocking = ""] = await start(two);
    expect((await fresh.request()).request.runId).toBe(blocking);
    // One is made while the newest is there, and waits for it.
    const waiting = await start(one);
    await waitFor(async () => (await metrics(one)).queue.due === 0, { what: "it to be put off" });
    answer(old);
    await fresh.close();
    expect(await versionsOf(one, [...waiting, ...(await start(one, 5))])).toEqual(["1"]);
    const back = await bench.worker(two, V2);
    answer(back);
    expect(await versionsOf(one, await start(one, 5))).toEqual(["2"]);
  },
);
