import { expect, test } from "vitest";
import { unheard } from "../src/data/meant-event.ts";

const patterns = ["shop/ordered", "shop/returned", "mail/*"];

test.each([
  ["shop/orderd", "shop/ordered"],
  ["Shop/Returned", "shop/returned"],
  ["something/else", undefined],
])("%s starts nothing; meant was probably %s", (name, near) => {
  expect(unheard(name, patterns)).toEqual({ near });
});

test.each(["", "shop/ordered", "mail/sent"])("of “%s” nothing is said", (name) => {
  expect(unheard(name, patterns)).toBeUndefined();
});

test("while no function is known, nothing is said", () => {
  expect(unheard("shop/orderd", [])).toBeUndefined();
});
