import { isUlid } from "@holdfast/core";
import { expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";
import { Holdfast } from "../../src/app/holdfast.ts";

interface Call {
  readonly url: string;
  readonly headers: Headers;
}

const run = {
  id: "r1",
  functionId: "app-f",
  appId: "app",
  environment: "default",
  appVersion: "",
  status: "COMPLETED",
  eventId: "e1",
  eventName: "a/b",
  output: 7,
  error: null,
  createdMs: 1,
  startedMs: 2,
  endedMs: 3,
};

function clientOf(answers: readonly [status: number, body: unknown][], options: { readonly signingKey?: string } = {}) {
  const calls: Call[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const [status, body] = answers[Math.min(calls.length, answers.length - 1)] ?? [500, ""];
    calls.push({ url, headers: new Headers(init.headers) });
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status });
  };
  const client = new HoldfastClient({ id: "a", isDev: true, baseUrl: "http://gateway.test", fetch, ...options }, {});
  return { client, calls };
}

test("a run is read by its id, with the signing key", async () => {
  const { client, calls } = clientOf([[200, run]], { signingKey: "0f".repeat(16) });
  expect(await client.getRun("r/1")).toEqual(run);
  expect(calls.map(({ url }) => url)).toEqual(["http://gateway.test/v1/runs/r%2F1"]);
  expect(calls[0]?.headers.get("authorization")).toMatch(/^Bearer [0-9a-f]{64}$/);
});

test("a run that the gateway does not know is undefined", async () => {
  const { client } = clientOf([[404, { error: "There is no run r1.", status: 404 }]]);
  expect(await client.getRun("r1")).toBeUndefined();
});

test("runs are listed by what a filter says, and the next page by its cursor", async () => {
  const { client, calls } = clientOf([
    [200, { runs: [run], nextCursor: "c1" }],
    [200, { runs: [], nextCursor: null }],
  ]);
  expect(await client.listRuns({ eventId: "e&1", limit: 1 })).toEqual({ runs: [run], nextCursor: "c1" });
  expect(await client.listRuns({ cursor: "c1" })).toEqual({ runs: [] });
  expect(calls.map(({ url }) => url)).toEqual([
    "http://gateway.test/v1/runs?eventId=e%261&limit=1",
    "http://gateway.test/v1/runs?cursor=c1",
  ]);
});

test.each([
  ["a page of something else", 200, "<html>"],
  ["a run in another shape", 200, { data: run }],
  ["a refusal", 400, { error: "`limit` must be 1 to 1000." }],
  ["no list at all", 404, { error: "not here" }],
] as const)(
  "an answer that is %s fails with RUNS_UNAVAILABLE and is not asked for again",
  async (_what, status, body) => {
    const { client, calls } = clientOf([[status, body]]);
    await expect(client.listRuns()).rejects.toMatchObject({ code: "RUNS_UNAVAILABLE" });
    expect(calls).toHaveLength(1);
  },
);

test("reading runs is tried again after 503", async () => {
  const { client, calls } = clientOf([
    [503, "busy"],
    [200, run],
  ]);
  expect(await client.getRun("r1")).toEqual(run);
  expect(calls).toHaveLength(2);
});

test("an app can do all that a client can", () => {
  expect(new Holdfast({ id: "app" }, {})).toBeInstanceOf(HoldfastClient);
});

test("runs are run again, forked, resumed and deleted; a call that is tried again names the same new run", async () => {
  const bodies: unknown[] = [];
  const urls: string[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    urls.push(`${init.method} ${new URL(url).pathname}${new URL(url).search}`);
    if (typeof init.body === "string") bodies.push(JSON.parse(init.body));
    if (urls.length === 1) throw new Error("the connection broke");
    return new Response(JSON.stringify({ runId: "r2", deleted: true }));
  };
  const client = new HoldfastClient({ id: "a", isDev: true, baseUrl: "http://gateway.test", fetch }, {});
  expect(await client.runs.rerun("r1")).toBe("r2");
  expect(bodies[0]).toEqual(bodies[1]);
  expect(await client.runs.fork("r1", "load", { result: { id: 7 }, appVersion: "same" })).toBe("r2");
  await client.runs.resume("r1");
  expect(await client.runs.delete("r1", { cancel: true })).toBe(true);
  expect(bodies[2]).toEqual({ step: "load", result: { id: 7 }, appVersion: "same", newRunId: expect.any(String) });
  expect((bodies[0] as { newRunId: string }).newRunId).toSatisfy(isUlid);
  expect(bodies[3]).toEqual({});
  expect(urls.slice(1)).toEqual([
    "POST /v1/runs/r1/rerun",
    "POST /v1/runs/r1/fork",
    "POST /v1/runs/r1/resume",
    "DELETE /v1/runs/r1?cancel=1",
  ]);
});
