import { seededRandom, silentLog } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { DatabaseTime } from "../../src/dispatch/database-time.ts";
import { type DispatcherOptions, newCounters } from "../../src/dispatch/ports.ts";
import { RunCache } from "../../src/dispatch/run-cache.ts";
import type { WorkerSession } from "../../src/dispatch/workers/connected-worker.ts";
import type { Dispatch } from "../../src/dispatch/workers/dispatch.ts";
import { Dispatches, type DispatchesParts } from "../../src/dispatch/workers/dispatches.ts";
import { Workers } from "../../src/dispatch/workers/workers.ts";

function bench() {
  const clock = fakeClock();
  const options = { clock, timers: clock, random: seededRandom(1), log: silentLog, settings: {} };
  return { clock, options: options as unknown as DispatcherOptions };
}

test("decisions use the database's time, whatever the gateway's wall clock does", async () => {
  const { clock } = bench();
  const time = new DatabaseTime(clock);
  expect(time.nowMs()).toBe(clock.nowMs());
  const databaseMs = clock.nowMs() + 60_000;
  time.observe(databaseMs);
  expect(time.nowMs()).toBe(databaseMs);
  clock.setWallClock(clock.nowMs() - 3_600_000);
  expect(time.nowMs()).toBe(databaseMs);
  await clock.advance(250);
  expect(time.nowMs()).toBe(databaseMs + 250);
  // An answer that was two seconds on its way does not set us back.
  await clock.advance(2000);
  time.observe(databaseMs + 250);
  expect(time.nowMs()).toBe(databaseMs + 2250);
});

test("after the machine was suspended, deadlines may have passed until the database gives its time", () => {
  const { clock } = bench();
  const time = new DatabaseTime(clock);
  const databaseMs = clock.nowMs() + 60_000;
  time.observe(databaseMs);
  expect(time.latestMs()).toBe(databaseMs);
  // The monotonic clock stalls.
  clock.setWallClock(clock.nowMs() + 20_000);
  expect(time.nowMs()).toBe(databaseMs);
  expect(time.latestMs()).toBe(databaseMs + 20_000);
  expect(time.isDoubtful).toBe(true);
  time.observe(databaseMs + 20_000);
  expect(time.isDoubtful).toBe(false);
  expect(time.nowMs()).toBe(databaseMs + 20_000);
  expect(time.latestMs()).toBe(databaseMs + 20_000);
  clock.setWallClock(clock.nowMs() - 20_000);
  expect(time.latestMs()).toBe(databaseMs + 20_000);
});

test("a store answer that arrives after the worker's socket closed assigns no work to that worker", () => {
  const { options } = bench();
  const workers = new Workers(() => undefined);
  const time = new DatabaseTime(options.clock);
  const runs = new RunCache(options.store, time);
  const parts = { runs, workers, time, counters: newCounters() };
  const dispatches = new Dispatches(options, parts as unknown as DispatchesParts, () => {});
  const worker = workers.add(
    { id: "s", functionIds: ["f"], apps: [], queues: null, partitions: [], capacity: 1 } as unknown as WorkerSession,
    true,
  );
  const dispatch = {
    requestId: "job.1",
    fence: { jobId: "job", epoch: 1 },
    worker: null,
    acked: false,
    lastHeardMs: 0,
  } as unknown as Dispatch;
  dispatches.acknowledge(dispatch, worker);
  expect(dispatch.worker).toBe(worker);
  dispatches.detach(dispatch);
  workers.remove(worker);
  dispatches.acknowledge(dispatch, worker);
  expect(dispatch.worker).toBeNull();
  expect(worker.inFlight).toBe(0);
});
