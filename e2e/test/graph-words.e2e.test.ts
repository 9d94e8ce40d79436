import { type Graph, type GraphNode, graphs, nodeType } from "@holdfast/graph";
import { startTestGateway } from "@holdfast/testing";
import { Holdfast, NonRetriableError } from "holdfast";
import * as v from "valibot";
import { expect, test } from "vitest";

/** What an app logs of runs of graphs that fail. */

const work = nodeType({
  type: "work",
  config: v.object({ isFinal: v.optional(v.boolean(), false) }),
  run: ({ config: { isFinal } }) => {
    throw isFinal ? new NonRetriableError("no such card") : new Error("busy");
  },
});

/** What is logged of a run of one node, as one text. */
async function logOf(node: GraphNode): Promise<string> {
  await using gateway = await startTestGateway({ store: "memory" });
  const lines: string[] = [];
  const write = (_: unknown, text?: unknown): void => void lines.push(String(text));
  const logger = { debug: write, info: write, warn: write, error: write };
  const app = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url, logger });
  const flows = graphs(app, { nodeTypes: [work], retries: 1 });
  await using _connection = await app.connect({ functions: [flows.runner] });
  const nodes = [{ id: "start", type: "start" }, node];
  const graph: Graph = { id: "g", title: "g", nodes, edges: [{ from: "start", to: "x" }] };
  await flows.put(graph);
  await flows.publish("g");
  await (await flows.execute("g")).result().catch(() => {});
  return lines.join("\n");
}

const NO_EDGE = "It is not tried again: the run fails with its node, since no edge leads on from an `error` handle.";

test.each<[what: string, node: GraphNode, words: readonly string[]]>([
  [
    "a condition that cannot be evaluated",
    { id: "x", type: "condition", config: { branches: [{ id: "a", if: "int(ctx.run.id) > 1" }] } },
    ["It is not tried again: another attempt would meet the same (EXPRESSION_FAILED).", NO_EDGE],
  ],
  [
    "a node of the app that says that it is final",
    { id: "x", type: "work", config: { isFinal: true } },
    ["NonRetriableError: no such card. It is not tried again: its error is a NonRetriableError.", NO_EDGE],
  ],
  [
    "a node whose attempts are used up",
    { id: "x", type: "work", retries: 0 },
    ["busy. No attempts are left.", "no edge leads on"],
  ],
  [
    "code that throws what is no error",
    { id: "x", type: "javascript", retries: 0, config: { code: 'throw { message: "plain" }' } },
    ['Node "x" failed: The code failed: plain'],
  ],
])("the log of %s says why it is not tried again, and speaks of no `retryIf`", async (_what, node, words) => {
  const log = await logOf(node);
  for (const each of words) expect(log).toContain(each);
  expect(log).not.toMatch(/retryIf|undefined/);
});
