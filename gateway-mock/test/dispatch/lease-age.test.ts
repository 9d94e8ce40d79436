/** Answers of the store that come when the lease which they tell of is old: the work may be another worker's, and done. */
import { readClocks, seededRandom, silentLog } from "@holdfast/core";
import { emptyRun, FETCH_QUEUE } from "@holdfast/engine";
import type { GatewayFrame } from "@holdfast/protocol";
import type { LeaseExtension, LeaseRelease } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { IDENTITY } from "../../../packages/engine/test/world.ts";
import { DatabaseTime } from "../../src/dispatch/database-time.ts";
import { DEFAULT_DISPATCHER_SETTINGS, type DispatcherOptions, newCounters } from "../../src/dispatch/ports.ts";
import type { LeasedClaim } from "../../src/dispatch/queue/claims.ts";
import { FETCH_LEASE_MS, Fetches } from "../../src/dispatch/queue/fetches.ts";
import { RunCache } from "../../src/dispatch/run-cache.ts";
import { Spans } from "../../src/dispatch/spans.ts";
import type { ConnectedWorker, WorkerSession } from "../../src/dispatch/workers/connected-worker.ts";
import { Dispatches, type DispatchesParts } from "../../src/dispatch/workers/dispatches.ts";
import { LeaseProofs } from "../../src/dispatch/workers/lease-proofs.ts";
import { Workers } from "../../src/dispatch/workers/workers.ts";

const LEASE_MS = 20_000;
const { runId, functionId } = IDENTITY;
const JOB = { id: "job", runId, kind: "pass", key: "", functionId, attempt: 0 } as const;

/** A worker with one place, a store that notes what it is asked for, and a socket that has room when the test says so. */
async function bench() {
  const clock = fakeClock();
  const released: LeaseRelease[] = [];
  const extended: LeaseExtension[] = [];
  const store = {
    secret: async () => "secret",
    notify: () => {},
    releaseLeases: async (all: readonly LeaseRelease[]) => {
      released.push(...all);
      return all.map(() => true);
    },
    extendLeases: async (all: readonly LeaseExtension[]) => {
      extended.push(...all);
      return all.map(() => true);
    },
  };
  const settings = { ...DEFAULT_DISPATCHER_SETTINGS, gatewayId: "here" };
  const given = { store, clock, timers: clock, random: seededRandom(1), log: silentLog, settings };
  const options = given as unknown as DispatcherOptions;
  const proofs = new LeaseProofs();
  await proofs.open(store);
  const time = new DatabaseTime(clock);
  const workers = new Workers((candidates) => [...candidates].find((worker) => worker.inFlight < worker.capacity));
  const runs = new RunCache(options.store, time);
  const parts = {
    ...{ runs, workers, time, proofs, counters: newCounters(), spans: new Spans() },
    functions: { get: () => undefined },
  } as unknown as DispatchesParts;
  const dispatches = new Dispatches(options, parts, () => {});
  const unsent: (() => GatewayFrame | null)[] = [];
  const session = {
    ...{ id: "s", functionIds: [functionId], apps: [], queues: null, partitions: [], capacity: 1 },
    ...{ leaseMs: LEASE_MS, extendLeaseMs: LEASE_MS / 4, seenMs: clock.monotonicMs(), heartbeatMs: 10_000 },
    ...{ extensions: new Set(), instanceId: "i", environment: "default", congested: false },
    sendWhenRoom: (build: () => GatewayFrame | null) => unsent.push(build),
  };
  workers.add(session as unknown as WorkerSession, true);
  const reserve = (): ConnectedWorker => {
    const worker = workers.reserve(functionId, clock.monotonicMs(), null);
    if (worker === undefined) throw new Error("There is no place.");
    return worker;
  };
  const state = emptyRun(IDENTITY);
  /** Asks for a lease, of which the store's answer comes when this returns. */
  const startAfter = async (pass: () => void | Promise<void>): Promise<ConnectedWorker> => {
    const leasedAt = readClocks(clock);
    await pass();
    const worker = reserve();
    dispatches.start(JOB, 1, worker, state, leasedAt);
    return worker;
  };
  const sentKinds = (): (string | undefined)[] => unsent.splice(0).map((build) => build()?.kind);
  const fetches = (calls: string[]): Fetches => {
    const call = async ({ url }: { readonly url: string }) => {
      calls.push(url);
      return { ok: false, code: "FETCH_FAILED", retry: false, message: "no" };
    };
    const updater = { apply: async () => calls.push("told") };
    return new Fetches(
      { ...options, call } as unknown as DispatcherOptions,
      { runs, updater: updater as never },
      () => {},
    );
  };
  return { clock, released, extended, dispatches, startAfter, sentKinds, fetches, state };
}

