import { expect, test } from "vitest";
import { tsxPreload } from "../../src/isolation/thread/tsx-loader.ts";

const file = "file:///app/node_modules/tsx/dist/loader.mjs";

test.each([
  ["the flag and its value", ["--import", "tsx"], "tsx"],
  ["one flag", ["--enable-source-maps", "--import=tsx/esm"], "tsx/esm"],
  ["its command", ["--require", "/app/node_modules/tsx/dist/preflight.cjs", "--import", file], file],
  ["none", ["--import", "./tsx.mjs", "--enable-source-maps"], undefined],
])("tsx is found in the app's flags: %s", (_, flags, expected) => {
  expect(tsxPreload(flags)).toBe(expected);
});
