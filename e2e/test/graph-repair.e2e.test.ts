import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startGateway } from "@holdfast/gateway";
import { type Graph, graphs, nodeType, takeHandle } from "@holdfast/graph";
import { Holdfast } from "holdfast";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gatewayBin } from "../support/gateway.mjs";
import { shell } from "../support/terminal.ts";

/** Runs of graphs that are run again from a node, with another output of it: what people give is what nodes give. */

const cleanUps: (() => unknown)[] = [];
let url = "";
let app = new Holdfast({ id: "shop", isDev: true });

const lookup = nodeType({
  type: "lookup",
  config: {
    "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
  },
  handles: ["missing"],
  run: () => takeHandle("missing", null),
});
let flows = graphs(app, { nodeTypes: [lookup] });

const said = { status: "{{ctx.page.status}}", said: "{{ctx.page.body.said}}", sum: "{{ctx.sum}}" };

const graphOf = (page: string): Graph => ({
  id: "order",
  title: "An order",
  nodes: [
    { id: "start", type: "start" },
    { id: "each", type: "loop", config: { items: "{{ctx.input.items}}" } },
    { id: "price", type: "javascript", title: "Work it out", config: { code: "return { euros: ctx.item * 2 };" } },
    { id: "sum", type: "javascript", config: { code: "return ctx.each.reduce((a, b) => a + b.euros, 0);" } },
    { id: "size", type: "condition", config: { branches: [{ id: "large", if: "double(ctx.sum) > 10.0" }] } },
    { id: "ask", type: "approval", title: "Is that all right?", config: { timeout: "1h" } },
    { id: "page", type: "http", config: { url: page } },
    { id: "find", type: "lookup" },
    { id: "small", type: "end", config: { outputParameters: { way: "small" } } },
    { id: "no", type: "end", config: { outputParameters: { way: "rejected" } } },
    { id: "found", type: "end", config: { outputParameters: { way: "found", found: "{{ctx.find}}", ...said } } },
    { id: "missing", type: "end", config: { outputParameters: { way: "missing", by: "{{ctx.ask.by}}", ...said } } },
  ],
  edges: [
    { from: "start", to: "each" },
    { from: "each", handle: "loop", to: "price" },
    { from: "price", to: "each" },
    { from: "each", handle: "done", to: "sum" },
    { from: "sum", to: "size" },
    { from: "size", handle: "large", to: "ask" },
    { from: "size", handle: "else", to: "small" },
    { from: "ask", handle: "approved", to: "page" },
    { from: "ask", handle: "rejected", to: "no" },
    { from: "page", to: "find" },
    { from: "find", to: "found" },
    { from: "find", handle: "missing", to: "missing" },
  ],
});
beforeAll(async () => {
  const server = createServer((_, answer) => answer.setHeader("content-type", "application/json").end('{"said":"hi"}'));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  cleanUps.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const gateway = await startGateway({ port: 0, store: "memory", logRuns: "off" });
  cleanUps.push(() => gateway.close());
  url = gateway.url;
  app = new Holdfast({ id: "shop", isDev: true, baseUrl: url, logLevel: "off" });
  flows = graphs(app, { nodeTypes: [lookup], retries: 0 });
  const connection = await app.connect({ functions: [flows.runner], handleShutdownSignals: [] });
  cleanUps.push(() => connection.close());
  const graph = graphOf(`http://127.0.0.1:${port}/`);
  expect((await flows.put(graph)).problems).toEqual([]);
  await flows.publish("order");
});

afterAll(async () => {
  for (let cleanUp = cleanUps.pop(); cleanUp; cleanUp = cleanUps.pop()) await cleanUp();
});

/** The run's end; what asks for it is approved. */
async function ended(runId: string): Promise<unknown> {
  const answer = { signal: `graph:${runId}:ask`, data: { approved: true, by: "Ada" } };
  const poll = setInterval(() => app.sendSignal(answer).catch(() => {}), 100);
  try {
    return await app.runs.handle(runId).result();
  } finally {
    clearInterval(poll);
  }
}

/** A run that was approved, and has ended. */
async function whole(): Promise<string> {
  const { id } = await flows.execute("order", { items: [1, 2, 3] });
  expect(await ended(id)).toEqual({ way: "missing", by: "Ada", ...page, sum: 12 });
  return id;
}

const page = { status: 200, said: "hi" };

/** What a run that goes on from a node with this output comes to. */
async function forked(id: string, node: string, output: unknown): Promise<unknown> {
  return ended(await app.runs.fork(id, node, { result: output }));
}

/** The code and the message with which it is refused. */
async function refused(id: string, step: string, result: unknown): Promise<string> {
  const body = JSON.stringify({ step, result });
  const answer = await fetch(`${url}/v1/runs/${id}/fork`, { method: "POST", body });
  const { code, error } = (await answer.json()) as { code?: string; error?: string };
  return `${answer.status} ${code} ${error}`;
}

