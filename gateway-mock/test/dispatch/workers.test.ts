import { silentLog } from "@holdfast/core";
import { expect, test } from "vitest";
import type { WorkerSession } from "../../src/dispatch/workers/connected-worker.ts";
import { Workers } from "../../src/dispatch/workers/workers.ts";
import { chooseWorker } from "../../src/ws/routing.ts";

const session = (id: string): WorkerSession & { seenMs: number } => ({
  id,
  instanceId: id,
  environment: "",
  functionIds: ["shop-order"],
  apps: [],
  queues: null,
  partitions: [],
  capacity: 10,
  isLimited: false,
  log: silentLog,
  extensions: new Set(),
  heartbeatMs: 1000,
  leaseMs: 10_000,
  extendLeaseMs: 2500,
  seenMs: 0,
  congested: false,
  send: () => {},
  setDrained: () => {},
  flush: () => {},
  sendWhenRoom: () => {},
});

test("on a plain gateway, a worker silent for two heartbeat intervals gets no work until it sends a frame", () => {
  const workers = new Workers((candidates, nowMs) => chooseWorker(candidates, { nowMs }), 2);
  const [one, two] = [session("one"), session("two")];
  workers.add(one, true);
  workers.add(two, true);
  two.seenMs = 500;
  expect(workers.reserve("shop-order", 2000, null)?.id).toBe("one");
  expect(workers.reserve("shop-order", 2001, null)?.id).toBe("two");
  expect(workers.unroutable(2001)).toEqual(new Set());
  expect(workers.reserve("shop-order", 2501, null)).toBeUndefined();
  expect(workers.roomByFunction(2501, 5)).toEqual([]);
  expect(workers.unroutable(2501)).toEqual(new Set(["shop-order"]));
  one.seenMs = 2501;
  expect(workers.reserve("shop-order", 2501, null)?.id).toBe("one");
  expect(workers.unroutable(2501)).toEqual(new Set());
});

test("on gateways that are not plain, a silent worker is only less preferred", () => {
  const workers = new Workers((candidates, nowMs) => chooseWorker(candidates, { nowMs }));
  workers.add(session("one"), true);
  expect(workers.reserve("shop-order", 1_000_000, null)?.id).toBe("one");
});

test("functions whose connections are all paused are unroutable; functions without connections are not", () => {
  const workers = new Workers((candidates, nowMs) => chooseWorker(candidates, { nowMs }), 2);
  const worker = workers.add(session("one"), true);
  workers.close(worker);
  expect(workers.unroutable(0)).toEqual(new Set(["shop-order"]));
  workers.remove(worker);
  expect(workers.unroutable(0)).toEqual(new Set());
});
