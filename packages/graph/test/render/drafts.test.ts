import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import type { Graph } from "../../src/definition.ts";
import { fromReactFlow, toReactFlow } from "../../src/react-flow.ts";
import { drawGraph, toMermaid, toSvg } from "../../src/render.ts";

/** What the gateway stores of a graph that is not finished. */
const draftOf = (nodes: readonly object[], edges: readonly object[]): Graph =>
  ({ id: "g", title: "G", nodes, edges }) as Graph;

const draft = draftOf(
  [{ id: "start", type: "start" }, {}, { type: "work" }, { id: "typeless" }, { title: "A title" }],
  [{ from: "start", to: "typeless" }, {}, { from: "start" }, { to: "start" }, { from: "start", to: "gone" }],
);

test("nodes of a draft that lack parts are drawn by what they have, edges that lack an end are left out", () => {
  const { nodes, edges } = drawGraph(draft);
  expect(nodes.map(({ id, type, label }) => [id, type, label])).toEqual([
    ["start", "start", "start"],
    ["", "", "?"],
    ["", "work", "work"],
    ["typeless", "", "typeless"],
    ["", "", "A title"],
  ]);
  expect(edges.map(({ from, to }) => [from, to])).toEqual([["start", "typeless"]]);
});

test("a draft whose nodes lack parts is a flowchart in Mermaid", () => {
  expect(toMermaid(draft, { nodes: [] }).split("\n")).toEqual([
    "flowchart TD",
    '  n0(["start"])',
    '  n1["#63;"]',
    '  n2["work"]',
    '  n3["typeless"]',
    '  n4["A title"]',
    "  n0 --> n3",
    "",
  ]);
});

test("a draft whose nodes lack parts is a picture, in which each has a title", () => {
  const titles = [...toSvg(draft).matchAll(/<g data-node="([^"]*)"><title>([^<]*)<\/title>/g)];
  expect(titles.map(([, id, title]) => [id, title])).toEqual([
    ["start", "start (start)"],
    ["", "no id, no type"],
    ["", "no id (work)"],
    ["typeless", "typeless, no type"],
    ["", "no id, no type"],
  ]);
});

const part = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const id = fc.constantFrom("", "a", "b", "__proto__");
const node = fc.record({
  id: part(id),
  type: part(fc.constantFrom("start", "condition", "loop", "own")),
  title: part(fc.string()),
  config: part(fc.dictionary(fc.constantFrom("branches", "items"), fc.jsonValue())),
});
const edge = fc.record({ from: part(id), handle: part(fc.constantFrom("out", "error", "")), to: part(id) });

test("every draft that the gateway stores can be drawn", () => {
  fc.assert(
    fc.property(fc.array(node, { maxLength: 6 }), fc.array(edge, { maxLength: 6 }), (nodes, edges) => {
      // As JSON has it: without what is undefined.
      const stored = JSON.parse(JSON.stringify(draftOf(nodes, edges))) as Graph;
      expect(drawGraph(stored).nodes).toHaveLength(nodes.length);
      expect(toSvg(stored).match(/<g data-node=/g) ?? []).toHaveLength(nodes.length);
      expect(toMermaid(stored)).toMatch(/^flowchart TD\n/);
      fromReactFlow(toReactFlow(stored), stored);
    }),
    { numRuns: runs(300) },
  );
});
