import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { statusOfGraph } from "../../src/index.ts";
import { graphOf, runGraph } from "./run-graph.ts";

/** So many rows, of six values each. */
const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id, a: 1, b: 2, c: 3, d: 4 }));

/** Code that sees the input. What comes after its failure does not: it is in a subgraph, which sees its input alone. */
const graph = graphOf(
  [
    { id: "count", type: "javascript", config: { code: "return ctx.input.rows.length" } },
    { id: "sub", type: "subgraph", config: { graph: "inner", version: 1, input: "{{ctx.count}}" } },
    {
      id: "end",
      type: "end",
      config: { outputParameters: { count: "{{ctx.count}}", said: "{{ctx.sub.said ?? 'nothing'}}" } },
    },
  ],
  "start -> count -> end; count.error -> sub -> end",
);
const inner = graphOf(
  [
    { id: "say", type: "javascript", config: { code: "return ctx.input.nodeId + ': ' + ctx.input.code" } },
    { id: "end", type: "end", config: { outputParameters: { said: "{{ctx.say}}" } } },
  ],
  "start -> say -> end",
  { id: "inner" },
);
const graphs = { "inner@1": inner };

test("code sees tens of thousands of values, and nothing of them is reported with its step", async () => {
  const run = await runGraph(graph, { graphs, input: { rows: rows(20_000) }, replay: true });
  expect(run.error).toBeUndefined();
  expect(run.output).toEqual({ count: 20_000, said: "nothing" });
  expect(run.steps[0]?.options).toEqual({ input: [null] });
});

test("code sees the same when it is tried again", async () => {
  const fails = { id: "js", type: "javascript", config: { code: "throw new Error('saw ' + ctx.input)" }, retries: 2 };
  const { error, steps } = await runGraph(graphOf([fails], "start -> js"), { input: 7 });
  expect(steps[0]?.attempts).toBe(3);
  expect(String(error)).toContain("saw 7");
});

test("an input counts once, though `start` gives it as well, and code sees both", async () => {
  const code = "return ctx.start === ctx.input && Object.isFrozen(ctx.input) ? ctx.start.text.length : 'no'";
  const sized = graphOf(
    [
      { id: "js", type: "javascript", config: { code } },
      { id: "end", type: "end", config: { outputParameters: { length: "{{ctx.js}}" } } },
    ],
    "start -> js -> end",
  );
  const run = await runGraph(sized, { input: { text: "x".repeat(3 * 1024 * 1024) } });
  expect(run.output).toEqual({ length: 3 * 1024 * 1024 });
});

test("a `ctx` that is too large for code fails its node, which may go on at its error handle", async () => {
  const input = { rows: ["x".repeat(4 * 1024 * 1024)] };
  const run = await runGraph(graph, { graphs, input, retries: 2 });
  expect(run.output).toMatchObject({ said: "count: GRAPH_VALUE_TOO_LARGE" });
  expect(run.steps.map(({ id }) => id)).toEqual(["sub/say"]);
  const alone = graphOf([graph.nodes[1] as never], "start -> count");
  const { error } = await runGraph(alone, { input });
  expect(String(error)).toContain("`ctx` has more than 4194304 characters of JSON");
  expect(String(error)).toContain('node "count"');
  const record = { runId: "r", createdMs: 0, endedMs: 1, output: null, error: null, steps: [], status: "FAILED" };
  const digest = (key: string) => createHash("sha1").update(key).digest("hex");
  const { nodes } = statusOfGraph({ ...record, digest, snapshot: { graph: alone, graphId: "g", version: 1, input } });
  expect(nodes.find(({ id }) => id === "count")).toMatchObject({
    status: "failed",
    error: { code: "GRAPH_VALUE_TOO_LARGE", nodeId: "count" },
  });
});
