import { expect, test } from "vitest";
import { matchPathProblem, timestampProblem } from "../src/event-fields.ts";

test.each(["data", "data.orderId", "data.items[0].id", 'data["order id"]', "user.id", "name", "id", "ts", "v"])(
  "%s is a path into an event",
  (path) => expect(matchPathProblem(path)).toBeNull(),
);

test.each([
  ["orderId", "data.orderId"],
  ["order.id", "data.order.id"],
  ["datas", "data.datas"],
  ["event.data.orderId", "data.orderId"],
  ["async.orderId", "data.orderId"],
  ["event", "data.orderId"],
])("%s is none; what is meant is probably %s", (path, meant) => {
  expect(matchPathProblem(path)).toContain(`Write ${JSON.stringify(meant)}`);
});

const NOW_MS = Date.UTC(2026, 5, 1);
const YEAR_MS = 366 * 86_400_000;

test.each([0, 1, 5_000_000, Date.UTC(1980, 0, 1), NOW_MS, NOW_MS + 1.5, NOW_MS + YEAR_MS])(
  "the time of an event may be %d",
  (ts) => expect(timestampProblem(ts, NOW_MS, YEAR_MS)).toBeNull(),
);

test.each<[unknown, RegExp]>([
  [NOW_MS / 1000, /a year ahead; \d+ looks like seconds: write 1780272000000$/],
  [NOW_MS * 1000, /a year ahead; \d+ looks like microseconds: write 1780272000000$/],
  [NOW_MS * 1_000_000, /a year ahead; \d+ looks like nanoseconds: write 1780272000000$/],
  [NOW_MS + YEAR_MS + 1, /at most a year ahead$/],
  [8.64e15 * 1000, /at most a year ahead$/],
  [-1, /must be a number that is not below 0: milliseconds/],
  [Number.NaN, /must be a number that is not below 0: milliseconds/],
  ["2026-06-01T00:00:00Z", /must be a number that is not below 0: milliseconds/],
])("the time of an event cannot be %s", (ts, why) => expect(timestampProblem(ts, NOW_MS, YEAR_MS)).toMatch(why));

test("where time began lately, as in tests, small numbers are milliseconds", () => {
  expect(timestampProblem(2e8, 1e8, YEAR_MS)).toBeNull();
});
