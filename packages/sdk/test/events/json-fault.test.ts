import { describe, expect, test } from "vitest";
import { encodeResult } from "../../src/execution/result-json.ts";
import { whyNoCopy } from "../../src/steps/step-call.ts";

const throwing = (why: string) => () => {
  throw new Error(why);
};
const circle: Record<string, unknown> = { name: "a" };
circle.self = { back: [circle] };

const CASES: [what: string, value: unknown, place: string, why: RegExp][] = [
  ["a BigInt", { order: { lines: [{ price: 5n }] } }, "order.lines[0].price", /BigInt/],
  ["the second of two lines", [{ ok: 1 }, { price: 5n }], "[1].price", /BigInt/],
  [
    "a getter that throws",
    { user: Object.defineProperty({}, "age", { enumerable: true, get: throwing("no age") }) },
    "user.age",
    /no age/,
  ],
  ["a toJSON that throws", { order: [{ at: { toJSON: throwing("no time") } }] }, "order[0].at", /no time/],
  [
    "a date that is none, in a toJSON",
    { at: { toJSON: () => new Date(Number.NaN).toISOString() } },
    "at",
    /Invalid time/,
  ],
  ["what a toJSON gives", { order: { toJSON: () => ({ price: 5n }) } }, "order.price", /BigInt/],
  ["a circle", circle, "self.back[0]", /circular/],
  ["a proxy that lets nothing be read", { trap: new Proxy({}, { ownKeys: throwing("no keys") }) }, "trap", /no keys/],
];

describe("What JSON cannot carry", () => {
  test.each(CASES)("%s is named with its place as a result, and as input of a step", (_what, value, place, why) => {
    const message = expect.stringMatching(why);
    const error = expect.objectContaining({ code: "STEP_RESULT_INVALID", message });
    expect(() => encodeResult(value, 'step "x"')).toThrow(error);
    expect(() => encodeResult(value, 'step "x"')).toThrow(`at \`${place}\`: `);
    expect(whyNoCopy(value)).toContain(`at \`${place}\`: `);
  });

  test("a value that is itself what JSON cannot carry has no place", () => {
    expect(() => encodeResult(5n, 'step "x"')).toThrow(/as JSON: Do not know how to serialize a BigInt/);
    const whole = { toJSON: throwing("nothing") };
    expect(() => encodeResult(whole, 'step "x"')).toThrow(/as JSON: nothing/);
  });

  test("the same object in two places is no circle", () => {
    const shared = { n: 1 };
    expect(() => encodeResult({ one: shared, two: shared, bad: 1n }, "x")).toThrow("at `bad`: ");
  });

  test("a value that throws once only has no place, and one that nests too deep is named by its first levels", () => {
    let reads = 0;
    const once = Object.defineProperty({}, "x", {
      enumerable: true,
      get: () => {
        reads += 1;
        if (reads === 1) throw new Error("first");
        return 1;
      },
    });
    expect(() => encodeResult({ once }, "x")).toThrow(/as JSON: first/);
    let deep: unknown = 1;
    for (let level = 0; level < 50_000; level += 1) deep = { in: deep };
    expect(() => encodeResult(deep, "x")).toThrow(/as JSON: it nests deeper/);
  });
});
