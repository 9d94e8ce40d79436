import { expect, test } from "vitest";
import { fromReactFlow, toReactFlow } from "../../src/react-flow.ts";
import { shapes } from "../fixtures/shapes.ts";

test.each(shapes)("the shape $graph.id is the same after an editor had it", ({ graph }) => {
  const { nodes: _, edges: __, ...base } = graph;
  const back = fromReactFlow(JSON.parse(JSON.stringify(toReactFlow(graph))), base);
  expect({ ...back, nodes: back.nodes.map(({ position: _position, ...node }) => node) }).toEqual(graph);
  // What an editor gives back stays as it is from then on.
  expect(fromReactFlow(toReactFlow(back), base)).toEqual(back);
});

test("nodes have their handles, and edges between the same nodes at other handles are others", () => {
  const flow = toReactFlow(
    {
      id: "g",
      title: "",
      nodes: [
        {
          id: "if",
          type: "condition",
          title: "Size",
          config: { branches: [{ id: "big", if: "true" }] },
          position: { x: 1, y: 2 },
        },
        { id: "find", type: "find" },
      ],
      edges: [
        { from: "if", handle: "big", to: "find" },
        { from: "if", handle: "else", to: "find" },
      ],
    },
    { nodeTypes: [{ type: "find", handles: ["missing"] }] },
  );
  expect(flow.nodes.map(({ data }) => data.handles)).toEqual([
    ["big", "else", "error"],
    ["out", "error", "missing"],
  ]);
  expect(flow.nodes[0]).toMatchObject({ position: { x: 1, y: 2 }, data: { label: "Size" } });
  expect(new Set(flow.edges.map(({ id }) => id)).size).toBe(2);
});

test("an edge that was drawn without a handle begins at the usual one", () => {
  const nodes = [{ id: "a", type: "start", position: { x: 0, y: 0 }, data: {} }];
  const edges = [{ id: "e", source: "a", sourceHandle: null, target: "b" }];
  expect(fromReactFlow({ nodes, edges }, { id: "g", title: "" }).edges).toEqual([{ from: "a", to: "b" }]);
});
