import { expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";

function clientOf(answers: readonly [status: number, body: string][]) {
  const calls: { readonly url: string; readonly init: RequestInit }[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const [status, body] = answers[Math.min(calls.length, answers.length - 1)] ?? [500, ""];
    calls.push({ url, init });
    return new Response(body, { status });
  };
  const signingKey = "0f".repeat(16);
  const client = new HoldfastClient({ id: "a", isDev: true, baseUrl: "http://gateway.test", fetch, signingKey }, {});
  return { client, calls };
}

test("any path of the gateway's API is called with the app's key, and its answer is given as it is", async () => {
  const { client, calls } = clientOf([[409, '{"code":"GRAPH_CONFLICT"}']]);
  const answer = await client.call("v1/graphs/a?tenant=t", { method: "PUT", body: { n: 1 } });
  expect(answer).toEqual({ status: 409, body: { code: "GRAPH_CONFLICT" } });
  const [{ url, init }] = calls as [(typeof calls)[number]];
  expect([url, init.method, init.body]).toEqual(["http://gateway.test/v1/graphs/a?tenant=t", "PUT", '{"n":1}']);
  expect(new Headers(init.headers).get("authorization")).toMatch(/^Bearer [0-9a-f]{64}$/);
  expect(new Headers(init.headers).get("content-type")).toBe("application/json");
});

test("without a body a call is a GET, and what is no JSON has no body", async () => {
  const { client, calls } = clientOf([[200, "ok"]]);
  expect(await client.call("v1/graphs")).toEqual({ status: 200, body: undefined });
  expect(calls[0]?.init.method).toBe("GET");
});

test("a call is tried again while the gateway cannot answer, and then fails with its reason", async () => {
  const { client, calls } = clientOf([
    [503, "draining"],
    [200, "[1]"],
  ]);
  expect(await client.call("v1/graphs")).toEqual({ status: 200, body: [1] });
  expect(calls).toHaveLength(2);
  const never = clientOf([[503, "draining"]]);
  await expect(never.client.call("v1/graphs")).rejects.toMatchObject({
    code: "GATEWAY_CALL_FAILED",
    message: expect.stringContaining("draining"),
  });
});
