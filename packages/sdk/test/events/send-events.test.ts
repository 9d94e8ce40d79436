import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import * as v from "valibot";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";
import type { ClientOptions } from "../../src/app/client-options.ts";
import { Holdfast } from "../../src/app/holdfast.ts";
import { eventType } from "../../src/events/event-types.ts";

interface Seen {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: { readonly name: string; readonly data: unknown; readonly ts?: number; readonly id?: string }[];
}

type Answer = { readonly status: number; readonly body: string } | "hang up";

const good = (count = 1): Answer => ({
  status: 200,
  body: JSON.stringify({ ids: Array.from({ length: count }, (_, i) => `id${i}`), status: 200 }),
});

let server: Server;
let url: string;
const seen: Seen[] = [];
let answers: Answer[] = [];

beforeEach(async () => {
  seen.length = 0;
  answers = [];
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    seen.push({
      path: request.url ?? "",
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString()),
    });
    const answer = answers.shift() ?? good();
    if (answer === "hang up") return void request.socket.destroy();
    response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const app = (options: Partial<ClientOptions> = {}) =>
  new Holdfast({ id: "app", isDev: true, baseUrl: url, ...options }, {});

describe("Event requests", () => {
  test("an event request has the path, headers and body of the event API", async () => {
    answers = [good(2)];
    const client = app({ eventKey: "key/1", env: "branch" });
    expect(
      await client.send([
        { name: "a/b", data: { x: 1 } },
        { name: "a/c", id: "mine", ts: 5, v: "2" },
      ]),
    ).toEqual({ ids: ["id0", "id1"] });
    const [request] = seen;
    expect(request?.path).toBe("/e/key%2F1");
    expect(request?.headers).toMatchObject({ "content-type": "application/json", "x-inngest-env": "branch" });
    expect(request?.headers["user-agent"]).toBe(request?.headers["x-inngest-sdk"]);
    expect(request?.headers["x-inngest-event-id-seed"]).toMatch(/^\d{13},[A-Za-z0-9+/]{14}==$/);
    expect(request?.body).toEqual([
      { name: "a/b", data: { x: 1 } },
      { name: "a/c", data: {}, id: "mine", ts: 5, v: "2" },
    ]);
  });

  test("without an event key, dev mode uses a placeholder and other modes throw", async () => {
    await app().send({ name: "a/b" });
    expect(seen[0]?.path).toBe("/e/NO_EVENT_KEY_SET");
    await expect(app({ isDev: false }).send({ name: "a/b" })).rejects.toMatchObject({ code: "OPTION_MISSING" });
  });

  test("an event without a time leaves without one, however far ahead the clock is: the gateway would start it later", async () => {
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 10_000);
    await app().send({ name: "a/b", data: {} });
    await new HoldfastClient({ id: "app", isDev: true, baseUrl: url }, {}).send([
      { name: "a/b" },
      { name: "a/b", ts: 7 },
    ]);
    const bare = { name: "a/b", data: {} };
    expect(seen.map(({ body }) => body)).toEqual([[bare], [bare, { ...bare, ts: 7 }]]);
  });

  test("a base path is kept, and an empty list sends no request", async () => {
    await app({ baseUrl: `${url}/prefix` }).send({ name: "a/b" });
    expect(seen[0]?.path).toBe("/prefix/e/NO_EVENT_KEY_SET");
    expect(await app().send([])).toEqual({ ids: [] });
    expect(seen).toHaveLength(1);
  });
});

describe("Answers to event requests", () => {
  test("sending events is retried after 5xx, 429 and broken connections, with the same seed", async () => {
    answers = [
      { status: 503, body: "busy" },
      "hang up",
      { status: 429, body: "{}" },
      { status: 200, body: '{"ids":[],"status":500}' },
      good(),
    ];
    expect(await app().send({ name: "a/b" })).toEqual({ ids: ["id0"] });
    expect(seen).toHaveLength(5);
    expect(new Set(seen.map((request) => request.headers["x-inngest-event-id-seed"])).size).toBe(1);
    expect(new Set(seen.map((request) => JSON.stringify(request.body))).size).toBe(1);
  });

  test("sending events fails after five attempts, with the reason and without the key", async () => {
    answers = Array.from({ length: 9 }, () => ({ status: 500, body: '{"error":"broken","status":500}' }));
    const error = await app({ eventKey: "sekret" })
      .send({ name: "a/b" })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "EVENT_SEND_FAILED", message: expect.stringMatching(/5 tries.*500 broken/) });
    expect(String(error)).not.toContain("sekret");
    expect(seen).toHaveLength(5);
  });

  test.each<[string, Answer]>([
    ["4xx", { status: 400, body: '{"ids":[],"status":400,"error":"bad name"}' }],
    ["a good status with a bad body status", { status: 200, body: '{"ids":[],"status":401,"error":"bad key"}' }],
    ["a good status with an error", { status: 200, body: '{"ids":["x"],"status":200,"error":"no"}' }],
    ["a bad status with a good body", { status: 404, body: '{"ids":["x"],"status":200}' }],
    ["no JSON", { status: 200, body: "<html>" }],
  ])('the answer "%s" is final', async (_name, answer) => {
    answers = [answer];
    await expect(app().send({ name: "a/b" })).rejects.toMatchObject({ code: "EVENT_SEND_FAILED" });
    expect(seen).toHaveLength(1);
  });

  test("send() fails with a code when nothing listens at the address", async () => {
    const fetch = async () => {
      throw new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") });
    };
    await expect(app({ fetch }).send({ name: "a/b" })).rejects.toMatchObject({
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });
});

