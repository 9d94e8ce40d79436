import { expect, test } from "vitest";
import { dataOf, fieldsOf, objectOf } from "../src/data/data-fields.ts";

const schema = {
  type: "object",
  properties: {
    name: { type: "string", description: "who" },
    size: { type: "string", enum: ["S", "L"] },
    count: { type: ["integer", "null"], default: 2 },
    gift: { type: "boolean" },
    lines: { type: "array" },
    mixed: { type: ["string", "number"] },
  },
  required: ["name", "size"],
};

test("the fields are those of a schema, and begin with what an example has", () => {
  const fields = fieldsOf(schema, { name: "Ada", lines: [1] });
  expect(fields.map(({ name, kind, isRequired, initial }) => [name, kind, isRequired, initial])).toEqual([
    ["name", "text", true, "Ada"],
    ["size", "choice", true, ""],
    ["count", "number", false, "2"],
    ["gift", "boolean", false, false],
    ["lines", "json", false, "[1]"],
    ["mixed", "json", false, ""],
  ]);
  expect(fields[0]?.help).toBe("who");
});

test("without a schema the fields are those of the example", () => {
  expect(fieldsOf(undefined, { a: "x", b: 1, c: true, d: null }).map(({ kind }) => kind)).toEqual([
    ...["text", "number", "boolean", "json"],
  ]);
  expect(fieldsOf(undefined, [1])).toEqual([]);
  expect(fieldsOf(undefined, Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, n])))).toEqual([]);
});

test("what is filled in becomes data, what is left empty is left out, and what does not fit is said", () => {
  const fields = fieldsOf(schema, {});
  expect(dataOf(fields, { name: "Ada", size: "L", count: "7", lines: '["a"]' })).toEqual({
    data: { name: "Ada", size: "L", count: 7, gift: false, lines: ["a"] },
  });
  expect(dataOf(fields, { name: "Ada" })).toEqual({ problem: "“size” is required." });
  expect(dataOf(fields, { size: "S", count: "few" })).toEqual({ problem: "“count” must be a number." });
  expect(dataOf(fields, { size: "S", lines: "a" })).toEqual({
    problem: "“lines” must be JSON: text stands in quotes.",
  });
});

test("a text is an object, or nothing", () => {
  expect([objectOf('{"a":1}'), objectOf("[1]"), objectOf("null"), objectOf("{")]).toEqual([{ a: 1 }, null, null, null]);
});

test("a choice of numbers stays one, and what may be null is what it is otherwise", () => {
  const fields = fieldsOf(
    {
      properties: {
        size: { type: "number", enum: [1, 2.5] },
        note: { anyOf: [{ type: "string", format: "email" }, { type: "null" }] },
        either: { anyOf: [{ type: "string" }, { type: "number" }] },
      },
    },
    {},
  );
  expect(fields.map(({ kind, help }) => [kind, help])).toEqual([
    ["choice", ""],
    ["text", "email"],
    ["json", ""],
  ]);
  expect(dataOf(fields, { size: "2.5", either: "7" })).toEqual({ data: { size: 2.5, either: 7 } });
});
