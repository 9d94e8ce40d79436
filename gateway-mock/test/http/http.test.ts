import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { hashSigningKey, Keys, type NamedKey } from "../../src/http/keys.ts";
import { call, metrics, SIGNING_KEY, useGateway } from "../server/harness.ts";

const bench = useGateway();

test("signing keys are hashed as SDKs hash them", () => {
  expect(hashSigningKey("signkey-test-00112233445566778899aabbccddeeff")).toBe(
    "signkey-test-a8faed6abbf35c12a4b26e40f6feb19d736d90045c83b9f9a31f638d323e6811",
  );
  const plain = "0123456789abcdef0123456789abcdef";
  expect(hashSigningKey(plain)).toBe("223e0a160af9da0a03e6dd2c4719c56f5d66a633cbe84e78aaa9f3735865522a");
});

test("a session token is valid for one connection, for a limited time, at all gateways with the same key", () => {
  const keyOf = (name: string, key: string, environment: string | null = null): NamedKey => ({
    name,
    key,
    environment,
  });
  const keysOf = (...signingKeys: NamedKey[]): Keys => new Keys({ signingKeys, eventKeys: [], tokenMs: 1000 });
  const any = keyOf("any", SIGNING_KEY);
  const token = keysOf(any).sessionToken({ keyName: "any", environment: null }, "", "c1", 5000);
  const other = keysOf(any);
  expect(other.tokenEnvironment(token, "c1", 6000)).toBe("");
  expect(other.tokenEnvironment(token, "c1", 6001)).toBeUndefined();
  expect(other.tokenEnvironment(token, "c2", 5000)).toBeUndefined();
  expect(keysOf(keyOf("any", "01".repeat(16))).tokenEnvironment(token, "c1", 5000)).toBeUndefined();
  // A key signs tokens for what it opens, and for nothing else: also when its holder makes one by itself.
  const preview = keyOf("preview", "02".repeat(16), "preview");
  const made = (environment: string): string =>
    keysOf(preview).sessionToken({ keyName: "preview", environment }, environment, "c1", 5000);
  expect(keysOf(any, preview).tokenEnvironment(made("preview"), "c1", 5000)).toBe("preview");
  expect(keysOf(any, preview).tokenEnvironment(made("production"), "c1", 5000)).toBeUndefined();
  const renamed = made("preview").replace(/\.[^.]*\./, `.${Buffer.from("production").toString("base64url")}.`);
  expect(keysOf(any, preview).tokenEnvironment(renamed, "c1", 5000)).toBeUndefined();
});

test("every error has the same JSON form", async () => {
  const gateway = await bench.gateway();
  const post = (path: string, body: string): Promise<unknown> => call(gateway, path, { method: "POST", body });
  expect(await call(gateway, "/nowhere")).toEqual({
    error: expect.any(String),
    code: "NOT_FOUND",
    status: 404,
    docs: `${gateway.url}/errors/NOT_FOUND`,
  });
  expect(await call(gateway, "/v1/runs/01JZ0000000000000000000000")).toMatchObject({ code: "NOT_FOUND" });
  expect(await post("/v1/runs/01JZ0000000000000000000000/cancel", "")).toMatchObject({ code: "NOT_FOUND" });
  expect(await call(gateway, "/v1/runs?limit=0")).toMatchObject({ code: "BODY_INVALID", status: 400 });
  expect(await call(gateway, "/v1/runs?status=odd")).toMatchObject({ code: "BODY_INVALID", status: 400 });
  expect(await post("/v0/connect/flush", "")).toMatchObject({ code: "BODY_INVALID", status: 400 });
  expect(await post("/v0/connect/flush", "\u0000\u0001\u0002")).toMatchObject({ code: "FRAME_INVALID", status: 400 });
  expect(await post("/v0/connect/start", "\u00ff")).toMatchObject({ code: "FRAME_INVALID", status: 400 });
  expect(await post("/v1/checkpoint/x/async", "{}")).toMatchObject({ code: "BODY_INVALID", status: 400 });
});

test("ids that the database could never contain are refused without a query", async () => {
  const gateway = await bench.gateway();
  const event = (fields: object): Promise<unknown> =>
    call(gateway, "/e/key", { method: "POST", body: JSON.stringify({ name: "a/b", ...fields }) });
  for (const path of ["/v1/runs/%00", "/v1/events/a%00b"]) {
    expect(await call(gateway, path)).toMatchObject({ code: "BODY_INVALID", status: 400 });
  }
  for (const fields of [{ name: "a\0b" }, { id: "a\0b" }, { ts: 1e300 }, { ts: 8.64e15 }, { ts: -1 }]) {
    expect(await event(fields)).toMatchObject({ code: "EVENT_INVALID", status: 400, ids: [] });
  }
  expect(await event({ data: { text: "a\0b" }, ts: Date.now() + 86_400_000 })).toMatchObject({ status: 200 });
});

