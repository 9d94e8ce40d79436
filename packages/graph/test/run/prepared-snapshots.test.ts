import { expect, test } from "vitest";
import type { GraphSnapshot } from "../../src/definition.ts";
import { PreparedSnapshots } from "../../src/run/prepared-snapshots.ts";
import { graphOf } from "./run-graph.ts";

const types = { nodeTypes: [{ type: "work" }] };
const graph = graphOf([{ id: "a", type: "work" }], "start -> a");
const eventOf = (more: Partial<GraphSnapshot> = {}): GraphSnapshot =>
  JSON.parse(JSON.stringify({ graph, graphs: {}, graphId: "g", version: 1, input: { n: 1 }, ...more }));

test("runs of one snapshot share its graph and plans; what is the run's own is its own", () => {
  const prepared = new PreparedSnapshots();
  const one = prepared.read(eventOf(), types);
  const two = prepared.read(eventOf({ graphId: "other", version: 2, input: { n: 2 }, test: true }), types);
  expect(two.graph).toBe(one.graph);
  expect(two.plans).toBe(one.plans);
  expect(two).toMatchObject({ graphId: "other", version: 2, input: { n: 2 }, test: true });
  expect(one).toMatchObject({ graphId: "g", version: 1, input: { n: 1 }, test: false });
});

test("a graph that differs at all is checked by itself, and one that is wrong each time", () => {
  const prepared = new PreparedSnapshots();
  const one = prepared.read(eventOf(), types);
  expect(prepared.read(eventOf({ graph: { ...graph, title: "B" } }), types).graph).not.toBe(one.graph);
  const wrong = { ...graph, edges: [{ from: "start", to: "b" }] };
  for (let time = 0; time < 2; time += 1) {
    expect(() => prepared.read(eventOf({ graph: wrong }), types)).toThrow(/EDGE_DANGLING/);
    expect(() => prepared.read(eventOf({ version: "1" as never }), types)).toThrow(/names graph and version/);
  }
});

test.each([
  ["what is no object", 7],
  ["what refers to itself", Object.assign({ graphId: "g" }, { graph: {} as { self?: unknown } })],
])("%s is refused as any graph that cannot be read", (_, data) => {
  if (typeof data === "object") data.graph.self = data.graph;
  expect(() => new PreparedSnapshots().read(data, types)).toThrow(expect.objectContaining({ code: "GRAPH_INVALID" }));
});

test("what is kept has a limit: of many graphs the first are checked anew", () => {
  const prepared = new PreparedSnapshots();
  const titled = (title: number) => prepared.read(eventOf({ graph: { ...graph, title: `${title}` } }), types).graph;
  const first = titled(0);
  for (let title = 1; title <= 100; title += 1) titled(title);
  expect(titled(0)).not.toBe(first);
  expect(titled(100)).toBe(titled(100));
});
