import { type Schema, Validator } from "@cfworker/json-schema";
import { expect, test } from "vitest";
import { GRAPH_JSON_SCHEMA, validateGraph } from "../../src/definition.ts";
import { shapes } from "../fixtures/shapes.ts";

const schema = new Validator(GRAPH_JSON_SCHEMA as Schema, "2020-12");

test.each(shapes)("the JSON Schema has the shape $graph.id", ({ graph }) => {
  expect(schema.validate(graph)).toEqual({ valid: true, errors: [] });
});

test.each<[what: string, node: object]>([
  ["an unknown field of a node", { id: "a", type: "end", colour: 1 }],
  ["an unknown field of a config", { id: "a", type: "delay", config: { duration: 1, x: 1 } }],
  ["a config without what it needs", { id: "a", type: "delay", config: {} }],
  ["no config where one is needed", { id: "a", type: "http" }],
  ["a choice that there is not", { id: "a", type: "http", config: { url: "https://example.com", method: "SEND" } }],
  ["a number out of range", { id: "a", type: "loop", config: { items: [], concurrency: 0 } }],
  ["a condition without branches", { id: "a", type: "condition", config: { branches: [] } }],
  ["a join that there is not", { id: "a", type: "end", joinMode: "most" }],
])("the JSON Schema and validateGraph both refuse %s", (_what, node) => {
  const graph = {
    id: "g",
    title: "g",
    nodes: [{ id: "start", type: "start" }, node],
    edges: [{ from: "start", to: "a" }],
  };
  expect(schema.validate(graph).valid).toBe(false);
  expect(validateGraph(graph)).not.toEqual([]);
});
