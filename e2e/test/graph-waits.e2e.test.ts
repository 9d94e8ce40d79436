import { type Graph, type GraphNode, graphs, nodeType } from "@holdfast/graph";
import { startTestGateway } from "@holdfast/testing";
import { Holdfast } from "holdfast";
import * as v from "valibot";
import { expect, test } from "vitest";

/** Waits of graphs that cannot be, and answers that come before their wait. */

/** Opened by the test. */
function gate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const graphOf = (nodes: readonly GraphNode[], edges: Graph["edges"]): Graph => ({
  id: "g",
  title: "g",
  nodes: [{ id: "start", type: "start" }, ...nodes],
  edges,
});

const silent = { debug() {}, info() {}, warn() {}, error() {} };

test("an `until` that is too far ahead fails its node, which says so, and its `error` handle is taken", async () => {
  await using gateway = await startTestGateway({ store: "memory" });
  const app = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url, logger: silent });
  const flows = graphs(app);
  await using _connection = await app.connect({ functions: [flows.runner] });
  const until: GraphNode = { id: "then", type: "until", config: { time: "{{ctx.input.at}}" } };
  const end: GraphNode = { id: "end", type: "end", config: { outputParameters: { why: "{{ctx.then.message}}" } } };
  const toThen = { from: "start", to: "then" };
  const at = new Date(Date.now() + 400 * 86_400_000).toISOString();
  await flows.put(graphOf([until, end], [toThen, { from: "then", to: "end" }]));
  await flows.publish("g");
  const failed = await flows.execute("g", { at });
  await expect(failed.result()).rejects.toThrow(/more than 366 days ahead/);
  const { nodes } = await flows.status(failed.id);
  const why = `Step "then" waits for "${at}", which is more than 366 days ahead, the longest wait; wait again after a shorter one.`;
  expect(nodes.find(({ id }) => id === "then")).toMatchObject({
    status: "failed",
    attempts: 1,
    error: { code: "OP_INVALID", message: why },
  });
  await flows.put(graphOf([until, end], [toThen, { from: "then", handle: "error", to: "end" }]));
  await flows.publish("g");
  expect(await (await flows.execute("g", { at })).result()).toEqual({ why });
});

test("an answer to an approval whose wait is not stored yet finds no run, says so, and is not kept", async () => {
  await using gateway = await startTestGateway({ store: "memory" });
  const before = gate();
  const work = nodeType({ type: "work", config: v.object({}), run: () => before.opened });
  const app = new Holdfast({ id: "shop", isDev: true, baseUrl: gateway.url, logger: silent });
  const flows = graphs(app, { nodeTypes: [work] });
  await using _connection = await app.connect({ functions: [flows.runner] });
  const nodes: GraphNode[] = [
    { id: "before", type: "work" },
    { id: "ask", type: "approval", config: { timeout: "1h", signal: "the answer" } },
  ];
  await flows.put(
    graphOf(
      [...nodes, { id: "end", type: "end", config: { outputParameters: { by: "{{ctx.ask.by}}" } } }],
      [
        { from: "start", to: "before" },
        { from: "before", to: "ask" },
        { from: "ask", handle: "approved", to: "end" },
      ],
    ),
  );
  await flows.publish("g");
  const run = await flows.execute("g");
  const answer = { signal: "the answer", data: { approved: true, by: "me" } };
  expect(await app.sendSignal(answer)).toEqual({});
  const said = await fetch(`${gateway.url}/v1/signals`, { method: "POST", body: JSON.stringify(answer) });
  expect(said.status).toBe(404);
  expect(await said.json()).toMatchObject({
    code: "NOT_FOUND",
    error: expect.stringMatching(/^No run waits for the signal "the answer" now\. It was not kept/),
  });
  before.open();
  await expect.poll(() => app.sendSignal(answer), { timeout: 30_000 }).toEqual({ runId: run.id });
  expect(await run.result()).toEqual({ by: "me" });
});
