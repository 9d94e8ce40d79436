import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { byteMarks } from "../../src/json/byte-marks.ts";
import { JsonScanner } from "../../src/json/json-scanner.ts";
import { JsonText } from "../../src/json/json-text.ts";
import { LargeJsonReader, SHORT_CHARS } from "../../src/json/large-json.ts";
import { CHARS_A_TURN, readJson, readLargeJson, SMALL_BYTES } from "../../src/json/read-json.ts";
import { MAX_SEEN_VALUES, seenText, seenTextInTurns } from "../../src/json/seen-json.ts";

const OPTIONS = { what: "The text", maxDepth: 200 } as const;
const long = "x".repeat(SHORT_CHARS);

function scans(text: string, chars: number): boolean {
  const scanner = new JsonScanner(text, OPTIONS);
  try {
    while (!scanner.scan(chars));
    return true;
  } catch {
    return false;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function read(text: string, levels: number, dropped?: { of: string; field: string }): LargeJsonReader {
  const reader = new LargeJsonReader(text, { ...OPTIONS, levels, ...(dropped ? { dropped } : {}) });
  while (!reader.scan(7));
  return reader;
}

/** With everything built after all. */
function whole(value: unknown): unknown {
  if (value instanceof JsonText) return JSON.parse(value.text);
  if (Array.isArray(value)) return value.map(whole);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, whole(field)]));
}

const json = fc.json({ maxDepth: 5 });
const spaced = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value, null, "\t \n"));
/** Characters that mean something. */
const noise = fc.string({ unit: fc.constantFrom(...'{}[]:,"\\0123.eE+-tfn ru\n\u0000/x'), maxLength: 3 });
const broken = fc.tuple(json, fc.nat(), fc.nat({ max: 3 }), noise).map(([text, where, length, put]) => {
  const at = where % (text.length + 1);
  return text.slice(0, at) + put + text.slice(at + length);
});

