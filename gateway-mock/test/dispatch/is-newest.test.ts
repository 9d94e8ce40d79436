import type { AppRecord } from "@holdfast/store";
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

test("of an app's deployments the first is the newest, whatever other apps have", () => {
  const all = [deployment("bank", "9", ["x"]), deployment("shop", "2", ["a", "b"]), deployment("shop", "1", ["a"])];
  expect(isNewest(app("2", ["b", "a"]), all)).toBe(true);
  expect(isNewest(app("1", ["a"]), all)).toBe(false);
  expect(isNewest(app("2", ["a"]), all)).toBe(false);
  expect(isNewest(app("2", ["a", "c"]), all)).toBe(false);
  expect(isNewest(app("2", ["a", "b"]), [])).toBe(false);
  expect(isNewest(app("", ["a"]), [deployment("shop", "", ["a"])])).toBe(false);
});
