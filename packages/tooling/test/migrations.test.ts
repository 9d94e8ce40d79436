import { readdirSync } from "node:fs";
import { expect, test } from "vitest";

test("each migration has a number of its own, without gaps", () => {
  const names = readdirSync(new URL("../../../gateway-mock/migrations/", import.meta.url)).sort();
  expect(names.map((name) => Number(name.slice(0, 3)))).toEqual(names.map((_, index) => index + 1));
});
