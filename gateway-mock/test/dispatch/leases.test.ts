import { type Deferred, deferred, seededRandom, silentLog } from "@holdfast/core";
import type { LeaseExtension, LeaseRelease } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { DatabaseTime } from "../../src/dispatch/database-time.ts";
import { type DispatcherOptions, newCounters } from "../../src/dispatch/ports.ts";
import { RunCache } from "../../src/dispatch/run-cache.ts";
import { Spans } from "../../src/dispatch/spans.ts";
import type { WorkerSession } from "../../src/dispatch/workers/connected-worker.ts";
import { Dispatches, type DispatchesParts } from "../../src/dispatch/workers/dispatches.ts";
import { type ExtendLeaseFrame, Leases } from "../../src/dispatch/workers/leases.ts";
import { Workers } from "../../src/dispatch/workers/workers.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function bench(answersInMs = 0) {
  const clock = fakeClock();
  const calls: string[] = [];
  /** Whether each answer grants. */
  const sent: boolean[] = [];
  const releases: Deferred<boolean[]>[] = [];
  const store = {
    releaseLeases: (all: readonly LeaseRelease[]) => {
      calls.push(`release ${all.map(({ jobId }) => jobId).join(" ")}`);
      const answer = deferred<boolean[]>();
      releases.push(answer);
      return answer.promise;
    },
    extendLeases: async (all: readonly LeaseExtension[]) => {
      calls.push(`extend ${all.map(({ jobId }) => jobId).join(" ")}`);
      await clock.advance(answersInMs);
      return all.map(() => answersInMs > 0);
    },
  };
  const settings = { gatewayId: "g", plain: false };
  const options = { clock, timers: clock, random: seededRandom(1), log: silentLog, settings, store };
  const given = options as unknown as DispatcherOptions;
  const workers = new Workers(() => undefined);
  const time = new DatabaseTime(clock);
  const counters = newCounters();
  const parts = {
    runs: new RunCache(given.store, time),
    spans: new Spans(),
    proofs: { leaseId: () => "lease" },
    workers,
    time,
    counters,
  } as unknown as DispatchesParts;
  const dispatches = new Dispatches(given, parts, () => {});
  const ownership = { leaseholder: () => "app" };
  const functions = { get: () => undefined };
  const leases = new Leases(given, { dispatches, functions, ownership, counters } as unknown as ConstructorParameters<
    typeof Leases
  >[1]);
  const session = {
    environment: "default",
    leaseMs: 1000,
    extensions: new Set(),
    id: "s",
    functionIds: [],
    apps: [],
    queues: null,
    partitions: [],
    send: (frame: { readonly newLeaseId?: string }) => sent.push(frame.newLeaseId !== undefined),
  };
  const worker = workers.add({ ...session, capacity: 1 } as unknown as WorkerSession, true);
  const extend = (jobId: string): void =>
    leases.extend(worker, { requestId: `${jobId}.1`, functionSlug: "f" } as ExtendLeaseFrame);
  return { dispatches, extend, calls, releases, sent };
}

test("an extension does not overtake the return of its request, and others do not wait for it", async () => {
  const { dispatches, extend, calls, releases } = bench();
  dispatches.release([{ jobId: "a", epoch: 1, lost: true }]);
  extend("a");
  extend("b");
  await turn();
  await turn();
  expect(calls).toEqual(["release a", "extend b"]);
  releases[0]?.resolve([true]);
  await turn();
  await turn();
  expect(calls).toEqual(["release a", "extend b", "extend a"]);
});

test("an extension is asked for also when its request could not be returned", async () => {
  const { dispatches, extend, calls, releases } = bench();
  dispatches.release([{ jobId: "a", epoch: 1, lost: true }]);
  extend("a");
  releases[0]?.reject(new Error("away"));
  await turn();
  await turn();
  expect(calls).toEqual(["release a", "extend a"]);
});

test("YOUNG-3: an extension that the store told of late is not granted, and not refused", async () => {
  for (const [answersInMs, answers] of [
    [500, [true]],
    [501, []],
  ] as const) {
    const { extend, sent } = bench(answersInMs);
    extend("a");
    for (let turns = 0; turns < 10; turns += 1) await turn();
    expect(sent).toEqual(answers);
  }
});
