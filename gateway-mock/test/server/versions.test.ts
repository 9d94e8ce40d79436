import { waitFor } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { did, ended, metrics, op, runDetail, send, start, useGateway } from "./harness.ts";
import type { Payload } from "./raw-worker.ts";

const bench = useGateway();
const toldVersion = (payload: Payload): unknown => (payload.ctx.holdfast as { appVersion?: string }).appVersion;
const wait = (id: string): object => op("WaitForEvent", id, { name: `shop/${id}`, opts: { timeout: "1h" } });

test("PLACE-3: prefer: a run stays with the version that started it while that is connected, at any gateway", async () => {
  const [one, two] = [await bench.gateway(), await bench.gateway()];
  const old = await bench.worker(one, { appVersion: "1" });
  const [runId = ""] = await start(one);
  const first = await old.request();
  expect(toldVersion(first.payload)).toBe("1");
  const here = await bench.worker(one, { appVersion: "2" });
  const there = await bench.worker(two, { appVersion: "2" });
  await old.replied(first.request, { value: [wait("a")] });
  // At the gateway that has only the new version, which would take it at once if it might.
  await send(two, "shop/a");
  const second = await old.request();
  expect(second.request.runId).toBe(runId);
  await old.replied(second.request, { value: [wait("b")] });
  await old.close();
  await send(two, "shop/b");
  const [worker, third] = await Promise.any([here, there].map(async (each) => [each, await each.request()] as const));
  expect(toldVersion(third.payload)).toBe("1");
  await worker.replied(third.request, { status: "DONE", value: "moved" });
  expect(await ended(one, runId)).toMatchObject({ output: "moved", appVersion: "1" });
});

test("strict: a run waits for a worker of its version", async () => {
  const gateway = await bench.gateway({ versionPolicy: "strict" });
  const old = await bench.worker(gateway, { appVersion: "1" });
  const [runId = ""] = await start(gateway);
  const first = await old.request();
  const fresh = await bench.worker(gateway, { appVersion: "2" });
  await old.replied(first.request, { value: [did("a"), wait("w")] });
  await old.close();
  await send(gateway, "shop/w");
  // What begins now is for the new version; the old run is not.
  const [other = ""] = await start(gateway);
  const next = await fresh.request();
  expect(next.request.runId).toBe(other);
  await fresh.replied(next.request, { status: "DONE", value: 2 });
  expect((await ended(gateway, other)).appVersion).toBe("2");
  expect((await runDetail(gateway, runId)).endedMs).toBeNull();
  const again = await bench.worker(gateway, { appVersion: "1" });
  const last = await again.request();
  expect(last.request.runId).toBe(runId);
  await again.replied(last.request, { status: "DONE", value: 1 });
  await ended(gateway, runId);
});

/** Runs that version 1 has begun, and which all want to go on at once while no one can. */
async function forsaken(gateway: Gateway, count: number): Promise<string[]> {
  const old = await bench.worker(gateway, { appVersion: "1" });
  const runIds = await start(gateway, count);
  for (const _ of runIds) {
    const { request } = await old.request();
    await old.replied(request, { value: [wait("w")] });
  }
  await old.close();
  await send(gateway, "shop/w");
  return runIds;
}

test("strict: runs that wait for their version delay no other run, and are not claimed repeatedly", async () => {
  const gateway = await bench.gateway({ versionPolicy: "strict" });
  const held = await forsaken(gateway, 5);
  const fresh = await bench.worker(gateway, { appVersion: "2", maxWorkerConcurrency: 1 });
  const other = await start(gateway, 20);
  for (const _ of other) {
    const { request } = await fresh.request();
    expect(other).toContain(request.runId);
    await fresh.replied(request, { status: "DONE", value: 2 });
  }
  await waitFor(async () => (await metrics(gateway)).queue.due === 0, { what: "everything to be put off" });
  const { claimedJobs } = (await metrics(gateway)).dispatcher;
  const passes = (await Promise.all(held.map((id) => runDetail(gateway, id)))).flatMap(({ jobs }) => jobs);
  expect(passes.map(({ epoch }) => epoch)).toEqual(held.map(() => 1));
  // A worker of their version, at another gateway, gets them long before they would be due again.
  const elsewhere = await bench.gateway({ versionPolicy: "strict" });
  const back = await bench.worker(elsewhere, { appVersion: "1", maxWorkerConcurrency: 2 });
  const seen = new Set<string>();
  for (const _ of held) {
    const { request } = await back.request();
    seen.add(request.runId);
    await back.replied(request, { status: "DONE", value: 1 });
  }
  expect([...seen].sort()).toEqual([...held].sort());
  expect(claimedJobs).toBeLessThan(60);
});

test("prefer: a run that waits for a busy worker of its version delays no other, and is claimed once that has capacity", async () => {
  const gateway = await bench.gateway();
  const old = await bench.worker(gateway, { appVersion: "1", maxWorkerConcurrency: 1 });
  const [first = "", second = ""] = await start(gateway, 2);
  for (const runId of [first, second]) {
    const { request } = await old.request();
    expect(request.runId).toBe(runId);
    await old.replied(request, { value: [wait(runId)] });
  }
  await send(gateway, `shop/${first}`);
  const busy = await old.request();
  const fresh = await bench.worker(gateway, { appVersion: "2" });
  await send(gateway, `shop/${second}`);
  const [later = ""] = await start(gateway);
  const next = await fresh.request();
  expect(next.request.runId).toBe(later);
  await fresh.replied(next.request, { status: "DONE", value: 2 });
  await old.replied(busy.request, { status: "DONE", value: 1 });
  const last = await old.request();
  expect(last.request.runId).toBe(second);
  await old.replied(last.request, { status: "DONE", value: 1 });
  expect((await ended(gateway, second)).output).toBe(1);
});

test("any: a run goes to whichever worker has capacity", async () => {
  const gateway = await bench.gateway({ versionPolicy: "any" });
  const old = await bench.worker(gateway, { appVersion: "1", maxWorkerConcurrency: 1 });
  const [runId = ""] = await start(gateway);
  const first = await old.request();
  await old.replied(first.request, { value: [wait("w")] });
  const [busy = ""] = await start(gateway);
  const blocking = await old.request();
  expect(blocking.request.runId).toBe(busy);
  const fresh = await bench.worker(gateway, { appVersion: "2" });
  await send(gateway, "shop/w");
  const second = await fresh.request();
  expect(second.request.runId).toBe(runId);
  await fresh.replied(second.request, { status: "DONE", value: 2 });
  await old.replied(blocking.request, { status: "DONE", value: 1 });
  await Promise.all([ended(gateway, runId), ended(gateway, busy)]);
});

test("PLACE-2: the version that starts a run is recorded beforehand, even when it is not the newest", async () => {
  const gateway = await bench.gateway();
  const old = await bench.worker(gateway, { appVersion: "1" });
  await old.close();
  const fresh = await bench.worker(gateway, { appVersion: "2" });
  await fresh.close();
  const [runId = ""] = await start(gateway);
  const again = await bench.worker(gateway, { appVersion: "1" });
  const { request, payload } = await again.request();
  expect(toldVersion(payload)).toBe("1");
  expect((await runDetail(gateway, runId)).appVersion).toBe("1");
  await again.replied(request, { status: "DONE", value: 1 });
  const run = await ended(gateway, runId);
  expect(run.log.filter(({ kind }) => kind === "PINNED")).toHaveLength(1);
});
