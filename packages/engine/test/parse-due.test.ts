import { expect, test } from "vitest";
import { parseRetryAfterMs } from "../src/parse-due.ts";
import { op, ops, World } from "./world.ts";

test.each<[string | undefined, number | undefined]>([
  ["5", 5_000],
  ["0", 1_000],
  ["0.250", 250],
  ["0.000", 0],
  ["7.5", 7_500],
  ["90000", 86_400_000],
  ["90000.5", 86_400_000],
  ["2001-09-09T01:46:50.000Z", 10_000],
  ["2001-09-09T01:46:40.100Z", 1_000],
  ["", undefined],
  [undefined, undefined],
  ["soon", undefined],
])("a delay before the next attempt of %j is %j ms", (text, delayMs) => {
  expect(parseRetryAfterMs(text, 1_000_000_000_000)).toBe(delayMs);
});

test("an HTTP call that fails is repeated by the delays that its op gives, and then by the gateway's", () => {
  const world = new World({ maxAttempts: 4 });
  world.pass(ops([op("Gateway", "call", { opts: { url: "https://example.test/", retryAfter: ["0.300", "soon"] } })]));
  const error = { name: "Error", message: "no" };
  const delays = [0, 1, 2].map(() => {
    world.decide({ type: "fetched", jobId: world.job("fetch", "call").id, result: { type: "retry", error } });
    const { dueMs } = world.job("fetch", "call");
    const delayMs = dueMs - world.nowMs;
    world.nowMs = dueMs;
    return delayMs;
  });
  expect(delays).toEqual([300, 2_000, 4_000]);
});
