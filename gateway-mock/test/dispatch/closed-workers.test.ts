import type { ListedConnection } from "@holdfast/store";
import { expect, test } from "vitest";
import { closedWorkers } from "../../src/dispatch/admission/closed-workers.ts";

const connection = (instanceId: string, more: Partial<ListedConnection> = {}): ListedConnection => ({
  ...{ id: `c-${instanceId}`, gatewayId: "G1", instanceId, appIds: ["shop"], versions: ["shop@1"], queues: ["gpu"] },
  ...{ partitions: [], capacity: 10, status: "DRAINING", connectedMs: 1, silentMs: 0 },
  ...more,
});

const wanted = [
  { name: "shop@1", queue: "gpu" },
  { name: "shop@2", queue: "default" },
];
const counted = (connections: readonly ListedConnection[], drained: readonly string[] = [], paused: string[] = []) =>
  closedWorkers(connections, wanted, {
    isDrained: (_environment, instanceId) => drained.includes(instanceId),
    isMainPaused: (connectionId) => paused.includes(connectionId),
  });

test("workers are counted by what keeps work from them: people, their main threads, themselves", () => {
  const all = [
    connection("a", { mark: "BLOCKED" }),
    connection("b"),
    connection("c", { mark: "BLOCKED" }),
    connection("d"),
    connection("e", { versions: ["shop@2"], queues: ["*"] }),
  ];
  expect(counted(all, ["c"], ["c-d"])).toEqual({ drained: 1, blocked: 2, paused: 2 });
});

test("one with two connections counts once, one of another queue or version not at all", () => {
  const all = [
    connection("a"),
    connection("a", { id: "c-2", gatewayId: "G2" }),
    connection("b", { queues: ["default"] }),
    connection("c", { versions: ["shop@3"] }),
  ];
  expect(counted(all)).toEqual({ drained: 0, blocked: 0, paused: 1 });
});
