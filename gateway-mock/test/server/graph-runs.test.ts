/** What callers say of a graph's run: its input, and the id by which it is found again. */
import { expect, test } from "vitest";
import type { Gateway } from "../../src/server.ts";
import { call, ended, useGateway } from "./harness.ts";
import { graphOf } from "./small-graph.ts";

const bench = useGateway();
const functions = [{ id: "graphs", event: "" }];

interface Answer {
  readonly runId: string;
  readonly runs: readonly { readonly id: string }[];
}

const ask = async (gateway: Gateway, method: string, path: string, body?: object): Promise<Answer> =>
  (await call(gateway, path, { method, ...(body ? { body: JSON.stringify(body) } : {}) })) as Answer;

async function published(gateway: Gateway, graph: { readonly id: string }, query = ""): Promise<void> {
  await ask(gateway, "PUT", `/v1/graphs/${graph.id}${query}`, { graph });
  expect(await ask(gateway, "POST", `/v1/graphs/${graph.id}/publish${query}`)).toMatchObject({ id: graph.id });
}

async function world(): Promise<Gateway> {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions });
  worker.answer((_, { event }) => ({ status: "DONE", value: event.data }));
  return gateway;
}

test.each([
  ["null", null],
  ["false", false],
  ["a list", []],
  ["an empty text", ""],
])("the input of a graph's run may be %s, and is that", async (_, input) => {
  const gateway = await world();
  await published(gateway, graphOf("a"));
  for (const [path, body] of [
    ["/v1/graphs/a/runs", { input }],
    ["/v1/graph-tests", { graph: graphOf("t"), input }],
  ] as const) {
    const { runId } = await ask(gateway, "POST", path, body);
    expect((await ended(gateway, runId)).output).toMatchObject({ input });
  }
});

test("a graph's run that is given no input has an empty object", async () => {
  const gateway = await world();
  await published(gateway, graphOf("a"));
  const { runId } = await ask(gateway, "POST", "/v1/graphs/a/runs", {});
  expect((await ended(gateway, runId)).output).toMatchObject({ input: {} });
});

test("runs of graphs are found by the id that a caller gave them, or the sender of the event that has triggered them", async () => {
  const gateway = await world();
  const trigger = { events: [{ event: "shop/joined" }] };
  await published(gateway, graphOf("a", { trigger }));
  await published(gateway, graphOf("b"));
  await published(gateway, graphOf("a"), "?tenant=acme");
  const found = async (query: string): Promise<string[]> =>
    (await ask(gateway, "GET", `/v1/runs?${query}`)).runs.map(({ id }) => id);
  const { runId } = await ask(gateway, "POST", "/v1/graphs/a/runs", { id: "kg-1" });
  const acme = await ask(gateway, "POST", "/v1/graphs/a/runs?tenant=acme", { id: "kg-2" });
  const other = await ask(gateway, "POST", "/v1/graphs/b/runs", { id: "kg-2" });
  await ask(gateway, "POST", "/e/test", { id: "joined-1", name: "shop/joined", data: {} });
  const [triggered] = await found("limit=1");
  expect(await found("key=kg-1")).toEqual([runId]);
  expect(await found("key=kg-2")).toEqual([other.runId, acme.runId]);
  expect(await found("key=kg-2&graph=b")).toEqual([other.runId]);
  expect(await found("key=kg-2&graph=a&tenant=acme")).toEqual([acme.runId]);
  expect(await found("key=kg-2&functionId=graphs")).toHaveLength(2);
  expect(await found("key=joined-1")).toEqual([triggered]);
  expect(await found("key=joined-1&graph=a&functionId=graphs")).toEqual([triggered]);
  expect(await found("key=joined-1&graph=b")).toEqual([]);
  expect(await found("key=kg-9")).toEqual([]);
});

test("clients of a tenant name it in each call, also where a run says it", async () => {
  const gateway = await world();
  const query = "?tenant=acme";
  const body = { graph: graphOf("t"), tenant: "acme" };
  const { runId } = await ask(gateway, "POST", `/v1/graph-tests${query}`, body);
  await ended(gateway, runId);
  expect(await ask(gateway, "GET", `/v1/runs/${runId}/graph${query}`)).toMatchObject({ runId });
  expect(await ask(gateway, "DELETE", `/v1/graph-tests/${runId}${query}`)).toEqual({ stopped: true, runId });
});