test("YOUNG-1: a request leaves under a lease that is young", async () => {
  const { clock, startAfter, sentKinds, dispatches, released } = await bench();
  await startAfter(() => clock.advance(LEASE_MS / 2));
  expect(sentKinds()).toEqual(["GATEWAY_EXECUTOR_REQUEST"]);
  expect([dispatches.size, released]).toEqual([1, []]);
});

test.each([
  { how: "came late", rule: "YOUNG-1" },
  { how: "came while the machine was suspended", rule: "YOUNG-1, YOUNG-2" },
])("$rule: work is given back when the store's answer $how", async ({ how }) => {
  const { clock, startAfter, sentKinds, dispatches, released } = await bench();
  const late = LEASE_MS / 2 + 1;
  const worker = await startAfter(() =>
    how === "came late" ? clock.advance(late) : clock.setWallClock(clock.nowMs() + late),
  );
  expect(sentKinds()).toEqual([]);
  expect(released).toMatchObject([{ jobId: "job", epoch: 1, lost: false }]);
  expect([dispatches.size, worker.inFlight]).toEqual([0, 0]);
});

test("YOUNG-1: a request that waits for room leaves while its lease is extended, and is given back when it is not", async () => {
  const { clock, startAfter, sentKinds, extended } = await bench();
  await startAfter(() => {});
  await clock.advance(3 * LEASE_MS);
  expect(extended.length).toBeGreaterThan(0);
  expect(sentKinds()).toEqual(["GATEWAY_EXECUTOR_REQUEST"]);

  const other = await bench();
  const worker = await other.startAfter(() => {});
  // The machine stalls: no timer fires.
  other.clock.setWallClock(other.clock.nowMs() + LEASE_MS);
  expect(other.sentKinds()).toEqual([undefined]);
  expect(other.released).toMatchObject([{ jobId: "job", epoch: 1, lost: false, heldBy: "here" }]);
  expect([other.dispatches.size, worker.inFlight]).toEqual([0, 0]);
});

test("YOUNG-1: the HTTP call of a step is not made under an old lease: another gateway may have made it", async () => {
  const { clock, fetches, released, state } = await bench();
  const calls: string[] = [];
  const caller = fetches(calls);
  const text = JSON.stringify({ url: "http://shop.example/charge", method: "POST" });
  state.open.set("f", { call: text, op: "Gateway" } as never);
  const job = { ...JOB, key: "f", kind: "fetch", functionId: FETCH_QUEUE, epoch: 1 };
  const claim = (): LeasedClaim => ({ ...job, leasedAt: readClocks(clock) }) as unknown as LeasedClaim;
  const late = claim();
  await clock.advance(FETCH_LEASE_MS / 2 + 1);
  caller.startCall(state, late);
  await clock.advance(1);
  expect(calls).toEqual([]);
  expect(released).toMatchObject([{ jobId: "job", epoch: 1, lost: false, heldBy: "here" }]);
  caller.startCall(state, claim());
  await clock.advance(1);
  expect(calls).toEqual(["http://shop.example/charge", "told"]);
  await caller.stop();
});
