import { NO_SETTINGS, readFunctionSettings } from "@holdfast/engine";
import { expect, test } from "vitest";
import { retentionPolicy } from "../../src/retention-policy.ts";

const DAY_MS = 86_400_000;
const fn = (id: string, retention?: object) => ({
  id,
  settings: retention ? readFunctionSettings(id, [], { holdfast: { retention } }) : NO_SETTINGS,
});

test("functions that say so have periods of their own; what they leave out is the gateway's", () => {
  const config = { retentionCompletedMs: 30 * DAY_MS, retentionFailedMs: "off" } as const;
  const functions = [fn("plain"), fn("short", { completed: "1d" }), fn("long", { completed: "off", failed: "2h" })];
  expect(retentionPolicy(config, functions)).toEqual({
    completedMs: 30 * DAY_MS,
    failedMs: null,
    functions: new Map([
      ["short", { completedMs: DAY_MS, failedMs: null }],
      ["long", { completedMs: null, failedMs: 2 * 3_600_000 }],
    ]),
  });
});

test("a function whose periods cannot be read is refused by name", () => {
  const wrong = (retention: unknown) => () => readFunctionSettings("shop-order", [], { holdfast: { retention } });
  expect(wrong("1d")).toThrow("`retention`");
  expect(wrong({ completed: "soon" })).toThrow("`retention.completed`");
  expect(wrong({ failed: 1 })).toThrow("`retention.failed` must be between");
});
