import { expect, test } from "vitest";
import type { GraphNode } from "../../src/index.ts";
import { GraphRun } from "../../src/interpret/graph-run.ts";
import { graphOf, runGraph } from "./run-graph.ts";

const each = { id: "each", type: "loop", config: { items: "{{ctx.input.rows}}" } };
const wait = { id: "wait", type: "delay", config: { duration: "1s" } };

test.each([
  [{ secret: 1 }, "an object"],
  [null, "null"],
  ["secret", "a text"],
  [7, "a number"],
  [true, "a boolean"],
])("a loop whose items come to %j fails and says which items of which loop", async (rows, what) => {
  const { error } = await runGraph(graphOf([each, wait], "start -> each; each.loop -> wait"), { input: { rows } });
  const { message } = error as Error;
  expect(message).toContain(`\`items\` of the loop "each" must come to a list; "{{ctx.input.rows}}" came to ${what}.`);
  expect(message).not.toContain("secret");
});

const steps = (ids: readonly string[], more: object = {}) =>
  ids.map((id) => ({ id, type: "delay", config: { duration: 1 }, ...more }));
const end = { id: "end", type: "end", config: { outputParameters: { why: "{{ctx.each.message ?? 'done'}}" } } };
const looped = (body: readonly GraphNode[], edges: string) =>
  graphOf([each, ...body, end], `start -> each; ${edges}; each.done -> end; each.error -> end`);
const items = (count: number) => ({ rows: Array.from({ length: count }, (_, index) => index) });

test.each([
  ["one step", steps(["a"]), "each.loop -> a", 1, 1_000],
  ["three in a row", steps(["a", "b", "c"]), "each.loop -> a -> b -> c -> each", 3, 333],
  ["two side by side that join", steps(["a", "b", "c"]), "each.loop -> a -> c; each.loop -> b -> c", 3, 333],
])("a loop over more items than a run has steps for does not begin: %s", async (_what, body, edges, each, most) => {
  const graph = looped(body, edges);
  const { output, steps: ran } = await runGraph(graph, { input: items(most + 1) });
  expect(Object(output).why).toContain(`The loop "each" has ${most + 1} items, and each takes at least ${each} step`);
  expect(Object(output).why).toContain(`a run has 1000 steps, so it can go through ${most} at most`);
  expect(ran).toEqual([]);
  const run = { id: "r", graphId: "g", version: 1, test: false };
  const fits = new GraphRun({ graph, graphs: {}, input: items(most), run, checkInput: () => undefined });
  expect(fits.begin().map(({ type }) => type)).toContain("CALL");
});

test("a loop whose items may need no step each begins", async () => {
  const isLast = { branches: [{ id: "yes", if: "ctx.index >= 1499" }] };
  const none = looped(
    [{ id: "a", type: "loop", config: { items: [], item: "b", index: "c" } }, ...steps(["d"])],
    "each.loop -> a; a.loop -> d",
  );
  expect((await runGraph(none, { input: items(1_500) })).output).toEqual({ why: "done" });
  // Where a node goes on after its error, it may have failed before it was a step.
  const path = { id: "a", type: "delay", config: { duration: "{{ctx.item.ms}}" }, onError: "continue" as const };
  expect((await runGraph(looped([path], "each.loop -> a"), { input: items(1_500) })).output).toEqual({ why: "done" });
  const behind = looped(
    [{ id: "if", type: "condition", config: isLast }, ...steps(["a"])],
    "each.loop -> if; if.yes -> a",
  );
  expect(Object((await runGraph(behind, { input: items(1_001) })).output).why).toContain("at least 1 step;");
});
