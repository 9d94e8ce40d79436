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

test.each(CALLS)(
  "a key of another environment is said of %s as the gateway says it, not as a wrong key",
  async (_what, call) => {
    const refusal = { code: "ENVIRONMENT_REFUSED", error: 'The key (prod) belongs to "production", not to "preview".' };
    await expect(call(clientOf(403, refusal))).rejects.toMatchObject({
      code: refusal.code,
      message: expect.stringMatching(/^(?!.*rejected the signing key).*The key \(prod\) belongs to/),
    });
    const wrong = { code: "UNAUTHORIZED", error: "No such key." };
    await expect(call(clientOf(401, wrong))).rejects.toThrow(/rejected the signing key/);
  },
);

test("send says that a key is one of another environment, and of every other refusal that nothing was sent", async () => {
  const text = 'The key (prod) belongs to "production", not to "preview".';
  const said = (code: string) => clientOf(403, { ids: [], status: 403, code, error: text }).send({ name: "a/b" });
  const message = expect.stringContaining(text);
  await expect(said("ENVIRONMENT_REFUSED")).rejects.toMatchObject({
    code: "ENVIRONMENT_REFUSED",
    status: 403,
    message,
  });
  await expect(said("EVENT_INVALID")).rejects.toMatchObject({ code: "EVENT_SEND_FAILED", status: 403, message });
});

test("call and the state of a run keep the words of a gateway that refuses the environment", async () => {
  const body = { code: "ENVIRONMENT_REFUSED", error: "Not here." };
  const refused = { code: body.code, message: expect.stringContaining("Not here.") };
  await expect(clientOf(403, body).call("v1/graphs")).rejects.toMatchObject(refused);
});

test("a key of another environment is followed by the fallback key", async () => {
  const keys: (string | null)[] = [];
  const fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    keys.push(new Headers(init.headers).get("authorization"));
    return keys.length === 1
      ? Response.json({ code: "ENVIRONMENT_REFUSED", error: "Not here." }, { status: 403 })
      : Response.json({ runs: [] });
  };
  const signing = { signingKey: "0f".repeat(16), signingKeyFallback: "0e".repeat(16) };
  const client = new HoldfastClient({ id: "shop", isDev: true, fetch, ...signing }, {});
  expect(await client.runs.list({})).toEqual({ runs: [] });
  expect(new Set(keys).size).toBe(2);
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
