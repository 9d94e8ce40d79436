import { expect, test } from "vitest";
import type { Graph, NodeState } from "../src/data/graphs.ts";
import { endedText, progressOf, statusIn } from "../src/data/node-progress.ts";

const graph = (items: unknown): Graph =>
  ({
    id: "mail",
    title: "",
    nodes: [
      { id: "start", type: "start" },
      { id: "each", type: "loop", config: { items } },
      { id: "mail", type: "send" },
      { id: "inner", type: "loop", config: { items: [1, 2] } },
      { id: "copy", type: "send" },
      { id: "end", type: "end" },
    ],
    edges: [
      { from: "start", to: "each" },
      { from: "each", handle: "loop", to: "mail" },
      { from: "mail", to: "inner" },
      { from: "inner", handle: "loop", to: "copy" },
      { from: "copy", to: "inner" },
      { from: "inner", handle: "done", to: "each" },
      { from: "each", handle: "done", to: "end" },
    ],
  }) as unknown as Graph;

const node = (id: string, status: NodeState["status"], iteration: number[] = [], more: Partial<NodeState> = {}) =>
  ({
    ...{ id, key: iteration.length === 0 ? id : `${id}[${iteration.join("][")}]`, path: [], iteration, status },
    ...{ type: ["each", "inner"].includes(id) ? "loop" : "send", stepId: null, startedMs: null, ...more },
  }) as unknown as NodeState;

test("a loop has the iterations that have ended, of those there are to be", () => {
  const nodes = [
    node("each", "running"),
    ...[node("mail", "done", [0]), node("inner", "done", [0]), node("copy", "done", [0, 0])],
    ...[node("mail", "done", [1]), node("inner", "running", [1])],
    ...[node("copy", "done", [1, 0]), node("copy", "running", [1, 1])],
  ];
  const { loops, around } = progressOf(graph("{{ctx.input.items}}"), nodes, { items: [1, 2, 3] });
  expect(loops.get("each")).toEqual({ ended: 1, begun: 2, total: 3 });
  expect(loops.get("inner[1]")).toEqual({ ended: 1, begun: 2, total: 2 });
  expect([around.get("mail"), around.get("copy"), around.get("end")]).toEqual([["each"], ["each", "inner"], undefined]);
  expect(progressOf(graph("{{ upper(ctx.a) }}"), nodes, {}).loops.get("each")?.total).toBeNull();
  const given = progressOf(graph("{{ctx.list}}"), [...nodes, node("list", "done", [], { output: [1] })], null);
  expect(given.loops.get("each")?.total).toBe(1);
});

test("what had begun when the run ended was reached, and not finished", () => {
  const nodes = [
    node("each", "dead"),
    node("mail", "done", [0]),
    node("mail", "dead", [1], { stepId: "a step" }),
    node("inner", "dead", [0]),
    node("end", "dead"),
    node("sub", "dead", [], { type: "subgraph" }),
    node("start", "done", [], { key: "sub/start", path: ["sub"] }),
    node("other", "dead", [], { type: "subgraph" }),
  ];
  const progress = progressOf(graph([1]), nodes, null);
  const shown = nodes.map((one) => [one.key, statusIn(progress, one)]);
  expect(shown.filter(([, status]) => status === "unfinished").map(([key]) => key)).toEqual(["each", "mail[1]", "sub"]);
});

test("how far a loop is, is said in words", () => {
  const count = (value: number): string => value.toLocaleString("en");
  expect(endedText({ ended: 1_038, begun: 1_038, total: 1_500 }, count)).toBe("1,038 of 1,500 iterations");
  expect(endedText({ ended: 2, begun: 3, total: null }, count)).toBe("2 of 3 iterations that have begun");
});
