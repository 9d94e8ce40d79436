import { silentLog } from "@holdfast/core";
import { expect, test } from "vitest";
import { type AgentSession, Agents } from "../../src/engine/agents/agents.ts";
import { chooseSession } from "../../src/ws/routing.ts";

const session = (id: string): AgentSession & { seenMs: number } => ({
  id,
  instanceId: id,
  environment: "",
  functionIds: ["shop-order"],
  apps: [],
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
  sendWhenRoom: () => {},
});

test("of a plain gateway, who was silent for two heartbeat intervals is given nothing until it speaks", () => {
  const agents = new Agents((candidates, nowMs) => chooseSession(candidates, { nowMs }), 2);
  const [one, two] = [session("one"), session("two")];
  agents.add(one, true);
  agents.add(two, true);
  two.seenMs = 500;
  expect(agents.reserve("shop-order", 2000, null)?.id).toBe("one");
  expect(agents.reserve("shop-order", 2001, null)?.id).toBe("two");
  expect(agents.unroutable(2001)).toEqual(new Set());
  expect(agents.reserve("shop-order", 2501, null)).toBeUndefined();
  expect(agents.wants(2501, 5)).toEqual([]);
  expect(agents.unroutable(2501)).toEqual(new Set(["shop-order"]));
  one.seenMs = 2501;
  expect(agents.reserve("shop-order", 2501, null)?.id).toBe("one");
  expect(agents.unroutable(2501)).toEqual(new Set());
});

test("elsewhere silence only makes others preferred", () => {
  const agents = new Agents((candidates, nowMs) => chooseSession(candidates, { nowMs }));
  agents.add(session("one"), true);
  expect(agents.reserve("shop-order", 1_000_000, null)?.id).toBe("one");
});

test("functions of which all connections have paused are unroutable, those of nobody are not", () => {
  const agents = new Agents((candidates, nowMs) => chooseSession(candidates, { nowMs }), 2);
  const slot = agents.add(session("one"), true);
  agents.close(slot);
  expect(agents.unroutable(0)).toEqual(new Set(["shop-order"]));
  agents.remove(slot);
  expect(agents.unroutable(0)).toEqual(new Set());
});
