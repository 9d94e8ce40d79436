import { isOwnFileBelow } from "@holdfast/core";
import { expect, test } from "vitest";
import { loggedError, withoutOwnFrames } from "../../src/execution/logged-error.ts";

const isOwn = isOwnFileBelow("/app/node_modules/holdfast/dist/");
const OWN = [
  "    at JSON.stringify (<anonymous>)",
  "    at encodeResult (file:///app/node_modules/holdfast/dist/sdk.js:75:11)",
  "    at AsyncResource.runInAsyncScope (node:async_hooks:206:9)",
  "    at runBody (holdfast-pool-thread.cjs:1:2)",
  "    at process.processTicksAndRejections (node:internal/process/task_queues:82:21)",
];
const APP = "    at charge (/app/src/order.ts:12:9)";
const stackOf = (...frames: readonly string[]): string =>
  ["HoldfastError: It is no JSON.", "Return plain data.", ...frames].join("\n");

test("a stack of Holdfast's and Node's frames alone is left without frames", () => {
  expect(withoutOwnFrames(stackOf(...OWN), isOwn)).toBe(stackOf());
  expect(withoutOwnFrames(stackOf(), isOwn)).toBe(stackOf());
});

test.each([
  ["first", [APP, ...OWN]],
  ["last", [...OWN, APP]],
  ["between them", [...OWN, APP, ...OWN]],
  ["alone", [APP]],
])("a stack with a frame of the app's %s is whole", (_, frames) => {
  expect(withoutOwnFrames(stackOf(...frames), isOwn)).toBe(stackOf(...frames));
});

test("an error without a code, which no step threw, may be a fault of Holdfast's: its stack is whole", () => {
  const stack = "Error: here\n    at Pass.settle (/app/node_modules/holdfast/dist/sdk.js:1:2)";
  const error = { name: "TypeError", message: "x", stack, __serialized: true } as const;
  const thrown = { error, isFinal: false, isStepError: false };
  expect(loggedError(thrown)).toEqual({ name: "TypeError", message: "x", stack });
  expect(loggedError({ ...thrown, failedStep: "charge" }).stack).toBe("Error: here");
  expect(loggedError({ ...thrown, error: { ...error, code: "STEP_RESULT_INVALID" } })).toEqual({
    ...{ name: "TypeError", message: "x", code: "STEP_RESULT_INVALID", stack: "Error: here" },
  });
  const caused = { ...error, code: "STEP_RESULT_INVALID", cause: { name: "TypeError", message: "x", stack } };
  expect(loggedError({ ...thrown, error: caused }).cause).toMatchObject({ stack: "Error: here" });
  const several = {
    ...error,
    code: "STEP_RESULT_INVALID",
    data: { a: 1, errors: [{ name: "Error", message: "b", stack }, 2] },
  };
  expect(loggedError({ ...thrown, error: several }).data).toEqual({
    a: 1,
    errors: [{ name: "Error", message: "b", stack: "Error: here" }, 2],
  });
});
