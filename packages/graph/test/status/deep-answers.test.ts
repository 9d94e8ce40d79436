import { expect, test } from "vitest";
import { type RunRecord, statusOfGraph } from "../../src/definition.ts";
import { graphOf } from "../run/run-graph.ts";

const answered = (body: string): RunRecord => ({
  runId: "run",
  snapshot: {
    graph: graphOf(
      [
        { id: "ask", type: "http", config: { url: "https://shop.example" } },
        { id: "end", type: "end", config: { outputParameters: { all: "{{ctx.ask.body}}" } } },
      ],
      "start -> ask -> end",
    ),
    graphId: "g",
    version: 1,
    input: {},
  },
  status: "RUNNING",
  createdMs: 0,
  endedMs: null,
  output: null,
  error: null,
  steps: [
    {
      id: "ask",
      status: "completed",
      attempts: 1,
      startedMs: 0,
      endedMs: 1,
      dueMs: null,
      output: { status_code: 200, headers: {}, body },
    },
  ],
  digest: (key) => key,
});
const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

test("an answer that nests too deep to be written as JSON again is left out of the state of its node", () => {
  const status = statusOfGraph(answered(nested(100_000)));
  expect(status.isCut).toBe(true);
  const shown = JSON.parse(JSON.stringify(status)) as { readonly nodes: readonly object[] };
  expect(shown.nodes).toMatchObject([{ id: "start" }, { id: "ask", status: "done" }, { id: "end", status: "done" }]);
  expect(shown.nodes.filter((node) => "output" in node)).toHaveLength(1);
});

test("an answer that nests as deep as any other value may is shown", () => {
  const { nodes, isCut } = statusOfGraph(answered(nested(180)));
  expect(isCut).toBe(false);
  expect(nodes[1]?.output).toMatchObject({ body: JSON.parse(nested(180)) });
});
