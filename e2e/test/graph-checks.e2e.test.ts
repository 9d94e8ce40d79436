import { type Graph, type GraphNode, type GraphTrigger, graphs, nodeType, validateGraph } from "@holdfast/graph";
import { startTestGateway } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import * as v from "valibot";
import { expect, test } from "vitest";

/** What is wrong with a graph is said alike before it is sent and by the gateway that stores it. */

const work = nodeType({ type: "work", config: v.object({ n: v.number() }), run: () => 1 });

const graphWith = (node: GraphNode, trigger: GraphTrigger = {}): Graph => ({
  id: "g",
  title: "g",
  nodes: [{ id: "start", type: "start" }, node],
  edges: [{ from: "start", to: node.id }],
  trigger,
});
const fine: GraphNode = { id: "x", type: "work", config: { n: 1 } };
const javascript = (code: string): GraphNode => ({ id: "x", type: "javascript", config: { code } });

test("`flows.validate` and `flows.put` find the same, and `validateGraph` all but configs of the app's own", async () => {
  await using gateway = await startTestGateway({ store: "memory" });
  const app = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url, logLevel: "off" });
  const flows = graphs(app, { nodeTypes: [work] });
  const checked: [graph: Graph, codes: readonly string[]][] = [
    [graphWith(fine), []],
    [graphWith(fine, { cron: [{ cron: "61 * * * *" }] }), ["TRIGGER_INVALID"]],
    [graphWith(fine, { cron: [{ cron: "0 9 * * *", timezone: "Moon/Sea" }] }), ["TRIGGER_INVALID"]],
    [
      graphWith(fine, { events: [{ event: "holdfast/own" }, { event: "a", if: "(" }] }),
      Array(2).fill("TRIGGER_INVALID"),
    ],
    [graphWith(javascript("return 1 +;")), ["CODE_INVALID"]],
    [graphWith({ ...fine, compensate: { type: "javascript", config: { code: "}" } } }), ["CODE_INVALID"]],
    [graphWith({ id: "x", type: "condition", config: { branches: [{ id: "a", if: "1 +" }] } }), ["EXPRESSION_INVALID"]],
    [graphWith({ id: "x", type: "nothing" }), ["TYPE_UNKNOWN"]],
    [graphWith({ id: "x", type: "work", config: { n: "one" } }), ["CONFIG_INVALID"]],
  ];
  for (const [graph, codes] of checked) {
    const found = await flows.validate(graph);
    expect(found.map(({ code }) => code).filter((code) => code !== "HANDLE_UNCONNECTED")).toEqual(codes);
    expect((await flows.put(graph)).problems).toEqual(found);
    const own = codes.includes("CONFIG_INVALID");
    expect(validateGraph(graph, { nodeTypes: [{ type: "work", handles: [] }] })).toEqual(own ? [] : found);
  }
  const inner = graphWith({ id: "x", type: "subgraph", config: { graph: "other", version: 1 } });
  expect(await flows.validate(inner)).toEqual([]);
  expect((await flows.put(inner)).problems).toMatchObject([{ code: "SUBGRAPH_UNKNOWN", nodeId: "x" }]);
});