test("a field that events do not have is ignored, and the sender and the log are told so", async () => {
  const lines: string[] = [];
  const log = (level: string, message: string): void => void (level === "warn" && lines.push(message));
  const gateway = await bench.gateway({ log });
  const send = (body: unknown): Promise<unknown> =>
    call(gateway, "/e/k", { method: "POST", body: JSON.stringify(body) });
  const all = {
    name: "a",
    data: {},
    id: "1",
    ts: Date.now(),
    user: {},
    v: "1",
    meta: {},
    traceparent: "",
    tracestate: "",
  };
  expect(await send(all)).toEqual({ ids: [expect.any(String)], status: 200 });
  expect(lines).toEqual([]);
  expect(await send([{ name: "a" }, { name: "a", data: {}, timestamp: 5 }])).toEqual({
    ids: [expect.any(String), expect.any(String)],
    status: 200,
    warnings: [
      expect.stringMatching(/^Event 1: `timestamp` is no field of an event and was ignored; there are `name`, .*`ts`/),
    ],
  });
  await send({ name: "a", data: {}, odd: 1 });
  expect(lines).toEqual([expect.stringMatching(/`timestamp`.*once a minute/)]);
  expect(await send({ name: "a", payload: { card: 1 } })).toMatchObject({
    code: "EVENT_INVALID",
    error: "Event 0: it has no `data`, and `payload` is no field of an event: put what functions are to get in `data`.",
  });
});

test("an invalid event is rejected with its fault, and no event of the request is stored", async () => {
  const gateway = await bench.gateway();
  const send = (event: unknown): Promise<unknown> =>
    call(gateway, "/e/k", { method: "POST", body: JSON.stringify(event) });
  for (const bad of [
    {},
    { name: "" },
    { name: "inngest/x" },
    { name: "holdfast/x" },
    { name: "a", data: 5 },
    { name: "a", ts: "x" },
    { name: "a", ts: Math.floor(Date.now() / 1000) },
    { name: "a", ts: Date.now() * 1000 },
    { name: "a", payload: { card: 1 } },
    7,
  ]) {
    expect(await send([{ name: "good" }, bad])).toMatchObject({ ids: [], status: 400, code: "EVENT_INVALID" });
  }
  expect(await call(gateway, "/e/k", { method: "POST", body: "{" })).toMatchObject({
    ids: [],
    status: 400,
    code: "BODY_INVALID",
  });
  const deep = `{"name":"a","data":${'{"a":'.repeat(300)}1${"}".repeat(300)}}`;
  expect(await call(gateway, "/e/k", { method: "POST", body: deep })).toMatchObject({ ids: [], status: 400 });
  const levels = (count: number): unknown => JSON.parse(`${'{"a":'.repeat(count - 1)}{}${"}".repeat(count - 1)}`);
  for (const part of ["data", "user", "meta"]) {
    expect(await send({ name: "a", [part]: levels(181) })).toMatchObject({
      ids: [],
      status: 400,
      code: "EVENT_INVALID",
    });
  }
  const many = Array.from({ length: 5001 }, () => ({ name: "a" }));
  expect(await send(many)).toMatchObject({ status: 413, code: "BODY_TOO_LARGE" });
  expect(await send({ name: "a", data: { text: "x".repeat(4_000_000) } })).toMatchObject({ status: 413 });
  expect((await metrics(gateway)).dispatcher.eventsReceived).toBe(0);
  expect(await send({ name: "a", data: { _inngest: 1, kept: 2 } })).toMatchObject({
    status: 200,
    ids: [expect.any(String)],
  });
});

test("routes require keys once keys are configured", async () => {
  const gateway = await bench.gateway({ signingKey: SIGNING_KEY, eventKey: "secret" });
  const good = { Authorization: `Bearer ${hashSigningKey(SIGNING_KEY)}` };
  expect((await fetch(`${gateway.url}/v0/connect/start`, { method: "POST" })).status).toBe(401);
  expect((await fetch(`${gateway.url}/v0/connect/start`, { method: "POST", headers: good })).status).toBe(200);
  expect((await fetch(`${gateway.url}/v1/runs`)).status).toBe(401);
  expect((await fetch(`${gateway.url}/v1/runs`, { headers: good })).status).toBe(200);
  expect(await call(gateway, "/e/wrong", { method: "POST", body: '{"name":"a"}' })).toMatchObject({
    ids: [],
    status: 401,
  });
  expect(await call(gateway, "/e/secret", { method: "POST", body: '{"name":"a"}' })).toMatchObject({ status: 200 });
});

test("the health, readiness and metrics routes answer", async () => {
  const gateway = await bench.gateway();
  expect(await call(gateway, "/health")).toMatchObject({ ok: true });
  expect(await call(gateway, "/ready")).toEqual({ ready: true });
  expect(await call(gateway, "/v1/metrics")).toMatchObject({
    dispatcher: { workers: 0 },
    process: { eventLoopDelayMs: { p99: expect.any(Number) } },
  });
  expect(await call(gateway, "/dev")).toMatchObject({ functions: [] });
});

test("an offer to speak HTTP/2, which Java's HTTP client makes with each request, is ignored", async () => {
  const gateway = await bench.gateway();
  const offering = async (path: string, method: string, body: string): Promise<unknown> => {
    const headers = { Connection: "Upgrade, HTTP2-Settings", Upgrade: "h2c", "HTTP2-Settings": "AAMAAABkAAQAAP__" };
    const asked = request(`${gateway.url}${path}`, { method, headers, agent: false }).end(body);
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    return JSON.parse(await text(answer));
  };
  const sent = await offering("/e/test", "POST", '{"name":"demo/java"}');
  expect(sent).toMatchObject({ ids: [expect.any(String)], status: 200 });
  expect(await offering("/v1/events", "GET", "")).toMatchObject({ events: [{ name: "demo/java" }] });
});
