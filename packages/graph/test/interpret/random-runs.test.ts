import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { type Graph, validateGraph } from "../../src/definition.ts";
import { GraphRun } from "../../src/interpret/graph-run.ts";
import type { NodeCall, RunAction } from "../../src/interpret/run-types.ts";
import { itemsOf, randomGraphs } from "./random-graphs.ts";
import { expectedOf, type Fate, fateOf, hashOf } from "./reference.ts";

const info = { id: "run", graphId: "random", version: 1, test: false };
const namesOfNodes = (ctx: object, graph: Graph): Set<string> =>
  new Set(graph.nodes.flatMap(({ id }) => (Object.hasOwn(ctx, id) ? [id] : [])));

interface Played {
  readonly calls: ReadonlyMap<string, ReadonlySet<string>>;
  readonly end: RunAction | undefined;
  readonly run: GraphRun;
}

/** Runs it; which call ends next is drawn by `order`. */
function play(graph: Graph, fate: Fate, order: (open: number) => number): Played {
  const run = new GraphRun({ graph, graphs: {}, input: null, run: info, checkInput: () => {} });
  const calls = new Map<string, ReadonlySet<string>>();
  const open: NodeCall[] = [];
  let end: RunAction | undefined;
  const note = (actions: readonly RunAction[]): void => {
    for (const action of actions) {
      if (action.type !== "CALL") {
        expect(end).toBeUndefined();
        end = action;
        continue;
      }
      expect(calls.has(action.call.key), `${action.call.key} runs twice`).toBe(false);
      calls.set(action.call.key, namesOfNodes(action.call.ctx(), graph));
      open.push(action.call);
    }
  };
  note(run.begin());
  while (open.length > 0 && end === undefined) {
    const [call] = open.splice(order(open.length), 1) as [NodeCall];
    const handle = fate(call.key, call.node.id);
    if (handle === "error") note(run.fail(call.key, { name: "E", message: "e", nodeId: call.node.id }, null));
    else note(run.complete(call.key, call.node.type === "condition" ? { branch: handle } : call.key));
  }
  return { calls, end, run };
}

test("RUN-1 RUN-2 RUN-3 RUN-4 RUN-5: random graphs run as the reference says, in whatever order their nodes end", () => {
  fc.assert(
    fc.property(randomGraphs(40), fc.nat(), ({ graph, seed }, order) => {
      expect(validateGraph(graph, { nodeTypes: [{ type: "work" }] })).toEqual([]);
      const fate = fateOf(graph, seed);
      const expected = expectedOf(graph, itemsOf, fate);
      const { calls, end, run } = play(graph, fate, (open) => hashOf(`${order} ${open}`) % open);
      expect([...calls.keys()].sort()).toEqual([...expected.ran].sort());
      for (const [key, seen] of calls) {
        const allowed = (expected.sees.get(key) ?? []).map((set) => [...set].sort().join());
        // So many joins of the kind `any` that the reference does not list them all.
        if (allowed.length < 64) expect(allowed).toContain([...seen].sort().join());
      }
      expect(end?.type).toBe("ENDED");
      const output = Object.keys((end?.type === "ENDED" && end.output) || {});
      const ends = [...expected.ends].filter((key) => !key.includes("["));
      expect(output.sort()).toEqual(ends.sort());
      for (const { state } of run.records.values()) expect(["done", "failed", "skipped"]).toContain(state);
    }),
    { numRuns: runs(5_000) },
  );
});

test("RUN-4: joins of the kind `all` see the same in whatever order their nodes end", () => {
  fc.assert(
    fc.property(randomGraphs(30), fc.nat(), fc.nat(), ({ graph, seed }, one, other) => {
      const nodes = graph.nodes.map((node) => ({ ...node, joinMode: "all" as const }));
      const all = { ...graph, nodes };
      const played = [one, other].map(
        (order) => play(all, fateOf(all, seed), (open) => hashOf(`${order} ${open}`) % open).calls,
      );
      const sorted = played.map((calls) => [...calls].map(([key, seen]) => `${key}: ${[...seen].sort()}`).sort());
      expect(sorted[0]).toEqual(sorted[1]);
    }),
    { numRuns: runs(2_000) },
  );
});

