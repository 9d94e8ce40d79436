import { setTimeout as sleep } from "node:timers/promises";
import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/index.ts";
import { call, did, ended, metrics, send, start, useGateway } from "./harness.ts";
import type { RawWorker } from "./raw-worker.ts";

const bench = useGateway();
const MEBIBYTE = "x".repeat(1024 * 1024);
const RUNS = 24;
const LEASE_MS = 2_500;

/** The worker goes on sending, and reads nothing: everything for it fills its socket. */
async function deaf(worker: RawWorker, during: () => Promise<void>): Promise<void> {
  worker.socket.pause();
  const heartbeats = setInterval(() => worker.send({ kind: "WORKER_HEARTBEAT" }), 500);
  try {
    await during();
  } finally {
    clearInterval(heartbeats);
    worker.socket.resume();
  }
}

test("on the plain protocol large passes wait for buffer space on the socket without losing their leases", async () => {
  const { gateway, worker, runIds, first, born } = await firstPasses({
    leaseMs: LEASE_MS,
    heartbeatMs: 10_000,
    requestAckMs: 60_000,
  });
  let sent = 0;
  await deaf(worker, async () => {
    for (const { request } of first) worker.reply(request, { value: [did("large", MEBIBYTE)] });
    await secondPasses(gateway, born);
    // Longer than a lease: those that the worker does not know of are kept.
    await sleep(LEASE_MS + 500);
    sent = (await sentTo(gateway)) - RUNS;
    worker.answer(() => ({ status: "DONE", value: 1 }));
  });
  expect(sent).toBeLessThan(RUNS * 0.6);
  for (const runId of runIds) expect((await ended(gateway, runId)).status).toBe("COMPLETED");
  // Those that were on their way were lost, since their leases were not extended.
  expect((await metrics(gateway)).dispatcher.leasesLost ?? 0).toBeLessThanOrEqual(sent);
  expect(worker.closed).toBeNull();
});

test("no new work is claimed for a worker while requests wait for buffer space on its socket", async () => {
  const gateway = await bench.gateway({ requestAckMs: 60_000 });
  const worker = await bench.worker(gateway, { extensions: [], maxWorkerConcurrency: 1000 });
  await deaf(worker, async () => {
    for (let sent = 0; sent < RUNS; sent += 1) {
      const body = JSON.stringify({ name: "shop/order", data: { text: MEBIBYTE } });
      await call(gateway, "/e/test", { method: "POST", body });
    }
    // The queue is looked at: for others there is work.
    const other = await bench.worker(gateway, { functions: [{ id: "other", event: "shop/other" }] });
    await send(gateway, "shop/other", {});
    const { request } = await other.request();
    await other.replied(request, { status: "DONE", value: 1 });
    await other.close();
    const { queue, dispatcher } = await metrics(gateway);
    expect(queue.due).toBeGreaterThan(RUNS / 3);
    expect(dispatcher.inFlight).toBe(RUNS - queue.due);
  });
  const other = await bench.worker(gateway, { extensions: [], maxWorkerConcurrency: 1000 });
  const seen = new Set<string>();
  const take = async (one: RawWorker): Promise<void> => {
    while (seen.size < RUNS) {
      const { request } = await one.request().catch(() => ({ request: null }));
      if (!request) return;
      seen.add(request.runId);
      await one.replied(request, { status: "DONE", value: 1 });
    }
  };
  await Promise.race([take(worker), take(other)]);
  expect(seen.size).toBe(RUNS);
  expect((await metrics(gateway)).dispatcher.leasesLost ?? 0).toBe(0);
});

test("requests waiting for a socket that breaks go to the next worker at once", async () => {
  const options = { reconnectGraceMs: 600_000, requestAckMs: 600_000, leaseMs: 600_000 };
  const { gateway, worker, first, born } = await firstPasses(options);
  worker.socket.pause();
  for (const { request } of first) worker.reply(request, { value: [did("large", MEBIBYTE)] });
  await secondPasses(gateway, born);
  const sent = (await sentTo(gateway)) - RUNS;
  worker.cut();
  const other = await bench.worker(gateway, { extensions: [], maxWorkerConcurrency: RUNS });
  const seen = new Set<string>();
  for (let index = 0; index < RUNS - sent; index++) seen.add((await other.request()).request.runId);
  expect(seen.size).toBe(RUNS - sent);
});

test("a request cancelled while it waits for buffer space is not sent", async () => {
  const options = { requestAckMs: 600_000, leaseMs: 600_000 };
  const { gateway, worker, runIds, first, born } = await firstPasses(options);
  let sent = 0;
  await deaf(worker, async () => {
    for (const { request } of first) worker.reply(request, { value: [did("large", MEBIBYTE)] });
    await secondPasses(gateway, born);
    sent = (await sentTo(gateway)) - RUNS;
    for (const runId of runIds) await call(gateway, `/v1/runs/${runId}/cancel`, { method: "POST" });
    expect((await metrics(gateway)).dispatcher.inFlight).toBe(sent);
  });
  await requests(worker, sent);
  worker.send({ kind: "WORKER_HEARTBEAT" });
  await worker.frame("GATEWAY_HEARTBEAT");
  expect(await sentTo(gateway)).toBe(RUNS + sent);
});

/** Runs of which a worker has the first passes; `born`: how many jobs were leased as they were made, until then. */
async function firstPasses(options: Parameters<typeof bench.gateway>[0]) {
  const gateway = await bench.gateway(options);
  const worker = await bench.worker(gateway, { extensions: [], maxWorkerConcurrency: RUNS });
  const runIds = await start(gateway, RUNS);
  const first = await requests(worker, RUNS);
  const { leasedOnCreation: born = 0 } = (await metrics(gateway)).dispatcher;
  return { gateway, worker, runIds, first, born };
}

async function requests(worker: RawWorker, count: number): Promise<Awaited<ReturnType<RawWorker["request"]>>[]> {
  const taken = [];
  for (let index = 0; index < count; index++) taken.push(await worker.request());
  return taken;
}

/** Until all replies to the first passes are decided on. */
async function secondPasses(gateway: Gateway, bornBefore: number): Promise<void> {
  const isOn = async (): Promise<boolean> => {
    const { inFlight, leasedOnCreation = 0 } = (await metrics(gateway)).dispatcher;
    return inFlight === RUNS && leasedOnCreation - bornBefore === RUNS;
  };
  await waitFor(isOn, { what: "the second passes", context: async () => JSON.stringify(await metrics(gateway)) });
}

async function sentTo(gateway: Gateway): Promise<number> {
  return (await metrics(gateway)).dispatcher.dispatches ?? 0;
}
