/** Answers of the store that come when the lease which they tell of is old: the work may be another worker's, and done. */
import { type Log, readClocks, seededRandom } from "@holdfast/core";
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

/** A worker with so many places, a store that notes what it is asked for, and a socket that has room when the test says so. */
async function bench({ capacity = 1 } = {}) {
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
      await onExtend.pass();
      return all.map(() => onExtend.isOurs);
    },
  };
  /** What happens while the store extends leases, and what it says. */
  const onExtend = { pass: async (): Promise<void> => {}, isOurs: true };
  const warned: { readonly message: string; readonly code: unknown }[] = [];
  const log: Log = (_level, message, data) => void warned.push({ message, code: data?.code });
  const settings = { ...DEFAULT_DISPATCHER_SETTINGS, gatewayId: "here" };
  const given = { store, clock, timers: clock, random: seededRandom(1), log, settings };
  const options = given as unknown as DispatcherOptions;
  const proofs = new LeaseProofs();
  await proofs.open(store);
  const time = new DatabaseTime(clock);
  const workers = new Workers((candidates) => [...candidates].find((worker) => worker.inFlight < worker.capacity));
  const runs = new RunCache(options.store, time);
  const counters = newCounters();
  const parts = {
    ...{ runs, workers, time, proofs, counters, spans: new Spans() },
    functions: { get: () => undefined },
  } as unknown as DispatchesParts;
  const dispatches = new Dispatches(options, parts, () => {});
  const unsent: (() => GatewayFrame | null)[] = [];
  const session = {
    ...{ id: "s", functionIds: [functionId], apps: [], queues: null, partitions: [], capacity },
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
  const startAfter = async (pass: () => void | Promise<void>, epoch = 1): Promise<ConnectedWorker> => {
    const leasedAt = readClocks(clock);
    await pass();
    const worker = reserve();
    dispatches.start(JOB, epoch, worker, state, leasedAt);
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
  return { clock, released, extended, onExtend, warned, counters, dispatches, startAfter, sentKinds, fetches, state };
}

/** Everything that is not a timer has come to its end. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) await new Promise((resolve) => void setImmediate(resolve));
}

test("YOUNG-1: a request leaves under a lease that is young", async () => {
  const { clock, startAfter, sentKinds, dispatches, released } = await bench();
  await startAfter(() => clock.advance(LEASE_MS / 2));
  expect(sentKinds()).toEqual(["GATEWAY_EXECUTOR_REQUEST"]);
  expect([dispatches.size, released]).toEqual([1, []]);
});

/** Late by one clock or the other. */
const PASSES = [{ how: "came late" }, { how: "came while the machine was suspended" }] as const;

type Bench = Awaited<ReturnType<typeof bench>>;

async function passLate({ clock }: Bench, how: (typeof PASSES)[number]["how"]): Promise<void> {
  const lateMs = LEASE_MS / 2 + 1;
  if (how === "came late") await clock.advance(lateMs);
  else clock.setWallClock(clock.nowMs() + lateMs);
}

test.each(PASSES)(
  "YOUNG-1, YOUNG-2: a lease of which the store's answer $how is asked for once more, for its request to leave",
  async ({ how }) => {
    const it = await bench();
    const worker = await it.startAfter(() => passLate(it, how));
    expect(it.sentKinds(), "nothing leaves under the old one").toEqual([]);
    await settled();
    expect(it.extended).toMatchObject([{ jobId: "job", epoch: 1, gatewayId: "here", leaseMs: LEASE_MS }]);
    expect(it.sentKinds()).toEqual(["GATEWAY_EXECUTOR_REQUEST"]);
    expect([it.dispatches.size, worker.inFlight, it.released, it.counters.leasesLate]).toEqual([1, 1, [], 0]);
    expect(it.warned).toMatchObject([{ code: "DATABASE_SLOW" }]);
    expect(it.dispatches.late.slow).toMatchObject({ tookMs: LEASE_MS / 2 + 1, leaseMs: LEASE_MS });
  },
);

test.each(PASSES)(
  "YOUNG-1, YOUNG-2: work is given back when that answer $how as well, and the gateway says why",
  async ({ how }) => {
    const it = await bench();
    it.onExtend.pass = () => passLate(it, how);
    const worker = await it.startAfter(() => passLate(it, how));
    await settled();
    expect(it.sentKinds()).toEqual([undefined]);
    expect(it.released).toMatchObject([{ jobId: "job", epoch: 1, lost: false, heldBy: "here" }]);
    expect([it.dispatches.size, worker.inFlight, it.counters.leasesLate]).toEqual([0, 0, 1]);
    expect(it.warned[0]).toMatchObject({
      code: "DATABASE_SLOW",
      message: expect.stringContaining("took 10.0 s to lease work"),
    });
    await it.clock.advance(60_001);
    expect(it.dispatches.late.slow, "not for a while").toBeNull();
  },
);

test("YOUNG-1: what another worker has by then is left to it", async () => {
  const it = await bench();
  it.onExtend.isOurs = false;
  const worker = await it.startAfter(() => passLate(it, "came late"));
  await settled();
  expect([it.sentKinds(), it.released, it.dispatches.size, worker.inFlight]).toEqual([[], [], 0, 0]);
});

test("an answer with a lease that comes after the job was given out again is the one before: nothing is kept of it", async () => {
  const it = await bench({ capacity: 3 });
  const worker = await it.startAfter(() => {}, 2);
  expect(it.sentKinds()).toEqual(["GATEWAY_EXECUTOR_REQUEST"]);
  for (const dispatch of it.dispatches.all()) it.dispatches.acknowledge(dispatch, worker);
  await it.startAfter(() => passLate(it, "came late"), 1);
  await settled();
  expect([it.sentKinds(), it.extended, it.dispatches.size, worker.inFlight]).toEqual([[], [], 1, 1]);
  await it.startAfter(() => {}, 3);
  expect([[...it.dispatches.all()].map(({ fence }) => fence.epoch), worker.inFlight]).toEqual([[3], 1]);
});

test("YOUNG-1: a request whose lease cannot be asked for once more goes back", async () => {
  const it = await bench();
  it.onExtend.pass = () => Promise.reject(new Error("away"));
  const worker = await it.startAfter(() => passLate(it, "came late"));
  await settled();
  expect(it.released).toMatchObject([{ jobId: "job", epoch: 1, lost: false, heldBy: "here" }]);
  expect([it.sentKinds(), it.dispatches.size, worker.inFlight]).toEqual([[], 0, 0]);
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