const first = (): number => 0;
const work = (id: string, more: object = {}) => ({ id, type: "work", ...more });
const start = { id: "start", type: "start" };
const graphOf = (nodes: Graph["nodes"], edges: Graph["edges"]): Graph => ({ id: "g", title: "", nodes, edges });
const edge = (from: string, to: string, handle?: string) => ({ from, to, ...(handle === undefined ? {} : { handle }) });

test("RUN-2: a node whose parents are all dead is skipped, and so is what follows it", () => {
  const graph = graphOf(
    [start, { id: "if", type: "condition", config: {} }, ...["a", "b", "join", "after"].map((id) => work(id))],
    [
      edge("start", "if"),
      edge("if", "a", "yes"),
      edge("a", "join"),
      edge("if", "b", "yes"),
      edge("b", "join"),
      edge("join", "after"),
    ],
  );
  const { calls, end, run } = play(graph, () => "else", first);
  expect([...calls.keys()]).toEqual(["if"]);
  expect(end).toEqual({ type: "ENDED", output: null });
  expect([...run.records.values()].filter(({ state }) => state === "skipped").map(({ key }) => key)).toEqual([
    ...["a", "b", "join", "after"],
  ]);
});

test("RUN-3: an `any` join runs once, also when several of its parents end in one batch", () => {
  const parents = ["a", "b", "c"];
  const graph = graphOf(
    [start, ...parents.map((id) => work(id)), work("join", { joinMode: "any" })],
    parents.flatMap((id) => [edge("start", id), edge(id, "join")]),
  );
  const run = new GraphRun({ graph, graphs: {}, input: null, run: info, checkInput: () => {} });
  run.begin();
  const calls = ["b", "a", "c"].flatMap((key) => run.complete(key, key));
  expect(calls.map((action) => action.type === "CALL" && [action.call.key, Object.keys(action.call.ctx())])).toEqual(
    [["join", ["input", "run", "b", "start"].sort()]].map(([key, names]) => [
      key,
      expect.arrayContaining(names as string[]),
    ]),
  );
});

test("RUN-6: an error that nothing takes ends the run at once; what ends later changes nothing", () => {
  const graph = graphOf(
    [start, work("a"), work("b"), work("c")],
    [edge("start", "a"), edge("start", "b"), edge("b", "c")],
  );
  const run = new GraphRun({ graph, graphs: {}, input: null, run: info, checkInput: () => {} });
  run.begin();
  const error = { name: "E", message: "e", nodeId: "a" };
  expect(run.fail("a", error, error)).toEqual([{ type: "FAILED", error, thrown: error }]);
  expect(run.complete("b", 1)).toEqual([]);
});

test("RUN-6: what was to begin in the same breath as an error does not", () => {
  const end = { id: "end", type: "end", config: { outputParameters: { a: "{{ctx.input.a}}" } } };
  const graph = graphOf([start, work("a"), end], [edge("start", "a"), edge("start", "end")]);
  const run = new GraphRun({ graph, graphs: {}, input: null, run: info, checkInput: () => {} });
  expect(run.begin().map(({ type }) => type)).toEqual(["FAILED"]);
});

test("RUN-6: when an iteration fails, iterations within others are given up with it", () => {
  const loop = (id: string) => ({
    id,
    type: "loop",
    config: { items: [1, 2], concurrency: 2, item: id, index: `i${id}` },
  });
  const graph = graphOf(
    [start, loop("outer"), loop("inner"), work("a"), work("b"), work("after")],
    [
      ...[edge("start", "outer"), edge("outer", "inner", "loop"), edge("inner", "a", "loop"), edge("a", "b")],
      edge("outer", "after", "error"),
    ],
  );
  const run = new GraphRun({ graph, graphs: {}, input: null, run: info, checkInput: () => {} });
  expect(run.begin()).toHaveLength(4);
  const error = { name: "E", message: "e", nodeId: "a" };
  const after = run.fail("a[0][1]", error, error);
  expect(after.map((action) => action.type === "CALL" && action.call.key)).toEqual(["after"]);
  for (const key of ["a[0][0]", "a[1][0]", "a[1][1]"]) expect(run.complete(key, 1)).toEqual([]);
  expect(run.complete("after", 1)).toEqual([{ type: "ENDED", output: null }]);
});

