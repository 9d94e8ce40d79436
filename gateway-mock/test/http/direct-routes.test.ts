import { once } from "node:events";
import { connect } from "node:net";
import { encodeSdkResponse, encodeStartRequest, FLUSH_PATH, START_PATH } from "@holdfast/protocol";
import { waitFor } from "@holdfast/testing";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { runs } from "../../../packages/tooling/src/runs.ts";
import type { GatewayOptions } from "../../src/config/gateway-options.ts";
import { hashSigningKey } from "../../src/http/keys.ts";
import { SIGNING_KEY } from "../server/harness.ts";
import { exchange, type Listening, listening } from "./listeners.ts";

const SIGNED = `Authorization: Bearer ${hashSigningKey(SIGNING_KEY)}`;
const PAGE = "https://app.example.com";
const KEYS: GatewayOptions = { signingKey: SIGNING_KEY, eventKey: "the-key", allowedOrigins: [PAGE] };
const EVENT = '{"name":"shop/order","data":{"n":1}}';
const START = Buffer.from(encodeStartRequest({ excludeGateways: [] })).toString("latin1");
const REPLY = Buffer.from(
  encodeSdkResponse({
    requestId: "01JZ0000000000000000000000.1",
    accountId: "",
    envId: "",
    appId: "shop",
    status: "DONE",
    body: Buffer.from('"ok"'),
    noRetry: false,
    requestVersion: 2,
    systemTraceCtx: Buffer.from("{}"),
    userTraceCtx: Buffer.alloc(0),
    runId: "01JZ0000000000000000000001",
    sdkVersion: "holdfast-js:0.1.0",
  }),
).toString("latin1");
const CHECKPOINT = '{"qi_id":"01JZ0000000000000000000000.1","steps":[{"op":"StepRun","id":"a","data":1}]}';

/** A request as it is written. */
interface Raw {
  readonly line: string;
  readonly headers: readonly string[];
  /** In latin1. */
  readonly body: string;
}

const post = (path: string, body: string, ...more: string[]): Raw => ({
  line: `POST ${path} HTTP/1.1`,
  headers: ["Host: localhost:8288", `Content-Length: ${body.length}`, ...more],
  body,
});

/** What a program sends that means well, to each direct route. */
const PLAIN: readonly [string, Raw][] = [
  ["an event", post("/e/the-key", EVENT)],
  ["a list of events", post("/e/the-key", `[${EVENT},${EVENT}]`, "Content-Type: application/json")],
  ["events with a seed", post("/e/the-key", EVENT, "x-inngest-event-id-seed: 1700000000000,AAECAwQFBgcICQ==")],
  ["an event for an environment", post("/e/the-key", EVENT, "X-Inngest-Env: preview")],
  ["an event that is refused", post("/e/the-key", '{"name":""}')],
  ["an event that is no JSON", post("/e/the-key", "{")],
  ["no event", post("/e/the-key", "")],
  ["an event of some size", post("/e/the-key", JSON.stringify({ name: "a", data: { text: "x".repeat(300_000) } }))],
  ["a start", post(START_PATH, START, SIGNED)],
  ["a start behind a proxy", post(START_PATH, START, SIGNED, "X-Forwarded-Proto: https, http")],
  ["a start that is none", post(START_PATH, "\u00ff", SIGNED)],
  ["a reply", post(FLUSH_PATH, REPLY, SIGNED)],
  ["a reply that is none", post(FLUSH_PATH, "\u0000\u0001\u0002", SIGNED)],
  ["an empty reply", post(FLUSH_PATH, "", SIGNED)],
  ["a checkpoint", post("/v1/checkpoint/01JZ0000000000000000000001/async", CHECKPOINT, SIGNED)],
  ["a checkpoint that is none", post("/v1/checkpoint/x/async", "{}", SIGNED)],
  ["an address as host", { ...post("/e/the-key", EVENT), headers: ["Host: 10.0.0.7", `Content-Length: 36`] }],
];

const withHost = (host: string): Raw => ({
  line: "POST /e/the-key HTTP/1.1",
  headers: [`Host: ${host}`, `Content-Length: ${EVENT.length}`],
  body: EVENT,
});
const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `X-${n}: ${n}`);

