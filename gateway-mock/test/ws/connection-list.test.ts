import { silentLog } from "@holdfast/core";
import { expect, test } from "vitest";
import { ConnectionList, type ConnectionListParts, type SessionInfo } from "../../src/ws/connection-list.ts";

const info = (connectionId: string): SessionInfo => ({
  connectionId,
  instanceId: "i",
  appIds: ["shop"],
  versions: ["shop@1"],
  queues: ["*"],
  partitions: [],
  capacity: 10,
  functionIds: ["shop-order"],
  connectedMs: 0,
});

/** Each removal takes a turn of the event loop; the first of them fail. */
function bench(failures = 0) {
  const removed: string[][] = [];
  const gone: string[] = [];
  let failing = failures;
  const store: ConnectionListParts["store"] = {
    saveConnection: async () => {},
    removeConnections: async (ids) => {
      removed.push([...ids]);
      await new Promise((resolve) => setImmediate(resolve));
      failing -= 1;
      if (failing >= 0) throw new Error("no database");
    },
  };
  const onGone = (functionIds: readonly string[]): void => void gone.push(...functionIds);
  return { removed, gone, list: new ConnectionList({ store, gatewayId: "g", log: silentLog, onGone }) };
}

test("of many connections that end at once each is removed once, in a few removals", async () => {
  const { removed, gone, list } = bench();
  await Promise.all(Array.from({ length: 1000 }, (_, n) => list.set(info(`c${n}`), "DISCONNECTED")));
  expect(new Set(removed.flat()).size).toBe(1000);
  expect(removed.flat()).toHaveLength(1000);
  expect(removed.length).toBeLessThan(5);
  expect(gone).toHaveLength(1000);
});

test("a mark is written when it changes, stays with other writes, and goes with the connection", async () => {
  const saved: string[] = [];
  const store: ConnectionListParts["store"] = {
    saveConnection: async ({ id, status, mark }) => void saved.push(`${id} ${status} ${mark ?? "-"}`),
    removeConnections: async () => {},
  };
  const list = new ConnectionList({ store, gatewayId: "g", log: silentLog, onGone: () => {} });
  expect(list.mark("one", "BLOCKED"), "it is not listed").toBe(false);
  await list.set(info("one"), "READY");
  expect(list.mark("one", null)).toBe(false);
  expect(list.mark("one", "BLOCKED")).toBe(true);
  expect(list.mark("one", "SILENT"), "a write is under way").toBe(false);
  await list.set(info("one"), "DRAINING");
  expect(list.mark("one", "BLOCKED")).toBe(false);
  expect(list.mark("one", null)).toBe(true);
  await list.listAgain();
  // Of what changes while a write is under way only the newest is written.
  expect(saved).toEqual(["one READY -", "one DRAINING BLOCKED", "one DRAINING -"]);
  await list.set(info("one"), "DISCONNECTED");
  expect(list.mark("one", "SILENT")).toBe(false);
});

test("what could not be removed is removed with the next that ends", async () => {
  const { removed, gone, list } = bench(1);
  await list.set(info("one"), "DISCONNECTED");
  expect(gone).toEqual([]);
  await list.set(info("two"), "DISCONNECTED");
  expect(removed).toEqual([["one"], ["one", "two"]]);
});

test("the store learns which workers said that they end, also when it could not be told at once", async () => {
  const told: (readonly string[] | undefined)[] = [];
  let failures = 1;
  const store: ConnectionListParts["store"] = {
    saveConnection: async () => {},
    removeConnections: async (_ids, left) => {
      told.push(left);
      failures -= 1;
      if (failures >= 0) throw new Error("no database");
    },
  };
  const list = new ConnectionList({ store, gatewayId: "g", log: silentLog, onGone: () => {} });
  // What it says last counts, also while an earlier status waits to be written.
  const paused = [list.set(info("one"), "READY"), list.set(info("one"), "DRAINING")];
  await Promise.all([...paused, list.set({ ...info("one"), left: true }, "DISCONNECTED")]);
  await list.set(info("lost"), "DISCONNECTED");
  await list.set(info("another"), "DISCONNECTED");
  expect(told).toEqual([["one"], ["one"], []]);
});

test("what could not be removed is removed with the next sign of life, and its functions are looked at", async () => {
  let isAway = true;
  const removed: string[] = [];
  const gone: (readonly string[])[] = [];
  const store: ConnectionListParts["store"] = {
    saveConnection: async () => {},
    removeConnections: async (ids) => {
      if (isAway) throw new Error("no database");
      removed.push(...ids);
    },
  };
  const list = new ConnectionList({ store, gatewayId: "g", log: silentLog, onGone: (ids) => gone.push(ids) });
  await list.set(info("one"), "READY");
  await list.set(info("one"), "DISCONNECTED");
  await expect(list.removeAgain()).rejects.toThrow("no database");
  isAway = false;
  gone.length = 0;
  await list.removeAgain();
  expect(removed).toEqual(["one"]);
  expect(gone).toEqual([info("one").functionIds]);
  await list.removeAgain();
  expect([removed, gone.length]).toEqual([["one"], 1]);
});

test("a gateway that ends leaves no connection on the list, whichever come and go meanwhile", async () => {
  const there = new Set<string>();
  const store: ConnectionListParts["store"] = {
    saveConnection: async ({ id }) => {
      await new Promise((resolve) => setImmediate(resolve));
      there.add(id);
    },
    removeConnections: async (ids) => {
      await new Promise((resolve) => setImmediate(resolve));
      for (const id of ids) there.delete(id);
    },
  };
  const list = new ConnectionList({ store, gatewayId: "g", log: silentLog, onGone: () => {} });
  await list.set(info("calm"), "READY");
  const writes = [list.set(info("new"), "READY"), list.set(info("leaving"), "READY")];
  writes.push(list.set(info("leaving"), "DISCONNECTED"));
  const ended = list.end();
  writes.push(list.set(info("late"), "READY"), list.set(info("calm"), "DRAINING"));
  expect(list.mark("calm", "BLOCKED"), "its write is under way").toBe(false);
  await ended;
  expect([...there]).toEqual([]);
  await Promise.all(writes);
  expect([...there]).toEqual([]);
});
