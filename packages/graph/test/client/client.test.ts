import { Holdfast } from "holdfast";
import * as v from "valibot";
import { expect, test } from "vitest";
import { type Graph, graphs, nodeType } from "../../src/index.ts";

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

const work = nodeType({ type: "work", config: v.object({ n: v.number() }), handles: ["none"], run: () => 1 });
const graph: Graph = {
  id: "a/b",
  title: "A",
  nodes: [
    { id: "start", type: "start" },
    { id: "x", type: "work", config: { n: "one" } },
  ],
  edges: [{ from: "start", to: "x" }],
};

function flowsOf(answer: (call: Call) => readonly [status: number, body: unknown]) {
  const calls: Call[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const call = {
      method: String(init.method),
      path: url.replace("http://gateway.test/", ""),
      body: init.body === undefined ? undefined : JSON.parse(String(init.body)),
    };
    calls.push(call);
    const [status, body] = answer(call);
    return new Response(JSON.stringify(body), { status });
  };
  const app = new Holdfast({ id: "shop", isDev: true, baseUrl: "http://gateway.test", fetch });
  return { flows: graphs(app, { nodeTypes: [work], sandbox: "main" }), calls };
}

const place = { app: "shop", runner: "graphs" };
const nodeTypes = [{ type: "work", handles: ["none"] }];

test("drafts are stored with what their types find wrong, and published, read, listed and deleted", async () => {
  const { flows, calls } = flowsOf(() => [200, { id: "a/b", problems: [] }]);
  const put = await flows.put(graph, { expectedRevision: 3 });
  expect(put.problems).toMatchObject([{ code: "CONFIG_INVALID", nodeId: "x", path: "nodes[1].config.n" }]);
  await flows.publish("a/b", { version: 2 });
  await flows.get("a/b", { version: "published" });
  await flows.list({ limit: 5 });
  await flows.delete("a/b", { force: true });
  expect(calls).toEqual([
    { method: "PUT", path: "v1/graphs/a%2Fb", body: { graph, ...place, nodeTypes, expectedRevision: 3 } },
    { method: "POST", path: "v1/graphs/a%2Fb/publish", body: { version: 2, nodeTypes } },
    { method: "GET", path: "v1/graphs/a%2Fb?version=published", body: undefined },
    { method: "GET", path: "v1/graphs?limit=5", body: undefined },
    { method: "DELETE", path: "v1/graphs/a%2Fb?force=1", body: undefined },
  ]);
});

test("graphs are run and tested for their tenant, and give handles", async () => {
  const { flows, calls } = flowsOf(() => [202, { runId: "r1", isNew: true }]);
  const tenant = flows.forTenant("acme");
  expect(await tenant.execute("g", { n: 1 }, { id: "once" })).toMatchObject({ id: "r1", isNew: true });
  expect((await tenant.test(graph)).id).toBe("r1");
  await tenant.stopTest("r1");
  expect(calls).toEqual([
    { method: "POST", path: "v1/graphs/g/runs?tenant=acme", body: { ...place, id: "once", input: { n: 1 } } },
    { method: "POST", path: "v1/graph-tests?tenant=acme", body: { graph, ...place, nodeTypes, tenant: "acme" } },
    { method: "DELETE", path: "v1/graph-tests/r1?tenant=acme", body: undefined },
  ]);
});

test("a refusal is an error with the gateway's code, with status, problems and revision beside it", async () => {
  const problems = [{ code: "NO_START", message: "m", fix: "f" }];
  const { flows } = flowsOf(({ path }) =>
    path.endsWith("publish")
      ? [400, { code: "GRAPH_INVALID", error: "It has problems.", problems }]
      : [409, { code: "GRAPH_CONFLICT", error: "Stale.", revision: 4 }],
  );
  await expect(flows.publish("g")).rejects.toMatchObject({
    code: "GRAPH_INVALID",
    status: 400,
    message: "It has problems.",
    problems,
  });
  await expect(flows.put(graph)).rejects.toMatchObject({ code: "GRAPH_CONFLICT", revision: 4 });
  const { flows: others } = flowsOf(() => [404, { error: "no" }]);
  await expect(others.get("g")).rejects.toMatchObject({ code: "GRAPH_UNAVAILABLE" });
});

test("a refusal keeps a code that only newer gateways know", async () => {
  const { flows } = flowsOf(() => [400, { code: "GRAPH_NEW", error: "No." }]);
  await expect(flows.get("g")).rejects.toMatchObject({ code: "GRAPH_NEW", status: 400, message: "No." });
});

test("what is no graph, or no JSON, is refused with a code before anything is sent", async () => {
  const { flows, calls } = flowsOf(() => [200, {}]);
  for (const wrong of [null, 7, {}, { id: "" }, { id: 7 }]) {
    const refused = { code: "GRAPH_INVALID", problems: expect.arrayContaining([expect.anything()]) };
    await expect(flows.put(wrong as never), JSON.stringify(wrong)).rejects.toMatchObject(refused);
  }
  const noJson = { code: "OPTION_INVALID", message: expect.stringContaining("is not JSON") };
  await expect(flows.execute("g", { n: 1n })).rejects.toMatchObject(noJson);
  expect(calls).toEqual([]);
});

test("node types that cannot be used are refused", () => {
  const config = v.object({});
  const run = (): void => {};
  const make = (options: object) => () => nodeType({ type: "a", config, run, ...options } as never);
  for (const wrong of [
    { type: "start" },
    { type: "" },
    { type: "__proto__ x" },
    { run: 1 },
    { config: {} },
    { handles: ["error"] },
    { handles: ["a b"] },
  ]) {
    expect(make(wrong), JSON.stringify(wrong)).toThrow(expect.objectContaining({ code: "GRAPH_NODE_TYPE_INVALID" }));
  }
  expect(make({})).not.toThrow();
  const app = new Holdfast({ id: "shop", isDev: true });
  expect(() => graphs(app, { nodeTypes: [work, work], sandbox: "main" })).toThrow(
    expect.objectContaining({ code: "GRAPH_NODE_TYPE_INVALID" }),
  );
});

test("types of config and handles come from the schema", () => {
  nodeType({
    type: "typed",
    config: v.object({ n: v.pipe(v.string(), v.transform(Number)) }),
    run: ({ config }) => {
      const n: number = config.n;
      // @ts-expect-error the schema gives a number
      const text: string = config.n;
      return [n, text];
    },
  });
});