/** What is the router's to answer, be it odd or hostile. */
const ODD: readonly [string, Raw][] = [
  ["a wrong event key", post("/e/wrong", EVENT)],
  ["a wrong signing key", post(START_PATH, START, "Authorization: Bearer x")],
  ["no signing key", post(FLUSH_PATH, REPLY)],
  ["two signing keys", post(START_PATH, START, SIGNED, "Authorization: Bearer x")],
  ["an unknown environment's name", post("/e/the-key", EVENT, "x-inngest-env: no such name!")],
  ["two environments", post("/e/the-key", EVENT, "x-inngest-env: a", "x-inngest-env: b")],
  ["an environment in other letters", post("/e/the-key", EVENT, "x-inngest-env: gr\u00fcn")],
  ["an escape in the path", post("/e/the%2Dkey", EVENT)],
  ["an escape that is none", post("/e/%ff", EVENT)],
  ["a NUL in the path", post("/e/the-key%00", EVENT)],
  ["a query", post("/e/the-key?a=1", EVENT)],
  ["dots in the path", post("/e/../e/the-key", EVENT)],
  ["dots for the key", post("/e/..", EVENT)],
  ["an empty key", post("/e/", EVENT)],
  ["a slash too many", post("/e/the-key/", EVENT)],
  ["a whole URL", post("http://localhost/e/the-key", EVENT)],
  ["a whole URL of another host", post("http://evil.example/e/the-key", EVENT)],
  ["another case", post("/E/the-key", EVENT)],
  ["no route", post("/nowhere", EVENT, SIGNED)],
  ["another method", { ...post("/e/the-key", ""), line: "GET /e/the-key HTTP/1.1" }],
  ["a method that changes", { ...post("/e/the-key", EVENT), line: "PUT /e/the-key HTTP/1.1" }],
  ["a head", { ...post("/e/the-key", ""), line: "HEAD /e/the-key HTTP/1.1" }],
  ["a preflight", { ...post("/e/the-key", "", `Origin: ${PAGE}`), line: "OPTIONS /e/the-key HTTP/1.1" }],
  ["an allowed page", post("/e/the-key", EVENT, `Origin: ${PAGE}`)],
  ["an allowed page whose event is refused", post("/e/the-key", "{", `Origin: ${PAGE}`)],
  ["a page elsewhere", post("/e/the-key", EVENT, "Origin: https://evil.example")],
  ["an image elsewhere", post("/e/the-key", EVENT, "Sec-Fetch-Site: cross-site")],
  ["a name that is not ours", withHost("evil.example")],
  ["a name in capitals", withHost("LOCALHOST:8288")],
  ["an address of another kind", withHost("[::1]:8288")],
  ["a name with a user", withHost("evil.example@localhost")],
  ["an empty name", withHost("")],
  ["a port that is none", withHost("localhost:99999")],
  ["two hosts", post("/e/the-key", EVENT, "Host: evil.example")],
  ["many headers", post("/e/the-key", EVENT, ...many(60))],
  ["an environment after too many headers", post("/e/the-key", EVENT, ...many(120), "x-inngest-env: preview")],
  [
    "chunks",
    {
      line: "POST /e/the-key HTTP/1.1",
      headers: ["Host: localhost", "Transfer-Encoding: chunked"],
      body: `${EVENT.length.toString(16)}\r\n${EVENT}\r\n0\r\n\r\n`,
    },
  ],
  [
    "chunks and a length",
    {
      line: "POST /e/the-key HTTP/1.1",
      headers: ["Host: localhost", "Transfer-Encoding: chunked", "Content-Length: 4"],
      body: "0\r\n\r\n",
    },
  ],
  ["a start of too many bytes", post(START_PATH, "x".repeat(2_000_000), SIGNED)],
];

/** What Node answers, or both in the same way. */
const OTHER: readonly [string, Raw][] = [
  ["no length", { line: "POST /e/the-key HTTP/1.1", headers: ["Host: localhost"], body: "" }],
  ["a length that is none", { ...post("/e/the-key", ""), headers: ["Host: localhost", "Content-Length: x"] }],
  ["two lengths", post("/e/the-key", EVENT, "Content-Length: 3")],
  ["the old protocol", { ...post("/e/the-key", EVENT), line: "POST /e/the-key HTTP/1.0" }],
  ["no host", { line: "POST /e/the-key HTTP/1.1", headers: [`Content-Length: ${EVENT.length}`], body: EVENT }],
  ["who asks first", post("/e/the-key", EVENT, "Expect: 100-continue")],
  ["a value with a NUL", post("/e/the-key", EVENT, "x-inngest-env: a\0b")],
];

