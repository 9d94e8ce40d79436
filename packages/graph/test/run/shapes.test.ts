import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { statusOfGraph, validateGraph } from "../../src/index.ts";
import { shapes, work } from "../fixtures/shapes.ts";
import { graphOf, runGraph } from "./run-graph.ts";

const digest = (key: string): string => createHash("sha1").update(key).digest("hex");

test.each(shapes)(
  "the shape $graph.id runs to its end, and so it does when it is replayed after each step",
  async (shape) => {
    const { graph, input, output, outputs = [output], ran } = shape;
    expect(validateGraph(graph, { nodeTypes: [work] })).toEqual([]);
    for (const replay of [false, true]) {
      const run = await runGraph(graph, { input, nodeTypes: [work], replay });
      expect(run.error).toBeUndefined();
      expect(outputs).toContainEqual(run.output);
      expect(run.steps.map(({ id }) => id).sort()).toEqual([...ran].sort());
    }
  },
);

test.each(shapes)("the state of the shape $graph.id follows from what is on record of its steps", async (shape) => {
  const { graph, input, ran } = shape;
  const run = await runGraph(graph, { input, nodeTypes: [work] });
  const times = { startedMs: null, endedMs: null, dueMs: null, attempts: 1 };
  const facts = run.steps.map(({ id, status, output, error }) => ({ id: digest(id), status, output, error, ...times }));
  const steps = facts.map((fact) => ({
    ...fact,
    status: fact.status === "failed" ? ("failed" as const) : ("completed" as const),
  }));
  const snapshot = { graph, graphId: graph.id, version: 1, input };
  const record = { runId: "r", snapshot, createdMs: 0, endedMs: 1, output: run.output, error: null, digest };
  const ended = statusOfGraph({ ...record, steps, status: "COMPLETED" });
  const called = ended.nodes.filter(({ type }) => !["start", "end", "loop"].includes(type));
  expect(
    called
      .filter(({ status }) => status === "done" || status === "failed")
      .map(({ key }) => key)
      .sort(),
  ).toEqual([...ran].sort());
  expect(ended.nodes.filter(({ status }) => ["waiting", "ready", "running", "dead"].includes(status))).toEqual([]);
  const begun = statusOfGraph({ ...record, steps: [], status: "RUNNING" });
  const done = begun.nodes.filter(({ status, type }) => status === "done" && type !== "loop");
  expect(done.map(({ id }) => id)).toEqual(["start"]);
  expect(begun.nodes.some(({ status }) => status === "running")).toBe(true);
  const cancelled = statusOfGraph({ ...record, steps: [], status: "CANCELLED" });
  expect(cancelled.nodes.some(({ status }) => status === "dead")).toBe(true);
});

test("what is shown of a run has a limit: the same large value may be the input and output of many nodes", () => {
  const nodes = Array.from({ length: 100 }, (_, index) => ({
    id: `n${index}`,
    type: "work",
    config: { a: "{{ctx.input}}" },
  }));
  const graph = graphOf(nodes, nodes.map(({ id }) => `start -> ${id}`).join("\n"));
  const snapshot = { graph, graphId: "g", version: 1, input: "x".repeat(1_000_000) };
  const record = { runId: "r", snapshot, createdMs: 0, endedMs: null, output: null, error: null, digest };
  const { nodes: shown, isCut } = statusOfGraph({ ...record, steps: [], status: "RUNNING" });
  expect(isCut).toBe(true);
  expect(shown).toHaveLength(101);
  expect(shown.filter(({ input }) => input !== undefined).length).toBeGreaterThan(5);
  expect(JSON.stringify(shown).length).toBeLessThan(20_000_000);
  const small = { ...record, snapshot: { ...snapshot, input: "x" } };
  expect(statusOfGraph({ ...small, steps: [], status: "RUNNING" })).toMatchObject({ isCut: false });
});

test("the body of a loop that had nothing to do, or was skipped, is skipped, and not what is still to come", () => {
  const loop = (id: string, items: unknown) => ({ id, type: "loop", config: { items, item: id, index: `i${id}` } });
  const graph = graphOf(
    [
      loop("none", []),
      ...["a", "b", "c", "d", "after"].map((id) => ({ id, type: "work" })),
      { id: "if", type: "condition", config: { branches: [{ id: "no", if: "false" }] } },
      loop("skipped", [1]),
      loop("inner", [1]),
      loop("later", [1]),
    ],
    "start -> none; none.loop -> a; none.done -> if; if.no -> skipped; skipped.loop -> inner; inner.loop -> b; if.else -> after -> later; later.loop -> c; later.done -> d",
  );
  const snapshot = { graph, graphId: "g", version: 1, input: null };
  const record = { runId: "r", snapshot, createdMs: 0, endedMs: null, output: null, error: null, digest };
  const branch = { id: digest("if"), status: "completed" as const, output: { branch: "else" } };
  const steps = [{ ...branch, startedMs: 0, endedMs: 1, dueMs: null, attempts: 1 }];
  const stateOf = (status: string) =>
    Object.fromEntries(statusOfGraph({ ...record, steps, status }).nodes.map((node) => [node.id, node.status]));
  const passed = { none: "done", a: "skipped", skipped: "skipped", inner: "skipped", b: "skipped" };
  expect(stateOf("RUNNING")).toMatchObject({
    ...passed,
    after: "running",
    later: "waiting",
    c: "waiting",
    d: "waiting",
  });
  expect(stateOf("CANCELLED")).toMatchObject({ ...passed, after: "dead", later: "dead", c: "dead", d: "dead" });
});
