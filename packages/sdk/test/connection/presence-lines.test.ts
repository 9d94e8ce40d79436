import { expect, test } from "vitest";
import { Holdfast } from "../../src/app/holdfast.ts";
import { PresenceLines, type PresenceLinesDeps } from "../../src/connection/main/presence-lines.ts";

const config = {
  apiBaseUrl: "http://gateway.test/",
  instanceId: "host-1",
  apps: [{ appName: "shop", functions: new Uint8Array() }],
};

function connected(more: Partial<PresenceLinesDeps>): readonly string[] {
  const lines: string[] = [];
  const log = (_level: string, message: string): void => void lines.push(message);
  new PresenceLines({ config, functionCount: 2, clock: { monotonicMs: () => 0 }, log, ...more }).onReady("c");
  return lines;
}

test("the first line names the environment where it is not the default one, and what named it", () => {
  expect(connected({})).toEqual(["Connected to http://gateway.test as host-1: 2 functions of shop."]);
  const named = { ...config, envName: "feat" };
  expect(connected({ config: named, envVariable: "BRANCH" })).toEqual([
    'Connected to http://gateway.test as host-1: 2 functions of shop, in environment "feat" (from BRANCH).',
  ]);
  expect(connected({ config: named })).toEqual([
    'Connected to http://gateway.test as host-1: 2 functions of shop, in environment "feat".',
  ]);
});

test("an app knows the variable that named its environment", () => {
  const app = (env: Record<string, string>, options = {}) => new Holdfast({ id: "shop", isDev: true, ...options }, env);
  expect(app({ BRANCH: "feat" })).toMatchObject({ envVariable: "BRANCH", options: { env: "feat" } });
  expect(app({ BRANCH: "feat", HOLDFAST_ENV: "qa" })).toMatchObject({ envVariable: "HOLDFAST_ENV" });
  expect(app({ BRANCH: "feat" }, { env: "qa" }).envVariable).toBeUndefined();
  expect(app({}).envVariable).toBeUndefined();
});
