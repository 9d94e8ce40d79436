import { describe, expect, test } from "vitest";
import { HoldfastClient } from "../../src/app/client.ts";

const asked: string[] = [];
const fetch = async (_url: string, init: RequestInit): Promise<Response> => {
  asked.push(String(init.body));
  return Response.json({ ids: ["e1"], status: 200, outcome: "started", runId: "r1" });
};
const client = new HoldfastClient({ id: "shop", isDev: true, fetch }, {});
const circle: Record<string, unknown> = {};
circle.self = circle;
const throwsLater = (): object => {
  let reads = 0;
  return Object.defineProperty({}, "x", {
    enumerable: true,
    get: () => {
      reads += 1;
      if (reads > 1) throw new Error("read twice");
      return 1;
    },
  });
};

describe.each<[string, (data: unknown) => Promise<unknown>]>([
  ["invoke", (data) => client.invoke("shop-order", { data: data as never })],
  ["send", (data) => client.send({ name: "a/b", data: data as never })],
])("The data that %s is given", (_name, call) => {
  test.each<[string, unknown, RegExp]>([
    ["a BigInt", { price: 1n }, /BigInt/],
    ["a BigInt at the root", 1n, /must be an object/],
    ["a circle", circle, /circular/],
    ["a function at the root", () => {}, /must be an object/],
    ["a function", { items: [{ go: () => {} }] }, /at `items\[0\]\.go` a function: JSON leaves it out/],
    ["a symbol", { kind: Symbol("x") }, /at `kind` a symbol/],
    ["a Map", { items: new Map([[1, 2]]) }, /at `items` a Map: JSON makes {} of it/],
    ["a Map at the root", new Map([[1, 2]]), /It is a Map/],
    ["a Set", { tags: new Set(["a"]) }, /a Set/],
    ["a promise that was not awaited", { user: Promise.resolve(1) }, /at `user` a Promise/],
    ["an error", { error: new Error("x") }, /an Error/],
    ["an abort signal", { signal: AbortSignal.abort() }, /at `signal` an AbortSignal: JSON makes {} of it/],
    ["an answer", { answer: new Response() }, /a Response/],
    ["a Date at the root", new Date(0), /toJSON/],
    ["what becomes text", { toJSON: () => "text" }, /toJSON/],
    ["what becomes nothing", { toJSON: () => undefined }, /toJSON/],
    ["what throws when it is read again", throwsLater(), /read twice/],
  ])("with %s is refused, and nothing is sent", async (_what, data, message) => {
    asked.length = 0;
    await expect(call(data)).rejects.toMatchObject({ code: "EVENT_INVALID", message: expect.stringMatching(message) });
    expect(asked).toEqual([]);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    [
      "dates, absent fields, numbers that JSON lacks, bytes",
      { at: new Date(0), no: undefined, n: NaN, none: new Date(NaN), b: new Uint8Array(2) },
    ],
    ["an object with toJSON", { toJSON: () => ({ a: 1 }) }],
    [
      "instances",
      {
        user: new (class User {
          id = 7;
        })(),
      },
    ],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 })],
    ["an error that says more of itself", { error: Object.assign(new Error("x"), { code: "E1" }) }],
  ])("may be %s", async (_what, data) => {
    asked.length = 0;
    await call(data);
    expect(asked).toHaveLength(1);
  });
});
