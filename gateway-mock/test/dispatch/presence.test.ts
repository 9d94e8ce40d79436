import { silentLog } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../src/dispatch/ports.ts";
import type { Dispatch } from "../../src/dispatch/workers/dispatch.ts";
import { Dispatches } from "../../src/dispatch/workers/dispatches.ts";
import { Presence } from "../../src/dispatch/workers/presence.ts";
import type { Slot, Workers } from "../../src/dispatch/workers/workers.ts";

const GRACE_MS = 5_000;

/** A worker that holds one request, on a clock that is stalled. */
function bench(extensions: readonly string[]) {
  const clock = fakeClock();
  const slots = new Set<Slot>();
  const abandoned: string[] = [];
  const dispatch = { requestId: "r", slot: null, acked: true, lastHeardMs: 0 } as unknown as Dispatch;
  const dispatches = {
    get: (requestId: string) => (requestId === "r" && abandoned.length === 0 ? dispatch : undefined),
    detach: (one: Dispatch) => {
      one.slot?.requests.delete(one.requestId);
      one.slot = null;
    },
    move: (one: Dispatch, slot: Slot) => {
      one.slot = slot;
      slot.requests.add(one.requestId);
    },
    abandon: (lost: readonly Dispatch[]) => abandoned.push(...lost.map(({ requestId }) => requestId)),
  };
  const options = { clock, timers: clock, log: silentLog, settings: { reconnectGraceMs: GRACE_MS } };
  const workers = { remove: (slot: Slot) => slots.delete(slot), all: () => slots };
  const presence = new Presence(
    { ...options, store: { listConnections: async () => [] } } as unknown as DispatcherOptions,
    workers as unknown as Workers,
    dispatches as unknown as Dispatches,
  );
  const connect = (): Slot => {
    const session = { instanceId: "i", extensions: new Set(extensions), extendLeaseMs: 30_000 };
    const slot = { session, requests: new Set() } as unknown as Slot;
    slots.add(slot);
    return slot;
  };
  /** The worker says that it has the request. */
  const speak = (slot: Slot): void => {
    dispatch.lastHeardMs = clock.monotonicMs();
    dispatches.move(dispatch, slot);
  };
  return { clock, presence, abandoned, connect, speak };
}

test("a worker that is lost repeatedly gets the whole grace period each time", async () => {
  const { clock, presence, abandoned, connect, speak } = bench(["checkpoint"]);
  let slot = connect();
  speak(slot);
  for (let times = 0; times < 10; times += 1) {
    presence.onWorkerLost(slot, false);
    await clock.advance(900);
    slot = connect();
    speak(slot);
    await clock.advance(300);
  }
  // The grace of an earlier loss ends while the last one has just begun.
  presence.onWorkerLost(slot, false);
  await clock.advance(GRACE_MS - 1);
  expect(abandoned).toEqual([]);
  await clock.advance(1);
  expect(abandoned).toEqual(["r"]);
});

test("a plain worker that is lost repeatedly gets the whole grace period each time", async () => {
  const { clock, presence, abandoned, connect, speak } = bench([]);
  const first = connect();
  speak(first);
  presence.onWorkerLost(first, false);
  await clock.advance(1_000);
  const second = connect();
  speak(second);
  await clock.advance(3_500);
  presence.onWorkerLost(second, false);
  await clock.advance(GRACE_MS - 1);
  expect(abandoned).toEqual([]);
  await clock.advance(1);
  expect(abandoned).toEqual(["r"]);
});

test("a worker that announces its shutdown gets no grace period", () => {
  const { clock, presence, abandoned, connect, speak } = bench(["checkpoint"]);
  const slot = connect();
  speak(slot);
  presence.onWorkerLost(slot, true);
  expect(abandoned).toEqual(["r"]);
  expect(clock.pending).toEqual([]);
});

test("an answer that arrives after its socket has closed does not count as a heartbeat", async () => {
  const { clock, presence, abandoned, connect, speak } = bench([]);
  const slot = connect();
  speak(slot);
  presence.onWorkerLost(slot, false);
  await clock.advance(1_000);
  const dispatch = {
    requestId: "r",
    fence: { jobId: "r", epoch: 1 },
    slot: null,
    acked: false,
    lastHeardMs: 0,
  } as unknown as Dispatch;
  const workers = { get: () => undefined } as unknown as Workers;
  const table = new Dispatches({ clock } as unknown as DispatcherOptions, { workers } as never, {} as never);
  table.acknowledge(dispatch, slot);
  expect(dispatch).toMatchObject({ acked: true, lastHeardMs: 0, slot: null });
  await clock.advance(GRACE_MS);
  expect(abandoned).toEqual(["r"]);
});
