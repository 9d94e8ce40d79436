import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ClientOptions } from "../../src/app/client-options.ts";
import { Holdfast } from "../../src/app/holdfast.ts";
import { hashSigningKey } from "../../src/app/signing-key.ts";

type Answer = { readonly status: number; readonly body: string } | "hang up" | "silence";

const good: Readonly<Record<string, Answer>> = {
  "/v0/runs/r1/actions": { status: 200, body: '{"abc":{"type":"data","data":1}}' },
  "/v0/runs/r1/batch": { status: 200, body: '[{"id":"e1","name":"a/b","data":{}}]' },
};

let server: Server;
let url: string;
const seen: { method: string; path: string; headers: IncomingHttpHeaders }[] = [];
let answer: (path: string, headers: IncomingHttpHeaders, nth: number) => Answer | undefined;

beforeEach(async () => {
  seen.length = 0;
  answer = () => undefined;
  server = createServer((request, response) => {
    const { method = "", url: path = "", headers } = request;
    seen.push({ method, path, headers });
    const nth = seen.filter((one) => one.path === path).length;
    const given = answer(path, headers, nth) ?? good[path] ?? { status: 404, body: '{"error":"no","status":404}' };
    if (given === "silence") return;
    if (given === "hang up") return void request.socket.destroy();
    response.writeHead(given.status, { "content-type": "application/json" }).end(given.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const app = (options: Partial<ClientOptions> = {}): Holdfast =>
  new Holdfast({ id: "app", isDev: true, baseUrl: url, ...options }, {}) as Holdfast;
const never = new AbortController().signal;

test("a run's events and steps are fetched with the app's key and environment", async () => {
  const signingKey = `signkey-test-${"0f".repeat(16)}`;
  const state = await app({ signingKey, env: "branch" }).fetchRunState("r1", never);
  expect(state).toEqual({ steps: { abc: { type: "data", data: 1 } }, events: [{ id: "e1", name: "a/b", data: {} }] });
  expect(seen.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
    "GET /v0/runs/r1/actions",
    "GET /v0/runs/r1/batch",
  ]);
  for (const { headers } of seen) {
    expect(headers["user-agent"]).toBe(headers["x-inngest-sdk"]);
    expect(headers).toMatchObject({ authorization: `Bearer ${hashSigningKey(signingKey)}`, "x-inngest-env": "branch" });
  }
});

test.each([401, 403])("a key rejected with %i is followed by the fallback key", async (status) => {
  const fallback = `Bearer ${hashSigningKey(`signkey-test-${"02".repeat(16)}`)}`;
  answer = (_, { authorization }) => (authorization === fallback ? undefined : { status, body: '{"error":"no"}' });
  const keys = { signingKey: `signkey-test-${"01".repeat(16)}`, signingKeyFallback: `signkey-test-${"02".repeat(16)}` };
  expect(await app(keys).fetchRunState("r1", never)).toMatchObject({ events: [{ id: "e1" }] });
  await expect(app({ signingKey: `signkey-test-${"01".repeat(16)}` }).fetchRunState("r1", never)).rejects.toMatchObject(
    {
      code: "RUN_STATE_UNAVAILABLE",
      message: expect.stringContaining("rejected the signing key"),
    },
  );
});

test("fetching a run's state is retried after broken connections, 5xx and truncated bodies", async () => {
  const first: readonly Answer[] = ["hang up", { status: 503, body: "" }, { status: 200, body: '{"abc":' }];
  answer = (path, _, nth) => (path.endsWith("/actions") ? first[nth - 1] : undefined);
  expect(await app().fetchRunState("r1", never)).toMatchObject({ steps: { abc: {} } });
  expect(seen.filter(({ path }) => path.endsWith("/actions"))).toHaveLength(4);
});

test("fetching a run's state ends on a rejection, and after five failed attempts", async () => {
  await expect(app().fetchRunState("r2", never)).rejects.toMatchObject({
    code: "RUN_STATE_UNAVAILABLE",
    message: expect.stringMatching(/Run r2 .*404 no/),
  });
  expect(seen.filter(({ path }) => path.endsWith("/r2/actions"))).toHaveLength(1);
  answer = () => ({ status: 200, body: "<html></html>" });
  await expect(app().fetchRunState("r1", never)).rejects.toMatchObject({ message: expect.stringContaining("5 tries") });
});

test("fetching a run's state stops when the state is no longer needed", async () => {
  answer = () => "silence";
  const unwanted = new AbortController();
  const fetched = app().fetchRunState("r1", unwanted.signal);
  unwanted.abort();
  await expect(fetched).rejects.toMatchObject({ code: "RUN_STATE_UNAVAILABLE" });
});
