import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { waitFor } from "@holdfast/testing";
import postgres from "postgres";
import { afterEach, expect, test } from "vitest";
import { ended, op, runDetail, start, useGateway } from "./harness.ts";

const bench = useGateway();
const servers: Server[] = [];

afterEach(async () => {
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    }),
  );
});

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

async function serve(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => answer(request, response, body));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const fetchOp = (url: string, more: object = {}) => op("Gateway", "f", { opts: { url, method: "GET", ...more } });

test.each([{ extensions: [] }, {}])(
  "step.fetch makes the gateway send the request and returns the answer (%o)",
  async (options) => {
    const gateway = await bench.gateway();
    const worker = await bench.worker(gateway, options);
    const url = await serve((request, response, body) => {
      response.writeHead(418, {
        "x-seen": `${request.method} ${request.headers["x-mine"]}`,
        "content-encoding": "gzip",
      });
      response.end(gzipSync(`got ${body}`));
    });
    const [runId = ""] = await start(gateway);
    const { request } = await worker.request();
    const call = { method: "POST", headers: { "X-Mine": "yes" }, body: '{"a":1}' };
    await worker.replied(request, { value: [fetchOp(`${url}/teapot`, call)] });
    const next = await worker.request();
    expect(next.payload.steps.f).toMatchObject({
      type: "data",
      data: { url: `${url}/teapot`, status_code: 418, headers: { "x-seen": "POST yes" }, body: 'got {"a":1}' },
    });
    await worker.replied(next.request, { status: "DONE", value: 1 });
    expect((await ended(gateway, runId)).steps).toMatchObject([{ id: "f", op: "Gateway", status: "completed" }]);
  },
);

test("a step.fetch call that fails is retried, then the step fails with a code", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway, { functions: [{ id: "order", event: "shop/order", retries: 1 }] });
  let calls = 0;
  const url = await serve((request) => {
    calls += 1;
    request.socket.destroy();
  });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await worker.replied(request, { value: [fetchOp(url)] });
  const next = await worker.request();
  expect(next.payload.steps.f).toMatchObject({ type: "error", error: { code: "FETCH_FAILED" } });
  expect(calls).toBe(2);
  await worker.replied(next.request, { status: "DONE", value: 1 });
  const run = await ended(gateway, runId);
  expect(run.steps).toMatchObject([{ status: "failed", attempt: 1, failedAttempts: [{ attempt: 0 }] }]);
});

test("a call of a gateway that dies is taken over by another gateway", async () => {
  const first = await bench.gateway();
  const worker = await bench.worker(first);
  const waiting: ServerResponse[] = [];
  const url = await serve((_, response) => {
    waiting.push(response);
  });
  const [runId = ""] = await start(first);
  const { request } = await worker.request();
  await worker.replied(request, { value: [fetchOp(url)] });
  await waitFor(() => waiting.length === 1, { what: "the call" });
  const second = await bench.gateway();
  await first.close();
  await waitFor(() => waiting.length === 2, { what: "the call again" });
  waiting[1]?.end("ok");
  const other = await bench.worker(second);
  const next = await other.request();
  expect(next.payload.steps.f).toMatchObject({ data: { status_code: 200, body: "ok" } });
  await other.replied(next.request, { status: "DONE", value: 1 });
  await ended(second, runId);
});

test("a call that is lost twenty times in a row, as by what ends gateways, ends its run", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  let calls = 0;
  const url = await serve(() => {
    calls += 1;
  });
  const [runId = ""] = await start(gateway);
  const { request } = await worker.request();
  await worker.replied(request, { value: [fetchOp(url)] });
  const sql = postgres(bench.db.url, { max: 1 });
  const hasEnded = async (): Promise<boolean> => (await runDetail(gateway, runId)).endedMs !== null;
  try {
    while (!(await hasEnded())) {
      const before = calls;
      // As if the gateway that makes the call had died.
      await sql`update holdfast.queue set leased_by = 'gone', available_at = holdfast.now() where kind = 'fetch'`;
      await waitFor(async () => calls > before || (await hasEnded()), { what: "the call again" });
    }
  } finally {
    await sql.end();
  }
  expect(calls).toBe(20);
  expect(await ended(gateway, runId)).toMatchObject({ status: "FAILED", error: { code: "RUN_LOST" }, leasesLost: 20 });
});

test("START-2: a gateway that drains makes no new calls; another gateway makes them", async () => {
  const draining = await bench.gateway({ drainMs: 20_000 });
  const worker = await bench.worker(draining);
  let calls = 0;
  const url = await serve((_, response) => {
    calls += 1;
    response.end("ok");
  });
  const [runId = ""] = await start(draining);
  const { request } = await worker.request();
  const drained = draining.drain();
  await worker.frame("GATEWAY_CLOSING");
  await worker.replied(request, { value: [fetchOp(url)] });
  // Only the gateway that drains may call this address: the answer tells who made the call.
  const other = await bench.gateway({ allowPrivateFetch: false });
  const next = await (await bench.worker(other)).request();
  expect(next.payload.steps.f).toMatchObject({ type: "error" });
  expect([next.request.runId, calls]).toEqual([runId, 0]);
  await worker.close();
  await drained;
});

test("a gateway that others can reach calls no address of its own network", async () => {
  const gateway = await bench.gateway({ allowPrivateFetch: false });
  const worker = await bench.worker(gateway);
  const url = await serve((_, response) => response.end("secret"));
  const [runId = ""] = await start(gateway);
  for (const target of [url, url.replace("127.0.0.1", "localhost"), "file:///etc/passwd"]) {
    const { request } = await worker.request();
    await worker.replied(request, { value: [op("Gateway", target, { opts: { url: target, method: "GET" } })] });
  }
  const { request, payload } = await worker.request();
  const codes = Object.values(payload.steps).map((step) => (step as { error?: { code: string } }).error?.code);
  expect(codes).toEqual(["FETCH_REFUSED", "FETCH_REFUSED", "OP_INVALID"]);
  await worker.replied(request, { status: "DONE", value: 1 });
  expect((await runDetail(gateway, runId)).status).toBe("COMPLETED");
});

test("an AI call sends the provider's key as the provider expects, and returns its JSON or its error", async () => {
  const gateway = await bench.gateway();
  const worker = await bench.worker(gateway);
  const seen: unknown[] = [];
  const url = await serve((request, response, body) => {
    seen.push({ key: request.headers["x-api-key"], auth: request.headers.authorization, body });
    if (request.url === "/bad") response.writeHead(400).end("no such model");
    else response.end('{"answer":42}');
  });
  const infer = (id: string, format: string, path = "") =>
    op("AIGateway", id, { opts: { type: "step.ai.infer", url: url + path, auth_key: "k", format, body: { q: 1 } } });
  const [runId = ""] = await start(gateway);
  const first = await worker.request();
  await worker.replied(first.request, { value: [infer("a", "openai-chat")] });
  const second = await worker.request();
  expect(second.payload.steps.a).toEqual({ type: "data", data: { answer: 42 } });
  await worker.replied(second.request, { value: [infer("b", "anthropic", "/bad")] });
  const third = await worker.request();
  expect(third.payload.steps.b).toMatchObject({ type: "error", error: { name: "AIGatewayError" } });
  expect(seen).toMatchObject([{ auth: "Bearer k", body: '{"q":1}' }, { key: "k" }]);
  await worker.replied(third.request, { status: "DONE", value: 1 });
  await ended(gateway, runId);
});
