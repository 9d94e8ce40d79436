import type { LogLevel } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../src/dispatch/ports.ts";
import { UnservedQueues } from "../../src/dispatch/queue/unserved-queues.ts";

const TRAIN = "shop-train";

/** `served`: which functions a worker here takes; `elsewhere`: what workers of other gateways serve. */
function bench() {
  const clock = fakeClock();
  const lines: string[] = [];
  const served = new Set<string>();
  const elsewhere: object[] = [];
  let reads = 0;
  const store = {
    listConnections: async () => {
      reads += 1;
      return elsewhere;
    },
  };
  const log = (level: LogLevel, message: string): void => void lines.push(`${level}: ${message}`);
  const options = { store, clock, log, settings: { gatewayId: "here" } } as unknown as DispatcherOptions;
  const fn = (id: string) => ({ id, appId: "shop", appVersion: "1" });
  const functions = {
    get: fn,
    queueOf: (id: string) => (id === TRAIN || id === "shop-cut" ? "gpu" : "default"),
    versionsOf: () => ["1"],
  };
  const workers = { serves: (id: string) => served.has(id) };
  const queues = new UnservedQueues(options, { workers, functions } as never);
  const settle = async (): Promise<string[]> => {
    for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
    return lines.splice(0);
  };
  return { clock, queues, served, elsewhere, settle, reads: () => reads };
}

test("a queue that no worker serves is logged once, until one serves it and goes again", async () => {
  const { queues, served, settle, reads } = bench();
  queues.note(["shop-order"]);
  expect([await settle(), reads()]).toEqual([[], 0]);
  queues.note([TRAIN, "shop-cut"]);
  queues.note([TRAIN]);
  expect(await settle()).toEqual([
    'warn: No connected worker of the app "shop" serves the queue "gpu". Runs of shop-train, shop-cut wait for one.',
  ]);
  queues.note([TRAIN]);
  queues.served([TRAIN]);
  expect(await settle()).toEqual([]);
  served.add(TRAIN);
  queues.served(["shop-order", TRAIN]);
  expect(await settle()).toEqual(['info: A worker of the app "shop" serves the queue "gpu" again.']);
  served.delete(TRAIN);
  queues.note([TRAIN]);
  expect(await settle()).toHaveLength(1);
  expect(reads()).toBe(2);
});

test("a queue that a worker of another gateway serves is looked at again after a while, not with each run", async () => {
  const { clock, queues, elsewhere, settle, reads } = bench();
  elsewhere.push({ gatewayId: "there", silentMs: 0, status: "READY", versions: ["shop@1"], queues: ["gpu"] });
  for (let n = 0; n < 5; n += 1) {
    queues.note([TRAIN]);
    expect(await settle()).toEqual([]);
  }
  expect(reads()).toBe(1);
  elsewhere.length = 0;
  await clock.advance(30_000);
  queues.note([TRAIN]);
  expect(await settle()).toHaveLength(1);
});
