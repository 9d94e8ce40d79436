import { expect, test } from "vitest";
import { matchPathProblem } from "../src/event-fields.ts";

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
