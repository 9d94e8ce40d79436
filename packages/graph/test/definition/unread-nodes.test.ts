import { expect, test } from "vitest";
import { GRAPH_LIMITS, validateGraph } from "../../src/definition.ts";

const around = (id: string, node: object, more: readonly { readonly id: string; readonly type: string }[] = []) => ({
  id: "g",
  title: "g",
  nodes: [
    { id: "start", type: "start" },
    { id, type: "work", ...node },
    { id: "after", type: "work" },
    { id: "end", type: "end" },
    ...more,
  ],
  edges: [
    { from: "start", to: id },
    { from: id, to: "after" },
    { from: "after", to: "end" },
  ],
});
const large = { text: "x".repeat(GRAPH_LIMITS.maxConfigChars) };
const codesOf = (graph: object) => validateGraph(graph, { nodeTypes: [{ type: "work" }] }).map(({ code }) => code);

test.each<[what: string, graph: object, code: string]>([
  ["an id with other letters", around("größe", {}), "ID_INVALID"],
  ["an id with a slash", around("a/b[0]", {}), "ID_INVALID"],
  ["an empty id", around("", {}), "ID_INVALID"],
  ["a large config", around("a", { config: large }), "TOO_LARGE"],
  ["a config that is no object", around("a", { config: 7 }), "SHAPE_INVALID"],
  ["no type", around("a", { type: undefined }), "SHAPE_INVALID"],
])("a node with %s is one problem, and is there for edges", (_what, graph, code) => {
  expect(codesOf(graph)).toEqual([code]);
});

test("a start that cannot be looked at is the start", () => {
  const { edges, nodes } = around("a", {});
  const renamed = edges.map(({ from, to }) => ({ from: from === "start" ? "début" : from, to }));
  const graph = { id: "g", title: "g", nodes: [{ id: "début", type: "start" }, ...nodes.slice(1)], edges: renamed };
  expect(codesOf(graph)).toEqual(["ID_INVALID"]);
});

test("templates may read a node that cannot be looked at, and what a loop gives that cannot", () => {
  const graph = around("each", { type: "loop", outputVariable: "all", config: { ...large, item: "order" } });
  const nodes = graph.nodes.map((node) =>
    node.id === "after"
      ? { ...node, config: { a: "{{ctx.order}}" } }
      : node.id === "end"
        ? { ...node, config: { outputParameters: { all: "{{ctx.all}}" } } }
        : node,
  );
  const edges = [
    { from: "start", to: "each" },
    { from: "each", handle: "loop", to: "after" },
    { from: "each", handle: "done", to: "end" },
  ];
  expect(codesOf({ ...graph, nodes, edges })).toEqual(["TOO_LARGE"]);
});

test("what is wrong with others is found all the same", () => {
  const graph = around("a", { config: large }, [{ id: "alone", type: "work" }]);
  const edges = [...graph.edges, { from: "a", to: "ghost" }];
  expect(codesOf({ ...graph, edges })).toEqual(["TOO_LARGE", "EDGE_DANGLING", "NODE_UNREACHABLE"]);
});