test("graphs of 1,000 nodes run: a chain, a fan-out, and layers in which each node has several parents", () => {
  const ids = Array.from({ length: 998 }, (_, index) => `n${index}`);
  const shapes: Graph["edges"][] = [
    ["start", ...ids, "end"].slice(1).map((to, index) => edge(["start", ...ids][index] as string, to)),
    ids.flatMap((id) => [edge("start", id), edge(id, "end")]),
    ids.flatMap((id, index) => [
      edge(index < 10 ? "start" : `n${index - 10}`, id),
      ...(index < 19 ? [] : [edge(`n${index - 19}`, id)]),
      ...(index >= 988 ? [edge(id, "end")] : []),
    ]),
  ];
  for (const edges of shapes) {
    const graph = graphOf([start, ...ids.map((id) => work(id)), { id: "end", type: "end" }], edges);
    expect(validateGraph(graph, { nodeTypes: [{ type: "work" }] })).toEqual([]);
    const { calls, end } = play(graph, () => "out", first);
    expect(calls.size).toBe(998);
    expect(end?.type).toBe("ENDED");
  }
});

test("a loop over as many items as there may be ends, also where its body ends at once", () => {
  const items = Array.from({ length: 10_000 }, (_, index) => index);
  const graph = graphOf(
    [
      start,
      { id: "each", type: "loop", config: { items, collect: "{{ctx.item}}" } },
      { id: "body", type: "end" },
      { id: "end", type: "end", config: { outputParameters: { all: "{{ctx.each}}" } } },
    ],
    [edge("start", "each"), edge("each", "body", "loop"), edge("each", "end", "done")],
  );
  const { end } = play(graph, () => "out", first);
  expect(end).toEqual({ type: "ENDED", output: { all: items } });
});

/** A loop over `count` items in each level, its body without a step. */
const loops = (levels: number, count: number, config: object = {}): Graph => {
  const items = Array.from({ length: count }, (_, index) => index);
  const ids = Array.from({ length: levels }, (_, level) => `l${level}`);
  const loop = (id: string) => ({ id, type: "loop", config: { items, item: id, index: `i${id}`, ...config } });
  const body = { id: "body", type: "end", config: { outputParameters: { text: "{{ctx.input}}!" } } };
  return graphOf(
    [start, ...ids.map(loop), body],
    [edge("start", "l0"), ...ids.map((id, at) => edge(id, ids[at + 1] ?? "body", "loop"))],
  );
};
const endOf = (graph: Graph, input: unknown) =>
  new GraphRun({ graph, graphs: {}, input, run: info, checkInput: () => {} }).begin();

test("loops within loops that are no steps end with an error when they come to too many nodes", () => {
  expect(endOf(loops(2, 100), "a")).toEqual([{ type: "ENDED", output: null }]);
  for (const concurrency of [1, 100]) {
    expect(endOf(loops(5, 10_000, { concurrency }), "a")).toEqual([
      expect.objectContaining({ type: "FAILED", thrown: expect.objectContaining({ code: "GRAPH_VALUE_TOO_LARGE" }) }),
    ]);
  }
});

test("what a run keeps of its templates has a limit, in ends and in what loops collect", () => {
  const big = "x".repeat(1_000_000);
  const tooLarge = [
    expect.objectContaining({ type: "FAILED", thrown: expect.objectContaining({ code: "GRAPH_VALUE_TOO_LARGE" }) }),
  ];
  expect(endOf(loops(1, 10), big)).toEqual([{ type: "ENDED", output: null }]);
  expect(endOf(loops(1, 1_000), big)).toEqual(tooLarge);
  const collecting = loops(1, 1_000, { collect: ["{{ctx.input}}"] });
  const nodes = collecting.nodes.map((node) => (node.id === "body" ? { id: "body", type: "end" } : node));
  expect(endOf({ ...collecting, nodes }, big)).toEqual(tooLarge);
});
