import { expect, test } from "vitest";
import { checkCancelPaths, isAlwaysTriggered, readFunctionSettings } from "../src/index.ts";

const always = (triggers: readonly object[], eventName: string): boolean =>
  isAlwaysTriggered(readFunctionSettings("app-fn", triggers, {}), eventName);

test("an event starts a function whatever it holds where one trigger for its name has no condition", () => {
  const plain = { event: "shop/order.placed" };
  const conditional = { event: "shop/order.placed", expression: "event.data.paid" };
  expect(always([plain], "shop/order.placed")).toBe(true);
  expect(always([conditional, plain], "shop/order.placed")).toBe(true);
  expect(always([{ event: "shop/*" }, conditional], "shop/order.placed")).toBe(true);
  expect(always([conditional], "shop/order.placed")).toBe(false);
  expect(always([conditional, { event: "shop/other" }, { cron: "* * * * *" }], "shop/order.placed")).toBe(false);
  expect(always([], "shop/order.placed")).toBe(false);
});

test("events that cancel runs are compared by fields that events have", () => {
  const check = (rule: object) => () => checkCancelPaths("shop-order", { cancel: [{ event: "shop/stop", ...rule }] });
  for (const rule of [{ match: "orderId" }, { if: "event.orderId == async.orderId" }]) {
    expect(check(rule)).toThrow(/"shop-order".*`cancel\[0\]`.*"shop\/stop".*Write `event\.data\.orderId`/);
  }
  expect(check({ match: "(" })).toThrow(/`cancel\[0\]`.*cannot be used/);
  for (const rule of [{}, { match: "data.orderId" }, { if: "async.data.all == true" }])
    expect(check(rule)).not.toThrow();
});

test("a condition of a trigger that cannot be used is named by the option that its author gave", () => {
  const given = [{ event: "shop/order.placed", expression: "event.data.total >" }];
  expect(() => readFunctionSettings("shop-order", given, {})).toThrow(/^Function "shop-order": `triggers\[0\]\.if`: /);
});
