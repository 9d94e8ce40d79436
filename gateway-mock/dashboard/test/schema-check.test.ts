import { expect, test } from "vitest";
import { checkOf } from "../src/data/schema-check.ts";

const schema = {
  type: "object",
  properties: {
    email: { type: "string", format: "email" },
    lines: { type: "array", items: { type: "object", properties: { count: { type: "integer", minimum: 1 } } } },
  },
  required: ["email"],
  additionalProperties: false,
};

test("what does not fit a schema is said with its place", () => {
  const check = checkOf(schema);
  expect(check({ email: "ada@example.com", lines: [{ count: 1 }] })).toBeNull();
  expect(check({})).toMatch(/"email"/);
  expect(check({ email: "ada" })).toMatch(/^“email”: .*"email"/);
  expect(check({ email: "ada@example.com", lines: [{ count: 1 }, { count: 0 }] })).toMatch(/^“lines\.1\.count”: /);
  expect(check({ email: "ada@example.com", more: 1 })).toMatch(/"more"/);
});

test("a schema that cannot be applied stops nothing", () => {
  expect(checkOf({ $ref: "#/$defs/missing" })({ a: 1 })).toBeNull();
  expect([checkOf(undefined)(1), checkOf("text")(1), checkOf({})(1)]).toEqual([null, null, null]);
});
