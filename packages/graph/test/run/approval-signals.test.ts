import { expect, test } from "vitest";
import { BUILT_IN_TYPES, type Graph } from "../../src/definition.ts";
import { GraphRun } from "../../src/interpret/graph-run.ts";
import { filledStep } from "../../src/nodes/filled-fields.ts";
import { graphOf } from "./run-graph.ts";

const ask = { id: "ask", type: "approval", config: { timeout: "1h" } };
const inner = graphOf([ask], "start -> ask", { id: "inner" });
const each = { id: "each", type: "loop", config: { items: [1] } };
const s = { id: "s", type: "subgraph", config: { graph: "inner", version: 1 } };
const run = { id: "r1", graphId: "g", version: 1, test: false };

test.each([
  ["ask", graphOf([ask], "start -> ask")],
  ["ask[0]", graphOf([each, ask], "start -> each; each.loop -> ask")],
  ["s/ask", graphOf([s], "start -> s")],
  ["s[0]/ask", graphOf([each, s], "start -> each; each.loop -> s")],
])("an approval waits for the signal that is named after its key %s, as its reference says", (key, graph: Graph) => {
  const graphs = { "inner@1": inner };
  const [action] = new GraphRun({ graph, graphs, input: null, run, checkInput: () => {} }).begin();
  if (action?.type !== "CALL") throw new Error("The approval was not called.");
  expect(filledStep(action.call, "r1")).toMatchObject({ options: { signal: `graph:r1:${key}` } });
  const { default: usual } = BUILT_IN_TYPES.approval.config.signal;
  expect(usual).toContain("`graph:<run id>:<key>`");
  expect(usual).toContain(`\`${key}\``);
});
