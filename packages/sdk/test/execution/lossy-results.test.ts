import type { LogLevel } from "@holdfast/core";
import { expect, test } from "vitest";
import { IsolatedValue } from "../../src/execution/isolated-body.ts";
import { warnOfLoss, warnOfLossInData } from "../../src/execution/lossy-results.ts";
import type { ResultJson } from "../../src/execution/result-json.ts";

const lines: [LogLevel, string][] = [];
const log = (level: LogLevel, message: string): void => void lines.push([level, message]);
const told = (what: string, value: unknown): string[] => {
  lines.length = 0;
  warnOfLoss(log, () => what, value);
  return lines.map(([level, message]) => `${level} ${message}`);
};

test.each<[string, unknown, string]>([
  ["a Map", new Map(), "is a Map, of which JSON makes {}"],
  ["a Set inside", { tags: [new Set()] }, "has at `tags[0]` a Set, of which JSON makes {}"],
  ["NaN", Number.NaN, "is NaN, of which JSON makes null"],
  ["an endless number", { a: { b: -Infinity } }, "has at `a.b` -Infinity, of which JSON makes null"],
  ["a date that is none", new Date(Number.NaN), "is an invalid Date, of which JSON makes null"],
  [
    "such a date inside",
    { a: [{ at: new Date("soon") }] },
    "has at `a[0].at` an invalid Date, of which JSON makes null",
  ],
  ["an error", new Error("x"), "is an Error, of which JSON makes {}"],
  [
    "an abort signal",
    { signal: new AbortController().signal },
    "has at `signal` an AbortSignal, of which JSON makes {}",
  ],
  ["an answer", new Response("x"), "is a Response, of which JSON makes {}: that is what is stored"],
  ["a pattern", [/x/], "has at `[0]` a RegExp, of which JSON makes {}"],
  ["a buffer of an array", new ArrayBuffer(8), 'toString("base64")`'],
  ["a view of one", new DataView(new ArrayBuffer(8)), "is a DataView, of which JSON makes {}"],
  ["bytes", { body: new Uint8Array(9) }, 'has at `body` a Uint8Array, of which JSON makes {"0":...}'],
  ["other numbers", new Float64Array(9), 'Return `Buffer.from(bytes).toString("base64")`'],
  ["a promise", { user: Promise.resolve(1) }, "Is an `await` missing?"],
])("a result with %s is named once for its step, with what is stored instead", (what, value, text) => {
  const step = `step "${what}"`;
  expect(told(step, value)).toEqual([expect.stringContaining(text)]);
  expect(lines[0]?.[0]).toBe("warn");
  expect(told(step, value)).toEqual([]);
});

test("a result that was made in another thread is named by what that thread has found", () => {
  const timing = { startedMs: 0, durationMs: 1 };
  const loss = { what: "a Set", path: "tags", becomes: "{}" } as const;
  const of = (json: ResultJson): IsolatedValue => new IsolatedValue(json, timing);
  const text = '{"tags":{}}';
  expect(told("isolated", of({ text, isUndefined: false }))).toEqual([]);
  const line = expect.stringContaining("has at `tags` a Set, of which JSON makes {}");
  expect(told("isolated", of({ text, isUndefined: false, loss }))).toEqual([line]);
});

test("data of step.invoke is named once for its step, apart from the step's result", () => {
  const tell = (data: unknown): string[] => {
    lines.length = 0;
    warnOfLossInData(log, 'step "call"', data);
    return lines.map(([, message]) => message);
  };
  expect(tell({ n: 1, at: new Date(), none: undefined })).toEqual([]);
  expect(tell(undefined)).toEqual([]);
  const text =
    'The data of step "call" has at `n` Infinity, of which JSON makes null: that is what the invoked function';
  expect(tell({ n: Number.POSITIVE_INFINITY })).toEqual([expect.stringContaining(text)]);
  expect(tell({ n: Number.POSITIVE_INFINITY })).toEqual([]);
  expect(told('step "call"', new Map())).toHaveLength(1);
});

test("plain results, dates, methods and absent fields are not worth a word", () => {
  for (const value of [null, 7, "x", true, [], { at: new Date(), f: () => {}, u: undefined }, Buffer.from("x")]) {
    expect(told("step", value)).toEqual([]);
  }
});

test("a result that throws when it is looked at costs nothing, and a large one is looked at in part", () => {
  const trap = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error("no");
      },
    },
  );
  expect(told("trap", trap)).toEqual([]);
  expect(told("large", [...Array.from({ length: 1_000 }, () => 1), new Map()])).toEqual([]);
});

test("a flood of steps with ids of their own ends after a hundred lines", () => {
  const all = Array.from({ length: 200 }, (_, n) => told(`step ${n}`, new Set())).flat();
  expect(all.length).toBeGreaterThan(50);
  expect(all.length).toBeLessThanOrEqual(100);
});
