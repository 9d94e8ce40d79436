import { expect, test } from "vitest";
import { readFunctionSettings } from "../src/flow/function-settings.ts";

const read = (eventSchemas: unknown) => readFunctionSettings("shop-order", [], { holdfast: { eventSchemas } });

test("schemas of events are kept as they came", () => {
  const said = { "shop/paid": { type: "object" } };
  expect(read(said).eventSchemas).toEqual(said);
  expect([read(undefined).eventSchemas, read(null).eventSchemas]).toEqual([{}, {}]);
  expect(readFunctionSettings("shop-order", [], { holdfast: "text" }).eventSchemas).toEqual({});
});

test.each([
  ["`eventSchemas` must be an object", []],
  ['`eventSchemas["a"]` must be an object', { a: "text" }],
  ["must be a non-empty string", { "": {} }],
  ["65536 characters; leave out the longest", { a: { title: "x".repeat(70_000) } }],
])("what cannot be kept is refused: %s", (problem, schemas) => {
  expect(() => read(schemas)).toThrow(expect.objectContaining({ code: "FUNCTION_INVALID" }));
  expect(() => read(schemas)).toThrow(problem);
});