describe("Invalid events", () => {
  test.each<[string, unknown]>([
    ["no name", { data: {} }],
    ["empty name", { name: "" }],
    ["reserved name", { name: "inngest/function.failed" }],
    ["own reserved name", { name: "holdfast/x" }],
    ["long name", { name: "x".repeat(256) }],
    ["data that is no object", { name: "a", data: [1] }],
    ["bad ts", { name: "a", ts: 1.5 }],
    ["bad id", { name: "a", id: "" }],
    ["BigInt", { name: "a", data: { x: 1n } }],
    ["too large", { name: "a", data: { x: "y".repeat(3 * 1024 * 1024) } }],
    ["no event", null],
  ])("an invalid event is not sent: %s", async (_name, event) => {
    await expect(app().send(event as never)).rejects.toMatchObject({ code: "EVENT_INVALID" });
    expect(seen).toEqual([]);
  });

  test("more events than the limit are rejected", async () => {
    await expect(app().send(Array.from({ length: 5001 }, () => ({ name: "a" })))).rejects.toMatchObject({
      code: "EVENT_INVALID",
    });
  });

  test("data that violates the schema of the client or of the event type is rejected", async () => {
    const schema = v.object({ user: v.string(), count: v.optional(v.number(), 1) });
    const client = app({ schemas: { "a/b": schema } });
    const problem = { code: "EVENT_INVALID", message: expect.stringContaining("data.user") };
    await expect(client.send({ name: "a/b", data: { user: 5 } } as never)).rejects.toMatchObject(problem);
    const signedUp = eventType("a/c", { schema, version: "3" });
    await expect(app().send(signedUp.create({ user: 5 } as never))).rejects.toMatchObject(problem);
    expect(seen).toEqual([]);
    // What is sent is what was given: the receiver applies defaults and transformations.
    await app().send(signedUp.create({ user: "u" }, { id: "i" }));
    expect(seen[0]?.body).toEqual([{ name: "a/c", data: { user: "u" }, v: "3", id: "i" }]);
  });

  test("a schema that is not a Standard Schema is rejected", () => {
    expect(() => eventType("a", { schema: {} as never })).toThrow(expect.objectContaining({ code: "EVENT_INVALID" }));
    expect(() => eventType("")).toThrow(expect.objectContaining({ code: "EVENT_INVALID" }));
  });
});

describe("Events that no gateway would accept", () => {
  const nested = (levels: number): Record<string, unknown> => {
    let value: Record<string, unknown> = {};
    for (let level = 1; level < levels; level += 1) value = { value };
    return value;
  };

  test.each<[string, object, string]>([
    [
      "a misspelled field",
      { name: "a", dta: { n: 1 } },
      'Unknown event field "dta"; valid fields: name, data, id, ts, v, user, meta.',
    ],
    ["a field of functions", { name: "a", data: {}, deadlineAt: 1 }, 'event field "deadlineAt"'],
    ["a version", { name: "a", data: {}, version: "2" }, 'event field "version"'],
    ["no name", { data: {} }, "The name of an event must be a non-empty string, not undefined."],
    ["an empty name", { name: "" }, 'The name of an event must be a non-empty string, not "".'],
    ["a number for a name", { name: 5 }, "The name of an event must be a non-empty string, not 5."],
    ["the year 275760", { name: "a", ts: 8.64e15 }, "at most a year ahead"],
    ["two years ahead", { name: "a", ts: Date.now() + 2 * 366 * 86_400_000 }, "at most a year ahead"],
    ["before 1970", { name: "a", ts: -1 }, "since 1970"],
    ["a NUL in its name", { name: "a\0b" }, "contains a NUL character"],
    ["a NUL in its id", { name: "a", id: "b\0c" }, 'The id of event "a" contains a NUL character'],
    [
      "half a character in its name",
      { name: "a\ud83d" },
      'The event name "a\\ud83d" contains half of a surrogate pair',
    ],
    [
      "half a character in its id",
      { name: "a", id: "b\ud83d" },
      'The id of event "a" contains half of a surrogate pair',
    ],
    ["data of 181 levels", { name: "a", data: nested(181) }, "nests deeper than 180 levels"],
  ])("an event that no gateway would accept is rejected before sending: %s", async (_name, event, text) => {
    await expect(app().send(event as never)).rejects.toMatchObject({
      code: "EVENT_INVALID",
      message: expect.stringContaining(text),
    });
    expect(seen).toHaveLength(0);
  });

  test("a time within a year and data of 180 levels are accepted", async () => {
    await app().send([{ name: "a", ts: Date.now() + 300 * 86_400_000 }]);
    await app().send({ name: "a", data: nested(180) });
    expect(seen).toHaveLength(2);
  });
});
