import { expect, test } from "vitest";
import { readSnapshot } from "../../src/definition/snapshot.ts";
import { GRAPH_LIMITS, type Graph, validateGraph } from "../../src/definition.ts";

const linear: Graph = {
  id: "g",
  title: "A graph",
  nodes: [
    { id: "start", type: "start" },
    { id: "wait", type: "delay", config: { duration: "1s" } },
    { id: "end", type: "end" },
  ],
  edges: [
    { from: "start", to: "wait" },
    { from: "wait", to: "end" },
  ],
};
const codes = (graph: unknown): string[] => validateGraph(graph).map(({ code }) => code);
const changed = (change: Partial<Record<keyof Graph, unknown>>): unknown => ({ ...linear, ...change });
const plus = (node: object, ...edges: object[]): unknown =>
  changed({ nodes: [...linear.nodes, node], edges: [...linear.edges, ...edges] });

test.each([
  ["A\0B", "`title` has a NUL character (U+0000), which cannot be stored."],
  ["A\ud800", "`title` has one half of a surrogate pair, which is no character."],
  ["x".repeat(201), "`title` has 201 characters."],
  [7, "`title` is a text, not 7."],
  [null, "`title` is a text, not null."],
  [undefined, "`title` is missing."],
])("a graph with the title %j has a problem that says what is wrong", (title, message) => {
  const found = validateGraph({ ...linear, title });
  expect(found.map((each) => [each.code, each.path, each.message])).toEqual([["SHAPE_INVALID", "title", message]]);
});

test("a title of pairs of surrogates is one, and a graph that was stored with another still runs", () => {
  expect(validateGraph({ ...linear, title: "🎁 A gift" })).toEqual([]);
  const snapshot = { graph: { ...linear, title: "A\ud800" }, graphId: "linear", version: 1 };
  expect(readSnapshot(snapshot, {}).graph.title).toBe("A\ud800");
});

test("a linear graph has no problems", () => {
  expect(validateGraph(linear)).toEqual([]);
});

test.each<[code: string, what: string, graph: unknown]>([
  ["SHAPE_INVALID", "no object", null],
  ["SHAPE_INVALID", "nodes that are no list", changed({ nodes: {} })],
  ["SHAPE_INVALID", "a node that is null", plus(null as unknown as object)],
  ["SHAPE_INVALID", "an edge without an end", changed({ edges: [{ from: "start" }] })],
  ["FIELD_UNKNOWN", "a field that there is not", changed({ ["nods" as keyof Graph]: [] })],
  ["ID_INVALID", "an id with a space", plus({ id: "a b", type: "end" })],
  ["NODE_DUPLICATE", "two nodes of one id", plus({ id: "wait", type: "end" })],
  ["TYPE_UNKNOWN", "a type that there is not", plus({ id: "x", type: "teleport" }, { from: "start", to: "x" })],
  ["NO_START", "no start", changed({ nodes: linear.nodes.slice(1), edges: linear.edges.slice(1) })],
  ["START_DUPLICATE", "two starts", plus({ id: "begin", type: "start" })],
  [
    "EDGE_DANGLING",
    "an edge to nowhere",
    plus({ id: "x", type: "end" }, { from: "start", to: "x" }, { from: "x", to: "y" }),
  ],
  ["EDGE_DUPLICATE", "an edge twice", changed({ edges: [...linear.edges, ...linear.edges] })],
  ["EDGE_INTO_START", "an edge into start", changed({ edges: [...linear.edges, { from: "wait", to: "start" }] })],
  ["HANDLE_UNKNOWN", "an edge after the end", plus({ id: "x", type: "end" }, { from: "end", to: "x" })],
  [
    "HANDLE_UNKNOWN",
    "a handle that there is not",
    plus({ id: "x", type: "end" }, { from: "wait", handle: "no", to: "x" }),
  ],
  [
    "HANDLE_MISSING",
    "a condition's edge without a handle",
    plus(
      { id: "if", type: "condition", config: { branches: [] } },
      { from: "start", to: "if" },
      { from: "if", to: "end" },
    ),
  ],
  ["NOTHING_REACHABLE", "a start without edges", changed({ edges: [] })],
  ["NODE_UNREACHABLE", "a node on its own", plus({ id: "x", type: "end" })],
  ["OUTPUT_NAME_INVALID", "a reserved name", plus({ id: "input", type: "end" }, { from: "start", to: "input" })],
  [
    "OUTPUT_NAME_TAKEN",
    "two outputs of one name",
    plus({ id: "x", type: "end", outputVariable: "wait" }, { from: "start", to: "x" }),
  ],
  [
    "JOIN_INVALID",
    "a join that there is not",
    plus({ id: "x", type: "end", joinMode: "most" }, { from: "start", to: "x" }),
  ],
  [
    "ON_ERROR_INVALID",
    "an onError that there is not",
    plus({ id: "x", type: "end", onError: "no" }, { from: "start", to: "x" }),
  ],
  ["RETRIES_INVALID", "retries of a delay", plus({ id: "x", type: "end", retries: 3 }, { from: "start", to: "x" })],
])("%s is reported for %s", (code, _what, graph) => {
  expect(codes(graph)).toContain(code);
});