describe("A graph's run that goes on from a node with another output", () => {
  test("takes what each kind of node gives, and goes the way that follows from it", async () => {
    const id = await whole();
    const approvedByAda = { way: "missing", by: "Ada", ...page };
    expect(await forked(id, "price[1]", { euros: 100 })).toEqual({ ...approvedByAda, sum: 108 });
    expect(await forked(id, "sum", 40)).toEqual({ ...approvedByAda, sum: 40 });
    expect(await forked(id, "sum", 3)).toEqual({ way: "small" });
    expect(await forked(id, "size", { branch: "else" })).toEqual({ way: "small" });
    expect(await forked(id, "ask", { approved: false })).toEqual({ way: "rejected" });
    expect(await forked(id, "ask", { approved: true, by: "Bea" })).toEqual({ ...approvedByAda, by: "Bea", sum: 12 });
    const answer = { status: 201, headers: { "x-a": "b" }, body: { said: "edited" } };
    expect(await forked(id, "page", answer)).toEqual({ ...approvedByAda, status: 201, said: "edited", sum: 12 });
    expect(await forked(id, "find", { id: 7 })).toEqual({ way: "found", found: { id: 7 }, ...page, sum: 12 });
    expect(await forked(id, "find", { $handle: "missing", output: 1 })).toEqual({ ...approvedByAda, sum: 12 });
  });

  test("each node's own output, as its state shows it, comes to what the run came to", async () => {
    const id = await whole();
    const { nodes } = await flows.status(id);
    for (const { key, type, output, handle } of nodes) {
      if (["start", "end", "loop"].includes(type)) continue;
      const given = handle === "missing" ? { $handle: handle, output } : output;
      expect([key, await forked(id, key, given)]).toEqual([key, { way: "missing", by: "Ada", ...page, sum: 12 }]);
    }
  });

  test("refuses what a node cannot give, and what the gateway stores of it, with what to give instead", async () => {
    const id = await whole();
    expect(await refused(id, "ask", { data: { approved: true } })).toMatch(
      /400 GRAPH_OUTPUT_INVALID.*"ask".*`{ approved: true }`/,
    );
    expect(await refused(id, "ask", { approved: "yes" })).toMatch(/GRAPH_OUTPUT_INVALID.*`{ approved: true }`/);
    expect(await refused(id, "sum", { output: 4, lines: [] })).toMatch(/GRAPH_OUTPUT_INVALID.*"sum".*`output`/s);
    expect(await refused(id, "size", { branch: "huge" })).toMatch(/GRAPH_OUTPUT_INVALID.*"large".*"else"/s);
    expect(await refused(id, "page", { status_code: 200, body: "" })).toMatch(/GRAPH_OUTPUT_INVALID.*`status`/s);
    expect(await refused(id, "find", { $handle: "nowhere", output: 1 })).toMatch(/GRAPH_OUTPUT_INVALID.*"missing"/s);
    expect(await refused(id, "each", [1])).toMatch(/STEP_UNKNOWN.*"each".*loop/s);
    await expect(app.runs.fork(id, "ask", { result: { approved: 1 } })).rejects.toThrow(/cannot give.*approved/);
    const cli = await shell(
      `${process.execPath} ${gatewayBin} rerun ${id} --from ask --result '{"approved":1}' --url ${url}`,
    );
    expect(cli.code).not.toBe(0);
    expect(cli.stderr).toContain('The node "ask" (approval)');
  });

  test("is named by a node of the graph with a title, too", async () => {
    const id = await whole();
    const cli = await shell(
      `${process.execPath} ${gatewayBin} rerun ${id} --from ask --result '{"approved":false}' --json --url ${url}`,
    );
    const { runs } = JSON.parse(cli.stdout) as { runs: { runId: string }[] };
    expect(await ended(String(runs[0]?.runId))).toEqual({ way: "rejected" });
  });
});

describe("An approval of a graph", () => {
  test.each(["true", 1, {}, null, undefined])(
    "goes on waiting after the answer %o, which is refused",
    async (approved) => {
      const { id } = await flows.execute("order", { items: [1, 2, 3] });
      const signal = `graph:${id}:ask`;
      const asked = async () => (await flows.status(id)).nodes.find((node) => node.id === "ask")?.status;
      await expect.poll(asked).toBe("running");
      for (const data of [{ approved }, approved]) {
        const body = JSON.stringify({ signal, data });
        const answer = await fetch(`${url}/v1/signals`, { method: "POST", body });
        expect([answer.status, await answer.json()]).toMatchObject([400, { code: "GRAPH_ANSWER_INVALID" }]);
      }
      await expect(app.sendSignal({ signal, data: { approved } })).rejects.toMatchObject({
        code: "GRAPH_ANSWER_INVALID",
        status: 400,
        message: expect.stringMatching(/"ask".*goes on waiting/),
      });
      expect(await asked()).toBe("running");
      await app.sendSignal({ signal, data: { approved: false } });
      expect(await app.runs.handle(id).result()).toEqual({ way: "rejected" });
    },
  );
});
