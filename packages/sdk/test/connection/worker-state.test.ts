import { decodeWorkerFrame, WIRE_LIMITS, type WorkerState } from "@holdfast/protocol";
import { fakeClock } from "@holdfast/testing";
import { describe, expect, test } from "vitest";
import { poolStateReader } from "../../src/connection/thread/pool-state.ts";
import { StateReports } from "../../src/connection/thread/state-reports.ts";
import { type StateReading, workerStateFrame } from "../../src/connection/thread/worker-state-frame.ts";
import { cellsBytes, threadCells } from "../../src/isolation/shared/thread-cells.ts";

const debug: StateReading["debug"] = {
  state: "ACTIVE",
  heartbeat: { intervalMs: 5_000, lastSentAtMs: 1, lastAnsweredAtMs: 2, roundTripMs: 1.6, unanswered: 0 },
  inFlight: [],
  inFlightCount: 0,
  outbox: { count: 0, bytes: 0, full: false },
  reconnectAttempts: 0,
  crashes: 0,
  lastError: null,
  mainLagMs: 0,
  logsDropped: 0,
  transitions: [],
  stalls: { detection: "on", count: 0 },
};
const process = { pid: 7, rssBytes: 1_000, cpuMs: 10.4, uptimeMs: 20.6 };

const EVERY_MS = 5_000;

function bench() {
  const clock = fakeClock();
  const sent: { readonly atMs: number; readonly frame: WorkerState }[] = [];
  let now = debug;
  const reports = new StateReports({
    read: () => ({ debug: now, pool: null, process: { ...process, cpuMs: clock.monotonicMs() } }),
    send: (bytes) => sent.push({ atMs: clock.monotonicMs(), frame: decodeWorkerFrame(bytes) as WorkerState }),
    clock,
    timers: clock,
    everyMs: EVERY_MS,
  });
  const change = (changes: Partial<StateReading["debug"]>): void => {
    now = { ...now, ...changes };
  };
  return { clock, reports, change, times: () => sent.splice(0).map(({ atMs }) => atMs), sent };
}

describe("When a worker says how it is", () => {
  test("once it is connected, and then every few seconds, although its processor time changes all along", async () => {
    const { clock, reports, times } = bench();
    await clock.advance(60_000);
    expect(times()).toEqual([]);
    reports.start();
    expect(times()).toEqual([]);
    await clock.advance(16_000);
    expect(times()).toEqual([61_000, 66_000, 71_000, 76_000]);
    reports.stop();
    await clock.advance(60_000);
    expect(times()).toEqual([]);
    expect(clock.pending).toEqual([]);
  });

  test("a change is said within a second, and changes all the time once a second", async () => {
    const { clock, reports, change, times } = bench();
    reports.start();
    await clock.advance(1_500);
    change({ inFlightCount: 3 });
    await clock.advance(500);
    expect(times()).toEqual([1_000, 2_000]);
    for (let count = 0; count < 100; count += 1) {
      change({ inFlightCount: count });
      await clock.advance(30);
    }
    expect(times()).toEqual([3_000, 4_000, 5_000]);
  });

  test("a blocked main thread is said at once and once a second, however often that is noticed", async () => {
    const { clock, reports, change, sent, times } = bench();
    reports.start();
    reports.onStallChange();
    expect(times()).toEqual([]);
    await clock.advance(2_500);
    times();
    change({ mainLagMs: 700.2 });
    for (let noticed = 0; noticed < 5; noticed += 1) reports.onStallChange();
    expect(sent.map(({ atMs, frame }) => [atMs, frame.mainLagMs])).toEqual([[2_500, 700]]);
    times();
    await clock.advance(3_000);
    expect(times()).toEqual([3_000, 4_000, 5_000]);
  });

  test("after a new connection it is said again, changed or not", async () => {
    const { clock, reports, times } = bench();
    reports.start();
    await clock.advance(1_200);
    reports.stop();
    reports.start();
    await clock.advance(1_000);
    expect(times()).toEqual([1_000, 2_200]);
  });
});

describe("What a worker says", () => {
  test("texts and lists are cut, and numbers are what the wire takes", () => {
    const long = "x".repeat(10_000);
    const request = {
      ...{ requestId: long, runId: long, functionSlug: long, state: "replied" as const },
      ...{ ageMs: -3, leaseAgeMs: 0.4 },
    };
    const frame = workerStateFrame({
      debug: {
        ...debug,
        heartbeat: { ...debug.heartbeat, roundTripMs: null },
        inFlight: Array.from({ length: 100 }, () => request),
        inFlightCount: 100,
        outbox: { count: 1, bytes: 5e9, full: true },
        lastError: { name: "Error", message: long, code: long },
        mainLagMs: 1e12,
        transitions: Array.from({ length: 100 }, (_, at) => ({
          ...{ atMs: at, event: long, from: long, to: long },
          effects: [long],
        })),
        stalls: { detection: "debugger", count: 2 },
      },
      pool: { threads: 2, busy: 1, queued: 0, oldestMs: 1.5, overruns: 0, crashes: 0, recycled: 0, abandoned: 0 },
      process,
    });
    expect(frame).toMatchObject({ mainLagMs: 0xffff_ffff, outboxBytes: 5e9, inFlight: 100, stallsUnseen: true });
    expect(frame).not.toHaveProperty("roundTripMs");
    expect(frame.requests).toHaveLength(WIRE_LIMITS.maxStateRequests);
    expect(frame.requests[0]).toMatchObject({ replied: true, ageMs: 0, leaseAgeMs: 0 });
    expect(frame.transitions.map(({ atMs }) => atMs)).toEqual([90, 91, 92, 93, 94, 95, 96, 97, 98, 99]);
    expect(frame.pool).toMatchObject({ threads: 2, busy: 1, oldestMs: 2 });
    const texts = [frame.lastError, frame.lastErrorCode, frame.requests[0]?.runId, frame.transitions[0]?.from];
    for (const text of texts) expect(text).toHaveLength(WIRE_LIMITS.maxStateTextLength);
    // Even so it is read at the other end.
    expect(JSON.stringify(frame).length).toBeLessThan(WIRE_LIMITS.maxStateBytes);
  });
});

describe("The pool, read from shared memory", () => {
  test("turns count as busy as soon as one has them, whoever gave them, and requests in line are added", () => {
    const memory = new SharedArrayBuffer(cellsBytes(3));
    const main = threadCells(memory);
    let load = { queued: 0, oldestMs: null as number | null };
    const read = poolStateReader(memory, () => load);
    const counts = { threads: 2, queued: 1, overruns: 3, crashes: 4, recycled: 5, abandoned: 6 };
    expect(read(10)).toEqual({ threads: 0, busy: 0, queued: 0, overruns: 0, crashes: 0, recycled: 0, abandoned: 0 });
    for (const slot of [0, 1]) {
      main.prepare(slot, 0);
      main.ready(slot);
    }
    main.claim(0, "main");
    main.claim(1, "connection");
    main.setFigures(counts, 100);
    expect(read(150)).toEqual({ ...counts, busy: 2, oldestMs: 50 });
    load = { queued: 4, oldestMs: 80 };
    expect(read(150)).toEqual({ ...counts, busy: 2, queued: 5, oldestMs: 80 });
    main.release(0, 1);
    main.setFigures({ ...counts, queued: 0 }, null);
    load = { queued: 0, oldestMs: null };
    expect(read(150)).toEqual({ ...counts, busy: 1, queued: 0 });
  });

  test("without a pool nothing is said of one", () => {
    expect(poolStateReader(null, () => ({ queued: 0, oldestMs: null }))(1)).toBeNull();
  });
});
