import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import type { Graph, NodeStatus, NodeStatusKind } from "../../src/definition.ts";
import { drawGraph, toMermaid, toSvg } from "../../src/render.ts";
import { shapes } from "../fixtures/shapes.ts";

const graph: Graph = {
  id: "g",
  title: 'A <graph> & "more"',
  nodes: [
    { id: "start", type: "start" },
    { id: "size", type: "condition", title: "How large?", config: { branches: [{ id: "big", if: "ctx.input > 1" }] } },
    { id: "each", type: "loop", config: { items: [1, 2] } },
    { id: "work", type: "javascript", title: '"];x[("<script>', config: { code: "1" } },
    { id: "end", type: "end" },
  ],
  edges: [
    { from: "start", to: "size" },
    { from: "size", handle: "big", to: "each" },
    { from: "each", handle: "loop", to: "work" },
    { from: "work", to: "each" },
    { from: "each", handle: "done", to: "end" },
    { from: "size", handle: "else", to: "end" },
  ],
};
const state = (id: string, status: NodeStatusKind, iteration: number[] = []): NodeStatus => ({
  ...{
    id,
    key: id,
    stepId: null,
    type: "x",
    status,
    iteration,
    path: [],
    attempts: 1,
    startedMs: 0,
    endedMs: 0,
    dueMs: null,
  },
});
const status = {
  nodes: [state("start", "done"), state("size", "done"), state("work", "done", [0]), state("work", "running", [1])],
};

test("a graph is a flowchart in Mermaid, with labels that cannot be taken for anything else", () => {
  expect(toMermaid(graph).split("\n")).toEqual([
    "flowchart TD",
    '  n0(["start"])',
    '  n1{{"How large#63;"}}',
    '  n2[["each"]]',
    '  n3["#34;#93;#59;x#91;(#34;#60;script#62;"]',
    '  n4(["end"])',
    "  n0 --> n1",
    '  n1 -->|"big"| n2',
    '  n2 -->|"loop"| n3',
    "  n3 --> n2",
    '  n2 -->|"done"| n4',
    '  n1 -->|"else"| n4',
    "",
  ]);
});

test("with a status each node has its state, of several iterations the one that tells most", () => {
  const lines = toMermaid(graph, status).split("\n");
  expect(lines).toContain('  n0(["start"]):::done');
  expect(lines.find((line) => line.startsWith("  n3["))).toMatch(/ 1\/2"\]:::running$/);
  expect(lines.filter((line) => line.includes("classDef")).map((line) => line.split(" ")[3])).toEqual([
    "done",
    "running",
  ]);
});

test("an SVG has each node and edge once, and no text of users as markup", () => {
  const svg = toSvg(graph, status);
  expect(svg.match(/<g data-node=/g)).toHaveLength(graph.nodes.length);
  expect(svg.match(/marker-end=/g)).toHaveLength(graph.edges.length);
  expect(svg).toContain("<title>A &lt;graph&gt; &amp; &quot;more&quot;</title>");
  expect(svg).not.toContain("<script");
  expect(svg).toContain("work (javascript), running");
});

const inside = (svg: string): boolean => {
  const [, width = 0, height = 0] = (/viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg) ?? []).map(Number);
  return [...svg.matchAll(/<rect x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)"/g)].every(
    ([, x, y, w, h]) =>
      Number(x) >= 0 && Number(y) >= 0 && Number(x) + Number(w) <= width && Number(y) + Number(h) <= height,
  );
};

test("all shapes are drawn, in both directions, with nothing outside of the picture", () => {
  for (const shape of shapes) {
    for (const direction of ["down", "right"] as const)
      expect(inside(toSvg(shape.graph, undefined, { direction }))).toBe(true);
  }
});

test("whatever users call their nodes, the picture is well-formed", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (title) => {
      const svg = toSvg({ ...graph, title, nodes: graph.nodes.map((node) => ({ ...node, title })) });
      const texts = svg.replaceAll(/<[^<>]*>/g, "").replaceAll(/&(amp|lt|gt|quot|#39);/g, "");
      expect(texts).not.toMatch(/[<>&]/);
    }),
    { numRuns: runs(200) },
  );
});

test("a drawing has what the picture shows: each node with its label, each edge from one to the other", () => {
  const { nodes, edges, width, height } = drawGraph(graph, { direction: "right" });
  expect(nodes.map(({ id, label, figure }) => [id, label, figure])).toEqual([
    ["start", "start", "round"],
    ["size", "How large?", "choice"],
    ["each", "each", "loop"],
    ["work", '"];x[("<script>', "box"],
    ["end", "end", "round"],
  ]);
  expect(edges.map(({ from, label, to, labelAt }) => [from, label, to, labelAt !== null])).toEqual([
    ["start", "", "size", false],
    ["size", "big", "each", true],
    ["each", "loop", "work", true],
    ["work", "", "each", false],
    ["each", "done", "end", true],
    ["size", "else", "end", true],
  ]);
  for (const { x, y } of [...nodes, ...edges.flatMap(({ points }) => points)]) {
    expect(x >= 0 && x <= width && y >= 0 && y <= height).toBe(true);
  }
});
