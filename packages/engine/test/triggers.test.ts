import { expect, test } from "vitest";
import { isAlwaysTriggered, readFunctionSettings } from "../src/index.ts";

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
