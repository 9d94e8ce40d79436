import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../src/dispatch/ports.ts";
import type { Dispatch } from "../../src/dispatch/workers/dispatch.ts";
import { SendQueue } from "../../src/dispatch/workers/send-queue.ts";

/** Requests that wait, of workers with these times; `lost`: jobs whose leases another worker has. */
function setUp(session: { readonly leaseMs: number; readonly extendLeaseMs: number }, lost: readonly string[] = []) {
  const clock = fakeClock();
  const extended: { jobId: string; leaseMs: number }[][] = [];
  const store = {
    extendLeases: async (leases: { jobId: string; leaseMs: number }[]) => {
      extended.push(leases);
      return leases.map(({ jobId }) => !lost.includes(jobId));
    },
  };
  const options = { store, clock, timers: clock, settings: { gatewayId: "g" } } as unknown as DispatcherOptions;
  const lostJobIds: string[] = [];
  const unsent = new SendQueue(options, (dispatch) => {
    lostJobIds.push(dispatch.fence.jobId);
    unsent.delete(dispatch);
  });
  const wait = (jobId: string): Dispatch => {
    const dispatch = { fence: { jobId, epoch: 1 }, worker: { session } } as unknown as Dispatch;
    unsent.add(dispatch);
    return dispatch;
  };
  return { clock, extended, lostJobIds, unsent, wait };
}

test("leases of unsent requests are extended as often as workers would extend them, however short they are", async () => {
  const { clock, extended, unsent, wait } = setUp({ leaseMs: 300, extendLeaseMs: 100 });
  const one = wait("one");
  const two = wait("two");
  await clock.advance(250);
  expect(extended.map((leases) => leases.map(({ jobId, leaseMs }) => [jobId, leaseMs]))).toEqual([
    [
      ["one", 300],
      ["two", 300],
    ],
    [
      ["one", 300],
      ["two", 300],
    ],
  ]);
  unsent.delete(one);
  await clock.advance(100);
  expect(extended.at(-1)?.map(({ jobId }) => jobId)).toEqual(["two"]);
  unsent.delete(two);
  const count = extended.length;
  await clock.advance(1000);
  expect(extended).toHaveLength(count);
  wait("three");
  await clock.advance(100);
  expect(extended.at(-1)?.map(({ jobId }) => jobId)).toEqual(["three"]);
  unsent.stop();
  await clock.advance(1000);
  expect(extended).toHaveLength(count + 1);
});

test("requests that another worker has in the meantime are reported as lost", async () => {
  const { clock, lostJobIds, unsent, wait } = setUp({ leaseMs: 10_000, extendLeaseMs: 5_000 }, ["one"]);
  wait("one");
  wait("two");
  await clock.advance(5_000);
  expect(lostJobIds).toEqual(["one"]);
  unsent.stop();
});
