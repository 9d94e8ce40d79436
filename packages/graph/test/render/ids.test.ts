import { afterEach, expect, test } from "vitest";
import type { Graph, NodeStatus } from "../../src/definition.ts";
import { fromReactFlow, toReactFlow } from "../../src/react-flow.ts";
import { drawGraph, toMermaid, toSvg } from "../../src/render.ts";

/** Names that plain objects have from their prototype, and some that layouts take for their own. */
const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "prototype", "__defineGetter__", "valueOf"];

/** A chain with branches and a loop, whose nodes are called so. */
function graphOf(ids: readonly string[]): Graph {
  const nodes = ids.map((id, index) => ({
    id,
    type: index === 0 ? "start" : index === 1 ? "loop" : "work",
    title: `node ${index}`,
    outputVariable: `out${index}`,
  }));
  const [start = "", loop = "", ...others] = ids;
  return {
    id: "g",
    title: "G",
    nodes,
    edges: [
      { from: start, to: loop },
      ...others.map((to) => ({ from: loop, handle: "loop", to })),
      ...others.slice(1).map((from) => ({ from, to: others[0] ?? "" })),
    ],
  };
}

const odd = graphOf(NAMES);
const plain = graphOf(NAMES.map((_, index) => `id${index}`));
/** The same text with harmless names. */
const renamed = (text: string): string => NAMES.reduce((all, name, index) => all.replaceAll(name, `id${index}`), text);

const status = (graph: Graph): { readonly nodes: NodeStatus[] } => ({
  nodes: graph.nodes.map(({ id, type }, index) => ({
    ...{ id, key: id, stepId: null, type, status: index === 1 ? "running" : "done", path: [], iteration: [] },
    ...{ attempts: 1, startedMs: 0, endedMs: 0, dueMs: null },
  })),
});

afterEach(() => {
  const inherited: string[] = [];
  for (const key in {}) inherited.push(key);
  expect(inherited).toEqual([]);
  expect(Object.getOwnPropertyDescriptor(Object.prototype, "v")).toBeUndefined();
});

test.each(["down", "right"] as const)("nodes are laid out whatever their ids are, going %s", (direction) => {
  const drawn = drawGraph(odd, { direction });
  expect(drawn.nodes.map(({ id }) => id)).toEqual(NAMES);
  expect(JSON.parse(renamed(JSON.stringify(drawn)))).toEqual(drawGraph(plain, { direction }));
  expect(renamed(toSvg(odd, status(odd), { direction }))).toBe(toSvg(plain, status(plain), { direction }));
});

test("a flowchart in Mermaid is the same whatever the ids of its nodes are", () => {
  expect(toMermaid(odd, status(odd))).toBe(toMermaid(plain, status(plain)));
});

test("an editor gets and gives nodes whatever their ids are", () => {
  const flow = JSON.parse(JSON.stringify(toReactFlow(odd)));
  expect(JSON.parse(renamed(JSON.stringify(flow)))).toEqual(toReactFlow(plain));
  const back = fromReactFlow(flow, { id: "g", title: "G" });
  expect({ ...back, nodes: back.nodes.map(({ position: _, ...node }) => node) }).toEqual(odd);
});

test.each(NAMES)("a graph of the single node %s, with an edge to itself, is drawn", (id) => {
  const graph = { id: "g", title: "G", nodes: [{ id, type: "work" }], edges: [{ from: id, to: id }] };
  expect(drawGraph(graph).edges).toHaveLength(1);
  expect(toSvg(graph)).toContain(`data-node="${id}"`);
});

test("nodes of one id, as drafts may have them, are drawn side by side", () => {
  const nodes = [1, 2].map(() => ({ id: "same", type: "work" }));
  const graph = { id: "g", title: "G", nodes, edges: [] };
  const [one, other] = drawGraph(graph).nodes;
  expect(one?.x).not.toBe(other?.x);
  expect(toMermaid(graph).split("\n")).toEqual(["flowchart TD", '  n0["same"]', '  n1["same"]', ""]);
});