const open: Listening[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

async function both(options: GatewayOptions): Promise<{ direct: Listening; router: Listening }> {
  const [direct, router] = await Promise.all([listening("direct", options), listening("router", options)]);
  open.push(direct, router);
  return { direct, router };
}

/** The request, and one more on the same connection, which closes it. */
function bytesOf({ line, headers, body }: Raw): Buffer {
  const last = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  return Buffer.from(`${line}\r\n${[...headers, "", ""].join("\r\n")}${body}${last}`, "latin1");
}

/** Heads with their headers in one order, and bodies; without what differs by nature. */
function normal(answers: string): string[] {
  return answers
    .replaceAll(/^Date: .*\r\n/gim, "")
    .replaceAll(/\d{13}\.[\w-]*\.[0-9a-f]{64}/g, "<token>")
    .split(/(?=HTTP\/1\.1 \d)/)
    .map((answer) => {
      const [head = "", ...body] = answer.split("\r\n\r\n");
      const [status = "", ...headers] = head.split("\r\n");
      const named = headers.map((header) => header.replace(/^[^:]+/, (name) => name.toLowerCase()));
      return [status, ...named.sort(), "", ...body].join("\n");
    });
}

async function answersOf(sides: { direct: Listening; router: Listening }, raw: Raw): Promise<[string[], string[]]> {
  const bytes = bytesOf(raw);
  const [direct, router] = await Promise.all([exchange(sides.direct.port, bytes), exchange(sides.router.port, bytes)]);
  return [normal(direct), normal(router)];
}

async function expectSame(sides: { direct: Listening; router: Listening }, raw: Raw): Promise<string[]> {
  const [direct, router] = await answersOf(sides, raw);
  expect(direct).toEqual(router);
  expect(sides.direct.logged).toEqual(sides.router.logged);
  expect(sides.direct.eventsReceived()).toBe(sides.router.eventsReceived());
  return direct;
}

describe("A request gets the same answer with and without the listener in front of the router", () => {
  test.each(PLAIN)("%s, which the router does not see", async (_, raw) => {
    for (const options of [KEYS, {}]) {
      const sides = await both(options);
      const answers = await expectSame(sides, raw);
      expect(answers).toHaveLength(2);
      // The request that ends the connection.
      expect([sides.direct.routed(), sides.router.routed()]).toEqual([1, 2]);
    }
  });

  test.each(ODD)("%s, which is left to the router", async (_, raw) => {
    const sides = await both(KEYS);
    await expectSame(sides, raw);
    expect(sides.direct.routed()).toBe(sides.router.routed());
    await expectSame(await both({}), raw);
  });

  test.each(OTHER)("%s", async (_, raw) => {
    for (const options of [KEYS, {}]) await expectSame(await both(options), raw);
  });

  test("whatever is put together", async () => {
    const all = [...PLAIN, ...ODD, ...OTHER].map(([, raw]) => raw);
    const one = fc.constantFrom(...all);
    // Of what says how long the body is there is one, so that no server waits for more. None ends the connection before
    // the body is read: what is left of a large one may then take the answer along.
    const isFree = (header: string): boolean =>
      !/^(X-\d|Content-Length|Transfer-Encoding|Expect)/.test(header) && !header.includes("\0");
    const header = fc.constantFrom(...all.flatMap(({ headers }) => headers.slice(1)).filter(isFree));
    const mixed = fc
      .tuple(one, one, fc.array(header, { maxLength: 2 }))
      .map(([{ line }, { headers, body }, more]) => ({ line, headers: [...headers, ...more], body }));
    const sides = await both(KEYS);
    await fc.assert(
      fc.asyncProperty(mixed, async (raw) => void (await expectSame(sides, raw))),
      { numRuns: runs(600) },
    );
    expect(sides.direct.routed()).toBeLessThan(sides.router.routed());
  });

  test("a start at a gateway that is shutting down", async () => {
    const sides = await both(KEYS);
    sides.direct.drain();
    sides.router.drain();
    const [answer] = await expectSame(sides, post(START_PATH, START, SIGNED));
    expect(answer).toContain("503");
    expect(answer).toContain("GATEWAY_CLOSING");
    expect(sides.direct.routed()).toBe(1);
  });

  test("a caller that goes before its body is whole: nothing is stored", async () => {
    const sides = await both(KEYS);
    for (const { port } of [sides.direct, sides.router]) {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.write(
        `POST /e/the-key HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${EVENT.length + 1}\r\n\r\n${EVENT}`,
      );
      await new Promise((resolve) => setImmediate(resolve));
      socket.end();
      socket.resume();
      await once(socket, "close");
    }
    const [answer] = await expectSame(sides, post("/e/the-key", EVENT));
    expect(answer).toContain("200");
    await waitFor(() => sides.direct.eventsReceived() === 1, { what: "the one whole event" });
  });

  test("one body in many pieces", async () => {
    const sides = await both(KEYS);
    const answers = await Promise.all(
      [sides.direct, sides.router].map(async ({ port }) => {
        const socket = connect(port, "127.0.0.1").setNoDelay(true);
        const closed = once(socket, "close");
        let text = "";
        socket.on("data", (data) => {
          text += data.toString("latin1");
        });
        for (const byte of bytesOf(post("/e/the-key", EVENT)).toString("latin1")) {
          await new Promise<void>((resolve) => socket.write(byte, "latin1", () => resolve()));
        }
        await closed;
        return normal(text);
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.[0]).toContain("200");
  });
});
