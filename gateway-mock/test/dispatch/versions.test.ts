import { silentLog } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import type { DispatcherOptions } from "../../src/dispatch/ports.ts";
import { Versions } from "../../src/dispatch/queue/versions.ts";

function versionsOf(connections: readonly object[]): Versions {
  const store = { listConnections: async () => connections };
  const options = { store, clock: fakeClock(), log: silentLog, settings: { gatewayId: "here" } };
  return new Versions(options as unknown as DispatcherOptions);
}

const connection = { gatewayId: "there", status: "READY", versions: ["shop@1"], silentMs: 4_000 };

test("a version counts as connected elsewhere while a live gateway has a worker of it, and as open while that has capacity", async () => {
  const lists = async (change: object): Promise<boolean[]> => {
    const elsewhere = await versionsOf([{ ...connection, ...change }]).elsewhere();
    return [elsewhere?.open.has("shop@1") === true, elsewhere?.all.has("shop@1") === true];
  };
  expect(await lists({})).toEqual([true, true]);
  expect(await lists({ status: "CONNECTING" })).toEqual([true, true]);
  expect(await lists({ status: "DRAINING" })).toEqual([false, true]);
  expect(await lists({ silentMs: 14_999 })).toEqual([true, true]);
  expect(await lists({ silentMs: 15_000 })).toEqual([false, false]);
  expect(await lists({ gatewayId: "here" })).toEqual([false, false]);
  expect(await lists({ versions: ["shop@2"] })).toEqual([false, false]);
});

test("a query for other gateways' versions reads the current state, not an earlier one", async () => {
  const answers: ((connections: readonly object[]) => void)[] = [];
  const store = { listConnections: () => new Promise((resolve) => answers.push(resolve)) };
  const options = { store, clock: fakeClock(), log: silentLog, settings: { gatewayId: "here" } };
  const versions = new Versions(options as unknown as DispatcherOptions);
  const first = versions.elsewhere();
  const later = [versions.elsewhere(), versions.elsewhere()];
  answers[0]?.([]);
  expect((await first)?.all.size).toBe(0);
  await Promise.resolve();
  // One reading for both, begun after they asked.
  expect(answers).toHaveLength(2);
  answers[1]?.([connection]);
  for (const one of await Promise.all(later)) expect(one?.all.has("shop@1")).toBe(true);
  const last = versions.elsewhere();
  answers[2]?.([]);
  expect((await last)?.all.size).toBe(0);
});
