import { expect, test } from "vitest";
import { jsonLines, TEXT_CHARS } from "../src/data/json-lines.ts";

/** As it is read, with marks in brackets. */
const textOf = (lines: ReturnType<typeof jsonLines>): string =>
  lines
    .map(({ indent, key, kind, text, end, cut }) => {
      const mark = cut === null || kind === "left-out" ? "" : `[${cut.left}]`;
      const value = kind === "left-out" ? `[${text}]` : text;
      return `${"  ".repeat(indent)}${key === null ? "" : `${key}: `}${value}${mark}${end}`;
    })
    .join("\n");

test.each([
  ["a text", "ü\n\"'"],
  ["nothing", null],
  ["nested values", { a: [1, -2.5e30, [], {}, [[true]]], 'k"\n': { b: null, c: "d" }, e: false }],
])("%s is written as JSON has it", (_, value) => {
  expect(textOf(jsonLines(value))).toBe(JSON.stringify(value, null, 2));
});

test("what is undefined is not there, as in JSON", () => {
  expect(textOf(jsonLines({ a: undefined, b: [undefined] }))).toBe(JSON.stringify({ b: [null] }, null, 2));
  expect(textOf(jsonLines(undefined))).toBe("null");
});

test("a long text is shortened where it stands, and what comes after it stays", () => {
  const lines = jsonLines({ text: "x".repeat(1_000_000), list: [1, 2] });
  expect(textOf(lines)).toBe(`{\n  "text": "${"x".repeat(TEXT_CHARS)}[999000]",\n  "list": [\n    1,\n    2\n  ]\n}`);
  const cut = lines[1]?.cut;
  const more = jsonLines({ text: "x".repeat(1_000_000), list: [1, 2] }, new Map([[cut?.path ?? "", 900_000]]));
  expect(more[1]?.cut).toMatchObject({ shown: 900_000, left: 100_000 });
  const all = jsonLines({ text: "x".repeat(1_000_000) }, new Map([[cut?.path ?? "", 1_000_000]]));
  expect([all[1]?.cut, all[1]?.text.length]).toEqual([null, 1_000_002]);
});

test("a few characters more are not left out, and none is cut in two", () => {
  expect(jsonLines("x".repeat(TEXT_CHARS + 100))[0]?.cut).toBeNull();
  const [line] = jsonLines(`${"x".repeat(TEXT_CHARS - 1)}${"😀".repeat(1_000)}`);
  expect(line?.text).toBe(`"${"x".repeat(TEXT_CHARS - 1)}`);
  expect(line?.cut).toMatchObject({ shown: TEXT_CHARS - 1, left: 2_000 });
});

test("of too many lines the rest is counted, at each level, and brackets close", () => {
  const value = { list: [1, { a: 1, b: 2, c: 3 }, 3, 4], last: true };
  expect(textOf(jsonLines(value, undefined, 5))).toBe(
    [
      "{",
      '  "list": [',
      "    1,",
      "    {",
      '      "a": 1,',
      "      [… 2 more fields]",
      "    },",
      "    [… 2 more items]",
      "  ],",
      "  [… 1 more field]",
      "}",
    ].join("\n"),
  );
});

test("a long list leaves room for what stands after it, and shows more when that is wanted", () => {
  const value = { list: Array.from({ length: 100_000 }, (_, n) => n), last: true };
  const lines = jsonLines(value);
  expect(textOf(lines.slice(-5))).toBe('    499,\n    [… 99,500 more items]\n  ],\n  "last": true\n}');
  const path = lines.at(-4)?.cut?.path ?? "";
  expect(jsonLines(value, new Map([[path, 9_000]])).at(-4)?.cut).toMatchObject({ shown: 9_000, left: 91_000 });
  expect(textOf(jsonLines(value, new Map([[path, 100_000]])))).toBe(JSON.stringify(value, null, 2));
});

test("a long key is shortened too", () => {
  expect(jsonLines({ ["k".repeat(10_200)]: 1 })[1]?.key).toBe(`"${"k".repeat(200)} … 10,000 more characters"`);
});
