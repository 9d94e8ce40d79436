import { silentLog } from "@holdfast/core";
import type { ConnectionFilter } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../src/dispatch/ports.ts";
import { Versions } from "../../src/dispatch/queue/versions.ts";

function versionsOf(connections: readonly { readonly gatewayId: string }[]): Versions {
  const listConnections = async ({ exceptGatewayId }: ConnectionFilter): Promise<readonly object[]> =>
    connections.filter((one) => one.gatewayId !== exceptGatewayId);
  const store = { listConnections };
  const options = { store, clock: fakeClock(), log: silentLog, settings: { gatewayId: "here" } };
  return new Versions(options as unknown as DispatcherOptions);
}

const connection = {
  gatewayId: "there",
  status: "READY",
  versions: ["shop@1"],
  queues: ["gpu", "default"],
  silentMs: 4_000,
};

test("a version counts as connected elsewhere while a live gateway has a worker of it, and as open while that has capacity", async () => {
  const lists = async (change: object): Promise<boolean[]> => {
    const elsewhere = await versionsOf([{ ...connection, ...change }]).elsewhere();
    const [open, all] = [elsewhere?.takes("shop@1", "gpu"), elsewhere?.connects("shop@1", "gpu")];
    return [open === true, all === true];
  };
  expect(await lists({})).toEqual([true, true]);
  expect(await lists({ status: "CONNECTING" })).toEqual([true, true]);
  expect(await lists({ status: "DRAINING" })).toEqual([false, true]);
  expect(await lists({ silentMs: 14_999 })).toEqual([true, true]);
  expect(await lists({ silentMs: 15_000 })).toEqual([false, false]);
  expect(await lists({ gatewayId: "here" })).toEqual([false, false]);
  expect(await lists({ versions: ["shop@2"] })).toEqual([false, false]);
  expect(await lists({ queues: ["default"] })).toEqual([false, false]);
  expect(await lists({ queues: ["*"] })).toEqual([true, true]);
});

test("a query for other gateways' versions reads the current state, not an earlier one", async () => {
  const answers: ((connections: readonly object[]) => void)[] = [];
  const store = { listConnections: () => new Promise((resolve) => answers.push(resolve)) };
  const options = { store, clock: fakeClock(), log: silentLog, settings: { gatewayId: "here" } };
  const versions = new Versions(options as unknown as DispatcherOptions);
  const first = versions.elsewhere();
  const later = [versions.elsewhere(), versions.elsewhere()];
  answers[0]?.([]);
  expect((await first)?.connects("shop@1", "gpu")).toBe(false);
  await Promise.resolve();
  // One reading for both, begun after they asked.
  expect(answers).toHaveLength(2);
  answers[1]?.([connection]);
  for (const one of await Promise.all(later)) expect(one?.connects("shop@1", "gpu")).toBe(true);
  const last = versions.elsewhere();
  answers[2]?.([]);
  expect((await last)?.connects("shop@1", "gpu")).toBe(false);
});
