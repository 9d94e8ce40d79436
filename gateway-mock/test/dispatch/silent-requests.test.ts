import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { Dispatch } from "../../src/dispatch/workers/dispatch.ts";
import { SilentRequests } from "../../src/dispatch/workers/silent-requests.ts";

const LEASE_MS = 20_000;
const worker = { session: { leaseMs: LEASE_MS } };

function bench(...given: readonly Partial<Record<keyof Dispatch, unknown>>[]) {
  const clock = fakeClock();
  const table = new Set(
    given.map(
      (one) =>
        ({ worker, acked: true, commits: 0, lastHeardMs: clock.monotonicMs(), lastAskedMs: 0, ...one }) as Dispatch,
    ),
  );
  const requests = new SilentRequests(
    { clock, timers: clock },
    { all: () => table, onSilent: (dispatch) => table.delete(dispatch) },
  );
  requests.start();
  return { clock, table, requests };
}

test("a request that a connected worker no longer mentions is dropped once its lease has certainly ended", async () => {
  const { clock, table } = bench({});
  await clock.advance(2 * LEASE_MS);
  expect(table.size).toBe(1);
  await clock.advance(LEASE_MS);
  expect(table.size).toBe(0);
});

test("a worker that asks to extend the lease keeps its request, whatever the store answers", async () => {
  const { clock, table } = bench({});
  for (let round = 0; round < 10; round += 1) {
    await clock.advance(LEASE_MS);
    for (const dispatch of table) dispatch.lastAskedMs = clock.monotonicMs();
  }
  expect(table.size).toBe(1);
});

test("requests without a socket, without an acknowledgement or with a commit under way are left alone", async () => {
  const { clock, table } = bench({ worker: null }, { acked: false }, { commits: 1 });
  await clock.advance(10 * LEASE_MS);
  expect(table.size).toBe(3);
});

test("after a pause of the process nothing is judged before what came meanwhile is read", () => {
  let nowMs = 0;
  const looks: (() => void)[] = [];
  const set = (_ms: number, look: () => void): { cancel: () => void } => {
    looks.push(look);
    return { cancel: () => {} };
  };
  const dispatch = { worker, acked: true, commits: 0, lastHeardMs: 0, lastAskedMs: 0 } as unknown as Dispatch;
  const dropped: Dispatch[] = [];
  const clock = { monotonicMs: () => nowMs, nowMs: () => nowMs };
  const requests = new SilentRequests({ clock, timers: { set } } as never, {
    all: () => [dispatch],
    onSilent: (one) => void dropped.push(one),
  });
  requests.start();
  nowMs = 10 * LEASE_MS;
  looks.shift()?.();
  expect(dropped).toEqual([]);
  nowMs += 5_000;
  looks.shift()?.();
  expect(dropped).toEqual([dispatch]);
});

test("nothing is watched when nothing is in flight, and again when something is", async () => {
  const { clock, table, requests } = bench();
  await clock.advance(LEASE_MS);
  table.add({ worker, acked: true, commits: 0, lastHeardMs: 0, lastAskedMs: 0 } as unknown as Dispatch);
  await clock.advance(10 * LEASE_MS);
  expect(table.size).toBe(1);
  requests.start();
  await clock.advance(LEASE_MS);
  expect(table.size).toBe(0);
});
