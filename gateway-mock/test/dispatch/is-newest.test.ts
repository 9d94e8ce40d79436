import type { AppRecord, StoredFunction } from "@holdfast/store";
import { expect, test } from "vitest";
import { isNewest } from "../../src/dispatch/registry/is-newest.ts";

const deployment = (appId: string, version: string, slugs: readonly string[]) => ({
  appId,
  version,
  slugs,
  queues: {},
});
const app = (version: string, slugs: readonly string[]): AppRecord => ({
  ...{ id: "shop", version, sdk: "typescript:1" },
  functions: slugs.map((slug) => ({ slug, name: slug, triggersJson: "[]", configJson: "{}" })),
});

const stored = (apps: readonly AppRecord[], active = true): Map<string, StoredFunction> =>
  new Map(
    apps.flatMap(({ id: appId, version: appVersion, functions }) =>
      functions.map((fn) => [fn.slug, { ...fn, active, appId, appVersion, uuid: fn.slug }] as const),
    ),
  );

test("of an app's deployments the first is the newest, whatever other apps have", () => {
  const deployments = [
    deployment("bank", "9", ["x"]),
    deployment("shop", "2", ["a", "b"]),
    deployment("shop", "1", ["a"]),
  ];
  const all = { deployments, functions: new Map<string, StoredFunction>() };
  expect(isNewest(app("2", ["b", "a"]), all)).toBe(true);
  expect(isNewest(app("1", ["a"]), all)).toBe(false);
  expect(isNewest(app("2", ["a"]), all)).toBe(false);
  expect(isNewest(app("2", ["a", "c"]), all)).toBe(false);
  expect(isNewest(app("2", ["a", "b"]), { ...all, deployments: [] })).toBe(false);
});

test("without a version it is the newest where its functions are stored as it has them", () => {
  const [own] = app("", ["a"]).functions;
  if (!own) throw new Error("The app has a function.");
  const deployments = [deployment("shop", "", ["a"])];
  const isNewestWith = (functions: Map<string, StoredFunction>): boolean =>
    isNewest(app("", ["a"]), { deployments, functions });
  expect(isNewestWith(stored([app("", ["a"])]))).toBe(true);
  expect(isNewestWith(new Map())).toBe(false);
  expect(isNewestWith(stored([app("", ["a"])], false))).toBe(false);
  for (const other of [{ name: "A" }, { triggersJson: '[{"event":"a"}]' }, { configJson: '{"retries":1}' }]) {
    expect(isNewestWith(stored([{ ...app("", []), functions: [{ ...own, ...other }] }])), JSON.stringify(other)).toBe(
      false,
    );
  }
});
