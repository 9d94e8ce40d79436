import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import {
  encodeJsonBytes,
  jsonNestsDeeperThan,
  normalizeError,
  parseJsonBytes,
  parseOps,
  WIRE_LIMITS,
} from "../src/index.ts";

const coded = (code: string) => expect.objectContaining({ code });

describe("JSON from a peer", () => {
  test("JSON from a peer survives a round trip", () => {
    const value = { a: [1, "é\u0000", null, { b: true }] };
    expect(parseJsonBytes(encodeJsonBytes(value), "payload")).toEqual(value);
  });

  test("text that is not JSON, not UTF-8 or too deeply nested is rejected", () => {
    expect(() => parseJsonBytes(encodeJsonBytes("x").subarray(0, 2), "body")).toThrowError(coded("FRAME_INVALID"));
    expect(() => parseJsonBytes(Uint8Array.of(0x22, 0xff, 0x22), "body")).toThrowError(coded("FRAME_INVALID"));
    const nested = (depth: number) => new TextEncoder().encode("[".repeat(depth) + "]".repeat(depth));
    expect(() => parseJsonBytes(nested(WIRE_LIMITS.maxJsonDepth + 2), "body")).toThrowError(/deeper/);
    expect(() => parseJsonBytes(nested(100_000), "body")).toThrowError(coded("FRAME_INVALID"));
    expect(parseJsonBytes(nested(WIRE_LIMITS.maxJsonDepth), "body")).toBeInstanceOf(Array);
  });

  test("brackets inside strings do not count as nesting", () => {
    const text = '\\"[{'.repeat(1000);
    expect(parseJsonBytes(encodeJsonBytes({ text }), "body")).toEqual({ text });
  });
});

describe("the depth of JSON", () => {
  const depthOf = (value: unknown): number =>
    typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  /** Long and short strings of what could be taken for structure. */
  const trickyText = fc.array(fc.constantFrom('"', "\\", "[", "{", "]", "}", "a", "é", "\\\\".repeat(30)), {
    maxLength: 90,
  });
  const json = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, fc.integer(), tie("text"), tie("list"), tie("record")),
    text: trickyText.map((parts) => parts.join("")),
    list: fc.array(tie("value"), { maxLength: 4 }),
    record: fc.dictionary(
      trickyText.map((parts) => parts.join("")),
      tie("value"),
      { maxKeys: 3 },
    ),
  })).value;

  test("the depth of JSON text is that of its value, whatever its strings hold", () => {
    fc.assert(
      fc.property(json, fc.integer({ min: 0, max: 12 }), (value, maxDepth) => {
        // Text this short cannot nest deeper, and is not looked at.
        const text = `${" ".repeat(2 * maxDepth + 1)}${JSON.stringify(value)}`;
        expect(jsonNestsDeeperThan(text, maxDepth)).toBe(depthOf(value) > maxDepth);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test("the depth of JSON bytes is that of its value, whatever its strings hold", () => {
    const outer = WIRE_LIMITS.maxJsonDepth - 2;
    fc.assert(
      fc.property(json, (value) => {
        const bytes = new TextEncoder().encode("[".repeat(outer) + JSON.stringify(value) + "]".repeat(outer));
        if (depthOf(value) > 2) expect(() => parseJsonBytes(bytes, "body")).toThrowError(/deeper/);
        else expect(parseJsonBytes(bytes, "body")).toBeInstanceOf(Array);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe("Ops", () => {
  test("reading ops keeps known fields and drops others", () => {
    const [op] = parseOps(
      [
        {
          id: "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
          op: "StepRun",
          name: "a",
          displayName: "a",
          opts: {},
          userland: { id: "a", index: 1, junk: 1 },
          data: { v: 1 },
          timing: { a: 1, b: 2 },
          rawArgs: ["secret"],
          mode: "x",
        },
      ],
      "ops",
    );
    expect(op).toEqual({
      id: "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
      op: "StepRun",
      name: "a",
      displayName: "a",
      opts: {},
      userland: { id: "a", index: 1 },
      data: { v: 1 },
      timing: { a: 1, b: 2 },
    });
  });

  test.each([
    ["not an array", {}],
    ["no object", [1]],
    ["unknown op", [{ id: "a", op: "Nope" }]],
    ["no id", [{ op: "StepRun" }]],
  ])("an op list is rejected: %s", (_, value) =>
    expect(() => parseOps(value, "ops")).toThrowError(coded("FRAME_INVALID")),
  );

  test("an error of a peer gets a name and a message", () => {
    expect(normalizeError({ error: "driver says no" })).toMatchObject({ name: "Error", message: "driver says no" });
    expect(normalizeError("text")).toEqual({ name: "Error", message: "text" });
    expect(normalizeError({ name: "E", message: "m", stack: "s", extra: 1 })).toEqual({
      name: "E",
      message: "m",
      stack: "s",
      extra: 1,
    });
  });
});
