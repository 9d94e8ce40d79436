import { expect, test } from "vitest";
import { errorObject } from "../../src/execution/result-json.ts";

const circle = (fields: object): object => Object.assign(fields, { self: fields });

test.each<[string, unknown, string]>([
  ["plain data", { a: 1 }, '{"a":1}'],
  ["a BigInt", 10n, "10n"],
  ["a BigInt inside", { a: 1, list: [10n] }, '{"a":1,"list":["10n"]}'],
  ["a circle", circle({ code: "X" }), '{"code":"X","self":"[Circular]"}'],
  [
    "the same object twice",
    [circle({}), { at: new Date(0) }],
    '[{"self":"[Circular]"},{"at":"1970-01-01T00:00:00.000Z"}]',
  ],
  ["text", "text", "text"],
  ["nothing", undefined, "undefined"],
  [
    "instances of classes that JSON refuses",
    circle({ socket: Object.assign(new (class Socket {})(), circle({})), a: new Map() }),
    '{"socket":"[Socket]","a":{},"self":"[Circular]"}',
  ],
  [
    "an instance of a class",
    circle(Object.assign(new (class Fault {})(), { n: 1n })),
    '{"n":"1n","self":"[Circular]"}',
  ],
  [
    "what throws when read",
    {
      n: 1n,
      get bad() {
        throw new Error("no");
      },
    },
    '{"n":"1n","bad":"[unreadable]"}',
  ],
])("what is thrown and no error has its fields as its message: %s", (_, thrown, message) => {
  expect(errorObject(thrown)).toEqual({ name: "Error", message, __serialized: true });
});

test("an error keeps fields of its own that JSON refuses, as text; so do its cause and the errors in it", () => {
  const balance = { amount: 10n, currency: "EUR" };
  const within = (message: string): Error => Object.assign(new RangeError(message), { balance });
  const thrown = Object.assign(new AggregateError([within("one")], "all", { cause: within("deep") }), {
    code: "DECLINED",
    limit: 5n,
    response: circle({ status: 402, at: new Date(0) }),
    retry: () => {},
  });
  const data = { balance: { amount: "10n", currency: "EUR" } };
  expect(errorObject(thrown)).toMatchObject({
    name: "AggregateError",
    message: "all",
    code: "DECLINED",
    stack: expect.stringContaining("carried-error.test.ts"),
    cause: { name: "RangeError", message: "deep", data },
    data: {
      limit: "5n",
      response: { status: 402, at: "1970-01-01T00:00:00.000Z", self: "[Circular]" },
      errors: [{ name: "RangeError", message: "one", data }],
    },
  });
  expect(errorObject(Object.freeze(within("frozen"))).data).toEqual(data);
});

test("what has no end is as much as before, and what is large is left out in part", () => {
  const endless = new AggregateError([], "endless");
  endless.errors.push(endless);
  expect(JSON.stringify(errorObject(endless)).length).toBeLessThan(50_000);
  const many = Array.from({ length: 1_000 }, (_, n) => ({ n: BigInt(n) }));
  const { message } = errorObject(many);
  expect(message.length).toBeLessThan(5_000);
  expect(message).toContain('{"n":"0n"},{"n":"1n"}');
  expect(message).toContain("[left out]");
});