describe("JSON scanner", () => {
  it("of long strings, too, the scanner accepts exactly what JSON.parse accepts", () => {
    const part = fc.oneof(
      fc.integer({ min: 0, max: 80 }).map((count) => "y".repeat(count)),
      fc.constantFrom("\\n", "\\u00e9", "\\\\", '\\"', "é", "\ud83d", "\n", "\u0000", "\u001f", "\\", "\\u12", '"'),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.boolean(), (parts, isClosed) => {
        const text = `["${parts.join("")}${isClosed ? '"]' : ""}`;
        expect(scans(text, 50)).toBe(parses(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it("a long string stays text where that is asked for, and nowhere else", () => {
    const value = `${long}é"\\\n`;
    const readAs = (text: string, levels: number, textOf: string): unknown => {
      const reader = new LargeJsonReader(text, { ...OPTIONS, levels, textOf });
      while (!reader.scan(7));
      return reader.value;
    };
    const ops = JSON.stringify([{ data: value, name: value, short: "s" }, { data: "short" }]);
    expect(readAs(ops, 2, "data")).toEqual([
      { data: new JsonText(JSON.stringify(value), 1, null), name: value, short: "s" },
      { data: "short" },
    ]);
    expect(readAs(JSON.stringify(value), 0, "")).toEqual(new JsonText(JSON.stringify(value), 1, null));
    expect(readAs(JSON.stringify(value), 0, "data")).toBe(value);
    expect(readAs(JSON.stringify([value]), 1, "data")).toEqual([value]);
  });

  it("the scanner accepts exactly what JSON.parse accepts", () => {
    let wrong = 0;
    fc.assert(
      fc.property(fc.oneof(json, spaced, broken, broken, noise), fc.integer({ min: 1, max: 50 }), (text, chars) => {
        if (!parses(text)) wrong += 1;
        expect(scans(text, chars)).toBe(parses(text));
      }),
      { numRuns: 5_000 },
    );
    expect(wrong).toBeGreaterThan(500);
  });

  it.each([
    [
      "",
      "01",
      "-",
      "1.",
      ".5",
      "1e",
      "1e+",
      "+1",
      "0x1",
      "Infinity",
      "NaN",
      "tru",
      "nul",
      "[1,]",
      "{,}",
      '{"a":1,}',
      "[]]",
    ],
    [
      '"\u0001"',
      '"\\x"',
      '"\\u12g4"',
      '"\\',
      '"abc',
      "'a'",
      '{"a"}',
      '{"a":}',
      "{a:1}",
      "[1 2]",
      "{]",
      "[}",
      "1 2",
      "\u00a0 1",
    ],
  ])("the scanner rejects text that only resembles JSON (%#)", (...texts) => {
    for (const text of texts) expect([text, scans(text, 10)]).toEqual([text, parses(text)]);
  });

  it("the scanner yields after each piece of the text, however large the text is", () => {
    const scanner = new JsonScanner(`[${"{},".repeat(100_000)}0]`, OPTIONS);
    let turns = 1;
    while (!scanner.scan(1_000)) turns += 1;
    expect(turns).toBeGreaterThanOrEqual(300);
    expect(scanner.values).toBe(100_002);
  });

  it("the scanner limits how deep values nest", () => {
    expect(scans("[".repeat(200) + "]".repeat(200), 64)).toBe(true);
    expect(scans("[".repeat(201) + "]".repeat(201), 64)).toBe(false);
  });
});

describe("Lazy JSON reader", () => {
  const value = fc.jsonValue({ maxDepth: 3 });

  it("the lazy reader gives the same values as JSON.parse, with long parts kept as text", () => {
    const object = fc.dictionary(
      fc.string(),
      fc.oneof(
        value,
        value.map((one) => [one, long]),
      ),
    );
    fc.assert(
      fc.property(fc.oneof(value, object, fc.array(object, { maxLength: 3 })), fc.nat({ max: 3 }), (one, levels) => {
        const text = JSON.stringify(one);
        fc.pre(!text.includes("__proto__"));
        expect(whole(read(text, levels).value)).toEqual(JSON.parse(text));
      }),
    );
    const { value: kept } = read(JSON.stringify([{ name: "a", data: { long }, list: [long] }]), 2);
    expect(kept).toEqual([{ name: "a", data: expect.any(JsonText), list: expect.any(JsonText) }]);
  });

  it.each([
    [`{"_inngest":1,"long":"${long}"}`],
    [`{"long":"${long}","_inngest":{"a":[1,2]}}`],
    [`{"_inngest":1 , "_inngest":2,"a":3,"\\u005finngest":4,"b":5,"long":"${long}", "_inngest":[{}] }`],
    [`{ "a":{"_inngest":1} ,"_inngest":"${long}"}`],
    [`{"_inngest":"${long}"}`],
    [`{"_inngestx":1,"inngest":2,"long":"${long}"}`],
  ])("the lazy reader removes the given field wherever it occurs (%#)", (data) => {
    const { value } = read(`{"d\\u0061ta":${data},"user":${data}}`, 1, { of: "data", field: "_inngest" });
    const kept = value as { data: JsonText; user: JsonText };
    const { _inngest: _, ...rest } = JSON.parse(data) as Record<string, unknown>;
    expect(JSON.parse(kept.data.text)).toEqual(rest);
    expect(kept.data.members?.map(({ key }) => JSON.parse(key) as string).includes("_inngest")).toBe(false);
    expect(JSON.parse(kept.user.text)).toEqual(JSON.parse(data));
  });

  it("the lazy reader never sets a prototype from its input", () => {
    const { value: kept } = read(`{"__proto__":{"admin":true},"name":"a","data":{"__proto__":{"x":"${long}"}}}`, 1);
    expect([Object.getPrototypeOf(kept), Object.keys(kept as object)]).toEqual([Object.prototype, ["name", "data"]]);
  });

  it("the lazy reader accepts lists of events and limits their entries", () => {
    const reader = read(JSON.stringify([{ name: "a" }, { name: "b" }]), 2);
    expect(reader.innermost).toHaveLength(2);
    expect(() => read(`[${"0,".repeat(6_000)}0]`, 2)).toThrow(/more than 5000 entries/);
  });
});

describe("Bytes of large JSON", () => {
  const filler = "y".repeat(SMALL_BYTES);
  const byte = fc.oneof(fc.nat({ max: 255 }), fc.constantFrom(0x00, 0x1f, 0x20, 0x21, 0x7f, 0x80, 0xff));

  it("of bytes it is known whether all are ASCII and whether one is a control character, wherever they lie", () => {
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 20 }), fc.nat({ max: 4 }), fc.boolean(), (list, from, isPlain) => {
        const all = isPlain ? list.map((one) => 0x20 + (one % 0x60)) : list;
        const bytes = new Uint8Array(from + all.length);
        bytes.set(all, from);
        expect(byteMarks(bytes.subarray(from))).toEqual({
          isAscii: all.every((one) => one < 0x80),
          hasControls: all.some((one) => one < 0x20),
        });
      }),
      { numRuns: 5_000 },
    );
  });

  it("it is read as JSON.parse reads it, whatever is in its strings and between its values", async () => {
    const sign = fc.constantFrom(
      "é",
      "漢",
      "😀",
      "\\ud800",
      "\\u0000",
      '\\"',
      "\\\\",
      "\u0000",
      "\u001e",
      "\n",
      " ",
      "x",
    );
    const between = fc.constantFrom("", "", " ", "\n\t", "\u0001");
    const number = fc.constantFrom("1234567890123456789.10", "1e400", "-0", "0.1");
    await fc.assert(
      fc.asyncProperty(fc.array(sign, { maxLength: 6 }), between, number, async (signs, space, precise) => {
        const parts = signs.join("");
        const text = `[{"data":"${parts}${filler}${parts}"},${space}{"data":[${precise},"${filler}"]}]`;
        const bytes = new TextEncoder().encode(text);
        const reading = readLargeJson(bytes, { ...OPTIONS, levels: 2, textOf: "data" });
        if (!parses(text)) {
          await expect(reading).rejects.toThrow(/is not JSON/);
          return;
        }
        const { value } = await reading;
        const [first, second] = value as { data: JsonText }[];
        // As it came, to the last digit.
        expect(first?.data.text === `"${parts}${filler}${parts}"`).toBe(true);
        expect(second?.data.text === `[${precise},"${filler}"]`).toBe(true);
      }),
      { numRuns: 200 },
    );
    await expect(readLargeJson(new Uint8Array(SMALL_BYTES).fill(0xff), { ...OPTIONS, levels: 1 })).rejects.toThrow();
  });

  it("each place is searched at most once for each sign, however they follow each other", () => {
    const searched: number[] = [];
    const { indexOf } = String.prototype;
    const text = `["${`${"z".repeat(40)}\\n`.repeat(5_000)}","${'\\"'.repeat(5_000)}${"z".repeat(50)}"]`;
    const scanner = new JsonScanner(text, { ...OPTIONS, isWithoutControls: true });
    vi.spyOn(String.prototype, "indexOf").mockImplementation(function (this: string, sign: string, from = 0) {
      const at = indexOf.call(this, sign, from);
      searched.push((at < 0 ? this.length : at) - from);
      return at;
    });
    try {
      while (!scanner.scan(CHARS_A_TURN));
    } finally {
      vi.restoreAllMocks();
    }
    expect(searched.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(2 * text.length);
  });
});

describe("Turns of the event loop", () => {
  afterEach(() => vi.restoreAllMocks());

  /** In which turn each call was, of those that take long. */
  function watched(): { readonly turns: number[]; readonly lengths: number[]; end(): void } {
    let now = 0;
    let isOn = true;
    const next = (): void => {
      now += 1;
      if (isOn) setImmediate(next);
    };
    next();
    const turns: number[] = [];
    const lengths: number[] = [];
    const note = (length: number): void => {
      turns.push(now);
      lengths.push(length);
    };
    const { scan } = LargeJsonReader.prototype;
    vi.spyOn(LargeJsonReader.prototype, "scan").mockImplementation(function (this: LargeJsonReader, chars) {
      note(chars);
      return scan.call(this, chars);
    });
    const { decode } = TextDecoder.prototype;
    vi.spyOn(TextDecoder.prototype, "decode").mockImplementation(function (
      this: InstanceType<typeof TextDecoder>,
      input,
      options,
    ) {
      if (input) note(input.byteLength / 8);
      return decode.call(this, input, options);
    });
    const end = (): void => {
      isOn = false;
    };
    return { turns, lengths, end };
  }

  const text = JSON.stringify({ data: { list: Array.from({ length: 400_000 }, (_, n) => n) } });

  it.each([
    ["JSON of a request", () => readJson(new TextEncoder().encode(text), { what: "It", levels: 1 })],
    ["stored text", () => seenTextInTurns(text)],
  ])("%s that is large takes a turn for each part of it", async (_, act) => {
    const { turns, lengths, end } = watched();
    try {
      await act();
    } finally {
      end();
    }
    expect(lengths.length).toBeGreaterThanOrEqual(text.length / CHARS_A_TURN);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(CHARS_A_TURN);
    // What was decoded last is read in the same turn.
    expect(turns.length - new Set(turns).size).toBeLessThanOrEqual(1);
  });

  it("up to its limit JSON is read at once", async () => {
    const { lengths, end } = watched();
    try {
      const small = `"${"a".repeat(SMALL_BYTES - 2)}"`;
      expect(await readJson(new TextEncoder().encode(small), { what: "It", levels: 1 })).toBe(JSON.parse(small));
      expect(lengths.filter((length) => length === CHARS_A_TURN)).toEqual([]);
      await readJson(new TextEncoder().encode(` ${small}`), { what: "It", levels: 1 });
      expect(lengths.filter((length) => length === CHARS_A_TURN).length).toBeGreaterThan(0);
    } finally {
      end();
    }
  });
});

describe("The view of a large event in expressions", () => {
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
  const event = (data: object): { data: Record<string, unknown> } =>
    seenText(JSON.stringify({ name: "shop/order", data: { ...data, pad: long.repeat(5) } })) as never;

  it("expressions see every field of a large event that has a moderate number of values", () => {
    const { data } = event({ kind: "x", huge: numbers(50_000), list: numbers(100), deep: { a: { b: 1 } } });
    expect([data.kind, data.list, data.deep]).toEqual(["x", numbers(100), { a: { b: 1 } }]);
    expect(data.list).toBe(data.list);
    expect(() => data.huge).toThrow(/holds 50001 values/);
    expect(Object.keys(data)).toEqual(["kind", "huge", "list", "deep", "pad"]);
  });

  it("the values read from a large event are counted together", () => {
    const part = numbers(MAX_SEEN_VALUES / 2 - 10);
    const { data } = event({ a: part, b: part, c: part });
    expect([data.a, data.b]).toEqual([part, part]);
    expect(() => data.c).toThrow(/expressions may look at/);
  });

  it("expressions see nothing of an object with too many fields", () => {
    const fields = Object.fromEntries(numbers(20_000).map((n) => [`k${n}`, n]));
    const seen = event(fields);
    expect(() => seen.data).toThrow(/holds 20002 values/);
  });

  it("small fields, which are built together with their object, are counted, too", () => {
    const { data } = event(Object.fromEntries(numbers(4_000).map((n) => [`k${n}`, [1, 2, 3, 4]])));
    const readable = numbers(4_000).filter((n) => {
      try {
        return data[`k${n}`] !== undefined;
      } catch {
        return false;
      }
    });
    expect(readable.length).toBeLessThanOrEqual(MAX_SEEN_VALUES / 5);
    expect(readable.length).toBeGreaterThan(0);
  });

  it.each([
    ["of many values", numbers(40)],
    ["of long text", "x".repeat(1_500)],
  ])("fields %s are built when they are read, not before", (_, field) => {
    const text = JSON.stringify({ data: Object.fromEntries(numbers(1_000).map((n) => [`k${n}`, field])) });
    const seen = seenText(text) as { data: Record<string, unknown> };
    const { parse } = JSON;
    let chars = 0;
    const spy = vi.spyOn(JSON, "parse").mockImplementation((part, reviver) => {
      chars += part.length;
      return parse(part, reviver);
    });
    try {
      expect(seen.data.k5).toEqual(field);
    } finally {
      spy.mockRestore();
    }
    expect(chars).toBeLessThan(text.length / 4);
  });
});