test("all problems are reported at once, each with how to fix it", () => {
  const problems = validateGraph({
    ...linear,
    nodes: [...linear.nodes, { id: "x", type: "teleport" }, { id: "y", type: "end" }],
    edges: [...linear.edges, { from: "x", to: "nowhere" }],
  });
  expect(problems.map(({ code }) => code).sort()).toEqual([
    "EDGE_DANGLING",
    "NODE_UNREACHABLE",
    "NODE_UNREACHABLE",
    "TYPE_UNKNOWN",
  ]);
  for (const { message, fix } of problems) {
    expect(message).toMatch(/\.$/);
    expect(fix).toMatch(/\.$/);
  }
});

const node = (id: string, type = "delay"): object => ({ id, type, config: { duration: 1 } });

test("a circle is reported with its nodes, not with those behind it", () => {
  const problems = validateGraph({
    ...linear,
    nodes: [...linear.nodes, node("a"), node("b"), node("c")],
    edges: [
      ...linear.edges,
      ...[
        ["start", "a"],
        ["a", "b"],
        ["b", "a"],
        ["b", "c"],
      ].map(([from, to]) => ({ from, to })),
    ],
  });
  expect(problems.map(({ code, message }) => [code, message])).toEqual([["CYCLE", 'Edges form a circle: "a", "b".']]);
});

const loop = (edges: object[], more: object[] = []): unknown =>
  changed({
    nodes: [
      ...linear.nodes,
      { id: "each", type: "loop", config: { items: "{{ctx.input}}" } },
      ...["a", "b"].map((id) => node(id)),
      ...more,
    ],
    edges: [...linear.edges, { from: "start", to: "each" }, ...edges],
  });
const body = [
  { from: "each", handle: "loop", to: "a" },
  { from: "a", to: "b" },
];

test("the body of a loop may lead back to it, and need not", () => {
  expect(codes(loop(body))).toEqual([]);
  expect(codes(loop([...body, { from: "b", to: "each" }]))).toEqual([]);
  expect(codes(loop([...body, { from: "a", to: "each" }, { from: "b", to: "each" }]))).toEqual([]);
});

test("edges into or out of the body of a loop are reported", () => {
  expect(codes(loop([...body, { from: "start", to: "b" }]))).toContain("LOOP_CROSSED");
  expect(codes(loop([...body, { from: "b", to: "end" }]))).toContain("LOOP_CROSSED");
  const nested = { id: "inner", type: "loop", config: { items: [1] } };
  const within = [...body, { from: "a", to: "inner" }, { from: "inner", handle: "loop", to: "c" }];
  expect(codes(loop([...within, { from: "c", to: "inner" }], [nested, node("c")]))).toEqual([]);
  expect(codes(loop([...within, { from: "c", to: "each" }], [nested, node("c")]))).toContain("LOOP_CROSSED");
});

test("a loop needs a body, and loops nest only so deep", () => {
  expect(
    codes(
      loop([
        { from: "each", handle: "done", to: "a" },
        { from: "a", to: "b" },
      ]),
    ),
  ).toEqual(["HANDLE_UNCONNECTED"]);
  const loops = Array.from({ length: GRAPH_LIMITS.maxLoopDepth + 1 }, (_, at) => `l${at}`);
  const graph = changed({
    nodes: [...linear.nodes, ...loops.map((id) => ({ id, type: "loop", config: { items: [] } })), node("last")],
    edges: [
      ...linear.edges,
      { from: "start", to: "l0" },
      ...loops.map((id, at) => ({ from: id, handle: "loop", to: loops[at + 1] ?? "last" })),
    ],
  });
  expect(codes(graph)).toEqual(["LOOP_TOO_DEEP"]);
});

test.each([
  [Number.NaN, "the number NaN, which JSON does not have"],
  [Number.NEGATIVE_INFINITY, "the number -Infinity, which JSON does not have"],
  [1n, "a value of type bigint"],
])("a graph with %s in it has a problem that names it", (duration, what) => {
  const [problem] = validateGraph(plus({ id: "x", type: "delay", config: { duration } }));
  expect(problem).toMatchObject({ code: "SHAPE_INVALID", path: "nodes[3].config.duration" });
  expect(problem?.message).toBe(`At \`nodes[3].config.duration\` the graph has ${what}.`);
});

test("sizes have limits", () => {
  const nodes = Array.from({ length: GRAPH_LIMITS.maxNodes + 1 }, (_, at) => node(`n${at}`));
  expect(codes(changed({ nodes }))).toEqual(["TOO_LARGE"]);
  const big = { id: "big", type: "end", config: { outputParameters: { a: "x".repeat(GRAPH_LIMITS.maxConfigChars) } } };
  expect(codes(plus(big, { from: "start", to: "big" }))).toContain("TOO_LARGE");
  let deep: unknown = 1;
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
  expect(codes(plus({ id: "deep", type: "end", config: { deep } }))).toEqual(["TOO_LARGE"]);
  expect(codes(changed({ title: "x".repeat(GRAPH_LIMITS.maxGraphChars) }))).toEqual(["TOO_LARGE"]);
});

test("names of prototypes are nothing special, and are not looked up", () => {
  for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    expect(codes(plus({ id: "x", type: name }, { from: "start", to: "x" }))).toContain("TYPE_UNKNOWN");
    const dangling = changed({ edges: [...linear.edges, { from: name, to: "end" }] });
    expect(codes(dangling)).toEqual(["EDGE_DANGLING"]);
  }
  const text = JSON.stringify(linear).replace('"title"', '"__proto__":{"nodes":[]},"title"');
  expect(codes(JSON.parse(text))).toEqual(["FIELD_UNKNOWN"]);
});
