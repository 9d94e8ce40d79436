import { readClocks, seededRandom, silentLog, unreachable } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import fc from "fast-check";
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
  time.observe(databaseMs, readClocks(clock));
  // It gives milliseconds that have begun.
  expect(time.latestMs()).toBe(databaseMs + 1);
  // The monotonic clock stalls.
  clock.setWallClock(clock.nowMs() + 20_000);
  expect(time.nowMs()).toBe(databaseMs);
  expect(time.latestMs()).toBe(databaseMs + 20_001);
  expect(time.isDoubtful).toBe(true);
  time.observe(databaseMs + 20_000, readClocks(clock));
  expect(time.isDoubtful).toBe(false);
  expect(time.nowMs()).toBe(databaseMs + 20_000);
  expect(time.latestMs()).toBe(databaseMs + 20_001);
  clock.setWallClock(clock.nowMs() - 20_000);
  expect(time.latestMs()).toBe(databaseMs + 20_001);
});

test("TIME-2: an answer from before a suspension that arrives after it does not tell how late it is", async () => {
  const { clock } = bench();
  const time = new DatabaseTime(clock);
  const databaseMs = clock.nowMs() + 60_000;
  time.observe(databaseMs, readClocks(clock));
  const askedAt = readClocks(clock);
  await clock.advance(10);
  clock.setWallClock(clock.nowMs() + 20_000);
  time.observe(databaseMs);
  time.observe(databaseMs + 5, askedAt);
  expect(time.nowMs()).toBe(databaseMs + 10);
  expect(time.latestMs()).toBeGreaterThanOrEqual(databaseMs + 20_010);
  expect(time.isDoubtful).toBe(true);
  await time.ask({ nowMs: async () => databaseMs + 20_010 });
  expect(time.nowMs()).toBe(databaseMs + 20_010);
  expect(time.isDoubtful).toBe(false);
});

test("a database whose clock runs slower is asked again after a while, and believed", async () => {
  const { clock } = bench();
  const time = new DatabaseTime(clock);
  const databaseMs = clock.nowMs();
  time.observe(databaseMs, readClocks(clock));
  await clock.advance(600_000);
  expect(time.isDoubtful).toBe(false);
  await clock.advance(1);
  expect(time.isDoubtful).toBe(true);
  await time.ask({ nowMs: async () => databaseMs + 540_000 });
  expect(time.isDoubtful).toBe(false);
  await clock.advance(60_000);
  time.observe(databaseMs + 600_000);
  await clock.advance(60_000);
  time.observe(databaseMs + 660_000);
  expect(time.nowMs()).toBe(databaseMs + 660_000);
  expect(time.latestMs()).toBe(databaseMs + 660_001);
});

test("TIME-1, TIME-2: the database's time lies between the earliest and the latest that it is known to be, whatever happens", () => {
  const happening = fc.oneof(
    fc.record({ type: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 90_000 }) }),
    fc.record({ type: fc.constant("suspend" as const), ms: fc.integer({ min: 0, max: 90_000 }) }),
    fc.record({ type: fc.constant("ask" as const) }),
    fc.record({ type: fc.constant("answer" as const), known: fc.boolean(), first: fc.boolean() }),
  );
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 60 }), (happenings) => {
      let [databaseMs, monotonicMs, wallMs] = [1_700_000_000_000, 0.5, 1_600_000_000_000];
      const clock = { nowMs: () => Math.floor(wallMs), monotonicMs: () => monotonicMs };
      const time = new DatabaseTime(clock);
      const answers = [{ atMs: databaseMs, askedAt: readClocks(clock) }];
      for (const one of [{ type: "answer", known: true, first: true } as const, ...happenings]) {
        switch (one.type) {
          case "suspend":
          case "pass":
            databaseMs += one.ms;
            wallMs += one.ms;
            if (one.type === "pass") monotonicMs += one.ms;
            break;
          case "ask":
            answers.push({ atMs: databaseMs, askedAt: readClocks(clock) });
            break;
          case "answer": {
            const answer = one.first ? answers.shift() : answers.pop();
            if (answer) time.observe(answer.atMs, one.known ? answer.askedAt : undefined);
            break;
          }
          default:
            unreachable(one);
        }
        expect(time.nowMs()).toBeLessThanOrEqual(databaseMs + 1);
        expect(time.latestMs()).toBeGreaterThanOrEqual(databaseMs);
      }
    }),
  );
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
