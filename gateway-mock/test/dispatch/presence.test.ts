import { silentLog } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../src/dispatch/ports.ts";
import type { ConnectedWorker } from "../../src/dispatch/workers/connected-worker.ts";
import type { Dispatch } from "../../src/dispatch/workers/dispatch.ts";
import { Dispatches } from "../../src/dispatch/workers/dispatches.ts";
import { Presence } from "../../src/dispatch/workers/presence.ts";
import type { Workers } from "../../src/dispatch/workers/workers.ts";

const GRACE_MS = 5_000;

/** A worker that holds one request, on a clock that is stalled. */
function bench(extensions: readonly string[]) {
  const clock = fakeClock();
  const connected = new Set<ConnectedWorker>();
  const abandoned: string[] = [];
  const dispatch = { requestId: "r", worker: null, acked: true, lastHeardMs: 0 } as unknown as Dispatch;
  const dispatches = {
    continued: { onWorkerLost: () => [] },
    get: (requestId: string) => (requestId === "r" && abandoned.length === 0 ? dispatch : undefined),
    detach: (one: Dispatch) => {
      one.worker?.requests.delete(one.requestId);
      one.worker = null;
    },
    move: (one: Dispatch, worker: ConnectedWorker) => {
      one.worker = worker;
      worker.requests.add(one.requestId);
    },
    abandon: (lost: readonly Dispatch[]) => abandoned.push(...lost.map(({ requestId }) => requestId)),
  };
  const options = { clock, timers: clock, log: silentLog, settings: { reconnectGraceMs: GRACE_MS } };
  const workers = { remove: (worker: ConnectedWorker) => connected.delete(worker), ofInstance: () => connected };
  const presence = new Presence(
    { ...options, store: { listConnections: async () => [] } } as unknown as DispatcherOptions,
    workers as unknown as Workers,
    dispatches as unknown as Dispatches,
  );
  const connect = (): ConnectedWorker => {
    const session = {
      instanceId: "i",
      extensions: new Set(extensions),
      extendLeaseMs: 30_000,
      leaseMs: 120_000,
      seenMs: 0,
    };
    const worker = { session, requests: new Set() } as unknown as ConnectedWorker;
    connected.add(worker);
    return worker;
  };
  /** The worker says that it has the request. */
  const speak = (worker: ConnectedWorker): void => {
    dispatch.lastHeardMs = clock.monotonicMs();
    dispatches.move(dispatch, worker);
  };
  return { clock, presence, abandoned, connect, speak, dispatch };
}

test("a worker that is lost repeatedly gets the whole grace period each time", async () => {
  const { clock, presence, abandoned, connect, speak } = bench(["checkpoint"]);
  let worker = connect();
  speak(worker);
  for (let times = 0; times < 10; times += 1) {
    presence.onWorkerLost(worker, "broken");
    await clock.advance(900);
    worker = connect();
    speak(worker);
    await clock.advance(300);
  }
  // The grace of an earlier loss ends while the last one has just begun.
  presence.onWorkerLost(worker, "broken");
  await clock.advance(GRACE_MS - 1);
  expect(abandoned).toEqual([]);
  await clock.advance(1);
  expect(abandoned).toEqual(["r"]);
});

test("a plain worker that is lost repeatedly gets the whole grace period each time", async () => {
  const { clock, presence, abandoned, connect, speak } = bench([]);
  const first = connect();
  speak(first);
  presence.onWorkerLost(first, "broken");
  await clock.advance(1_000);
  const second = connect();
  speak(second);
  await clock.advance(3_500);
  presence.onWorkerLost(second, "broken");
  await clock.advance(GRACE_MS - 1);
  expect(abandoned).toEqual([]);
  await clock.advance(1);
  expect(abandoned).toEqual(["r"]);
});

test("a plain worker that fell silent keeps its request until its lease ends: it may be computing", async () => {
  const { clock, presence, abandoned, connect, speak } = bench([]);
  const worker = connect();
  speak(worker);
  await clock.advance(60_000);
  presence.onWorkerLost(worker, "silent");
  await clock.advance(59_999);
  expect(abandoned).toEqual([]);
  await clock.advance(1);
  expect(abandoned).toEqual(["r"]);
  expect(clock.pending).toEqual([]);
});

test("what a plain worker that fell silent has not acknowledged goes to another one after the usual grace", async () => {
  const { clock, presence, abandoned, connect, speak, dispatch } = bench([]);
  const worker = connect();
  speak(worker);
  dispatch.acked = false;
  presence.onWorkerLost(worker, "silent");
  await clock.advance(GRACE_MS);
  expect(abandoned).toEqual(["r"]);
});

test("a plain worker that comes back after its silence extends its request within one interval, or has lost it", async () => {
  for (const isHeard of [true, false]) {
    const { clock, presence, abandoned, connect, speak } = bench([]);
    const worker = connect();
    speak(worker);
    await clock.advance(60_000);
    presence.onWorkerLost(worker, "silent");
    await clock.advance(15_000);
    const back = connect();
    presence.onWorkerConnected(back.session);
    await clock.advance(29_000);
    if (isHeard) speak(back);
    await clock.advance(2_000);
    expect(abandoned).toEqual(isHeard ? [] : ["r"]);
    expect(clock.pending).toEqual([]);
  }
});

test("a worker with its connection in a thread of its own is not silent because it computes", async () => {
  const { clock, presence, abandoned, connect, speak } = bench(["checkpoint"]);
  const worker = connect();
  speak(worker);
  presence.onWorkerLost(worker, "silent");
  await clock.advance(GRACE_MS);
  expect(abandoned).toEqual(["r"]);
});

test("a worker that announces its shutdown gets no grace period", () => {
  const { clock, presence, abandoned, connect, speak } = bench(["checkpoint"]);
  const worker = connect();
  speak(worker);
  presence.onWorkerLost(worker, "shutdown");
  expect(abandoned).toEqual(["r"]);
  expect(clock.pending).toEqual([]);
});

test("an answer that arrives after its socket has closed does not count as a heartbeat", async () => {
  const { clock, presence, abandoned, connect, speak } = bench([]);
  const worker = connect();
  speak(worker);
  presence.onWorkerLost(worker, "broken");
  await clock.advance(1_000);
  const dispatch = {
    requestId: "r",
    fence: { jobId: "r", epoch: 1 },
    worker: null,
    acked: false,
    lastHeardMs: 0,
  } as unknown as Dispatch;
  const workers = { get: () => undefined } as unknown as Workers;
  const table = new Dispatches({ clock } as unknown as DispatcherOptions, { workers } as never, {} as never);
  table.acknowledge(dispatch, worker);
  expect(dispatch).toMatchObject({ acked: true, lastHeardMs: 0, worker: null });
  await clock.advance(GRACE_MS);
  expect(abandoned).toEqual(["r"]);
});
