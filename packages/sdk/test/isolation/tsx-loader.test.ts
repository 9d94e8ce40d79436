import { expect, test } from "vitest";
import { apiOf, tsxPreload } from "../../src/isolation/thread/tsx-loader.ts";

const file = "file:///app/node_modules/tsx/dist/loader.mjs";

test.each([
  ["the flag and its value", ["--import", "tsx"], "tsx"],
  ["one flag", ["--enable-source-maps", "--import=tsx/esm"], "tsx/esm"],
  ["its command", ["--require", "/app/node_modules/tsx/dist/preflight.cjs", "--import", file], file],
  ["none", ["--import", "./tsx.mjs", "--enable-source-maps"], undefined],
])("tsx is found in the app's flags: %s", (_, flags, expected) => {
  expect(tsxPreload(flags)).toBe(expected);
});

test.each([
  ["its URL", file],
  ["its path", "/app/node_modules/tsx/dist/loader.mjs"],
  ["the older loader's path", "/app/node_modules/tsx/dist/esm/index.mjs"],
])("tsx's API lies beside a preload that is named by %s, wherever the process runs", (_, preload) => {
  expect(apiOf(preload)).toBe("file:///app/node_modules/tsx/dist/esm/api/index.mjs");
});

test("tsx's API is that of the process's folder where the preload is named by its package", () => {
  expect(apiOf("tsx")).toMatch(/^file:.*\/tsx\/dist\/esm\/api\/index\.mjs$/);
});
