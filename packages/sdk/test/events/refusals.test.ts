import { expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";

/** What a gateway refuses arrives with its code, its words and its status, whichever call it was. */

function clientOf(status: number, body: unknown) {
  const fetch = async (): Promise<Response> => Response.json(body, { status });
  return new HoldfastClient({ id: "shop", isDev: true, baseUrl: "http://gateway.test", fetch }, {});
}

const CALLS: [what: string, call: (client: HoldfastClient) => Promise<unknown>][] = [
  ["sendSignal", (client) => client.sendSignal({ signal: "graph:r:ask", data: { approved: 1 } })],
  ["invoke", (client) => client.invoke("shop-order", { data: {} })],
  ["listRuns", (client) => client.listRuns()],
  ["runs.get", (client) => client.runs.get("r")],
  ["runs.cancel", (client) => client.runs.cancel("r")],
  ["runs.rerun", (client) => client.runs.rerun("r")],
  ["runs.fork", (client) => client.runs.fork("r", "ask")],
  ["runs.resume", (client) => client.runs.resume("r")],
  ["runs.hold", (client) => client.runs.hold("r")],
  ["runs.release", (client) => client.runs.release("r")],
  ["runs.retryCompensations", (client) => client.runs.retryCompensations("r")],
  ["runs.delete", (client) => client.runs.delete("r")],
  ["runs.follow", (client) => client.runs.follow("r").next()],
  ["handle.status", (client) => client.runs.handle("r").status()],
  ["handle.result", (client) => client.runs.handle("r").result()],
  ["handle.cancel", (client) => client.runs.handle("r").cancel()],
  ["handle.follow", (client) => client.runs.handle("r").follow().next()],
];

test.each(CALLS)("a refusal of %s keeps its code, its words and its status", async (_what, call) => {
  const refusal = { code: "GRAPH_ANSWER_INVALID", error: "This decides nothing." };
  const expected = { code: refusal.code, status: 409, message: expect.stringContaining(refusal.error) };
  await expect(call(clientOf(409, refusal))).rejects.toMatchObject(expected);
});

test.each([
  ["runs.fork", (client: HoldfastClient) => client.runs.fork("r", "ask", { result: 1n })],
  ["call", (client: HoldfastClient) => client.call("v1/graphs", { body: { n: 1n } })],
])("what is no JSON is refused by %s with a code", async (_what, call) => {
  await expect(call(clientOf(200, {}))).rejects.toMatchObject({ code: "OPTION_INVALID" });
});

test("an answer without a code keeps its status", async () => {
  await expect(clientOf(418, {}).runs.cancel("r")).rejects.toMatchObject({ code: "RUNS_UNAVAILABLE", status: 418 });
});
