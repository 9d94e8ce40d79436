import { expect, test } from "vitest";
import type { Graph } from "../../src/definition.ts";
import { graphOf, runGraph } from "./run-graph.ts";

/** As it comes over HTTP, where `__proto__` is a name like any other. */
const parsed = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;
const ending = (id: string, outputParameters: Record<string, unknown>) => ({
  ...{ id, type: "end" },
  config: { outputParameters },
});

test("an output of a run is kept whatever it is called", async () => {
  const end = ending("end", parsed('{"__proto__":{"a":"{{ctx.input.n}}"},"constructor":2,"toString":3}'));
  const { output } = await runGraph(graphOf([end], "start -> end"), { input: { n: 1 } });
  expect(JSON.stringify(output)).toBe('{"__proto__":{"a":1},"constructor":2,"toString":3}');
  expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
});

test("outputs of several ends are put together in the order of the nodes, a later one over an earlier one", async () => {
  const ends = [ending("one", parsed('{"a":1,"__proto__":1}')), ending("two", parsed('{"a":2,"__proto__":[2]}'))];
  const inner: Graph = graphOf(ends, "start -> one; start -> two", { id: "inner" });
  const sub = { id: "sub", type: "subgraph", config: { graph: "inner", version: 1 } };
  const end = ending("end", { all: "{{ctx.sub}}" });
  const run = await runGraph(graphOf([sub, end], "start -> sub -> end"), { graphs: { "inner@1": inner } });
  expect(JSON.stringify(run.output)).toBe('{"all":{"a":2,"__proto__":[2]}}');
});
