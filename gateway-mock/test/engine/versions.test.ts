import { silentLog } from "@holdfast/core";
import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { Versions } from "../../src/engine/jobs/versions.ts";
import type { EngineOptions } from "../../src/engine/ports.ts";

function versionsOf(connections: readonly object[]): Versions {
  const store = { listConnections: async () => connections };
  const options = { store, clock: fakeClock(), log: silentLog, settings: { gatewayId: "here" } };
  return new Versions(options as unknown as EngineOptions);
}

const connection = { gatewayId: "there", status: "READY", versions: ["shop@1"], silentMs: 4_000 };

test("a version is elsewhere while another gateway that lives has a worker of it that takes work", async () => {
  const isElsewhere = (change: object): Promise<boolean> =>
    versionsOf([{ ...connection, ...change }]).isElsewhere("shop", "1");
  expect(await isElsewhere({})).toBe(true);
  expect(await isElsewhere({ silentMs: 14_999 })).toBe(true);
  expect(await isElsewhere({ silentMs: 15_000 })).toBe(false);
  expect(await isElsewhere({ gatewayId: "here" })).toBe(false);
  expect(await isElsewhere({ status: "DRAINING" })).toBe(false);
  expect(await isElsewhere({ versions: ["shop@2"] })).toBe(false);
});
