import type { LogRow } from "@holdfast/store";
import { LOG_KINDS } from "@holdfast/store";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../packages/tooling/src/runs.ts";
import { dataLength, dataList, dataTexts, factsText, readFacts } from "../../src/store-postgres/connection/log-rows.ts";
import { byLength, ownTextsOf } from "../../src/store-postgres/connection/pg-values.ts";
import { answering, together } from "../../src/store-postgres/writer/together.ts";

const hash = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 40, maxLength: 40 });
const key = fc.oneof(
  fc.string(),
  hash,
  hash.map((text) => text.toUpperCase()),
  fc.string().map((text) => `=${text}`),
  fc.string({ unit: fc.constantFrom("\\", "\n", "n", " ", '"') }),
);
const fact: fc.Arbitrary<LogRow> = fc.record({
  kind: fc.constantFrom(...LOG_KINDS),
  key,
  attempt: fc.nat(),
  iteration: fc.nat(),
  // Beyond some length texts are kept as they are.
  dataJson: fc.oneof({ weight: 9, arbitrary: fc.json() }, { weight: 1, arbitrary: fc.json().map(long) }),
});
function long(json: string): string {
  return `[${json},"${"x".repeat(40_000)}"]`;
}
const facts = fc.array(fact, { minLength: 1, maxLength: 5 });

describe("Rows of the run log", () => {
  it("facts are read as they were written, whatever is in their keys", () => {
    fc.assert(
      fc.property(facts, (written) => {
        expect(readFacts(factsText(written), dataList([{ facts: written }]))).toEqual(written);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("the same where the data of a row is a parameter of its own, whose length is known before", () => {
    fc.assert(
      fc.property(facts, (written) => {
        const [data = ""] = dataTexts([{ facts: written }]);
        expect(readFacts(factsText(written), data)).toEqual(written);
        expect(dataLength(written)).toBe(written.map(({ dataJson }) => dataJson).join("").length);
      }),
      { numRuns: runs(1_000) },
    );
  });

  it("long texts are apart, so many of them; all others keep their order", () => {
    const rows = Array.from({ length: 40 }, (_, index) => ({ index, length: index % 2 === 0 ? 65_536 : 65_535 }));
    const { short, long } = byLength(rows, ({ length }) => length);
    expect(long.map(({ index }) => index)).toEqual(Array.from({ length: 16 }, (_, index) => 2 * index));
    expect(short).toEqual(rows.filter((row) => !long.includes(row)));
    expect(byLength(rows.slice(1, 2), ({ length }) => length)).toEqual({ short: rows.slice(1, 2), long: [] });
    expect(ownTextsOf(6, 2)).toBe("ARRAY[$6::text, $7::text]");
  });

  it("facts of different keys have different lines", () => {
    fc.assert(
      fc.property(fact, fact, (a, b) => {
        const same = a.kind === b.kind && a.key === b.key && a.attempt === b.attempt && a.iteration === b.iteration;
        expect(factsText([a]) === factsText([b])).toBe(same);
        expect(factsText([a])).not.toContain("\n");
      }),
      { numRuns: runs(2_000) },
    );
  });

  it("what is not JSON is refused where it would be taken for two facts", () => {
    const bad: LogRow = { kind: "PINNED", key: "", attempt: 0, iteration: 0, dataJson: '"\u001e"' };
    const good: LogRow = { ...bad, dataJson: "1" };
    const listOf = (...rows: LogRow[][]): string => dataList(rows.map((facts) => ({ facts })));
    expect(listOf([good, good], [good])).toBe("1\u001e1\u001f1");
    expect(() => listOf([good], [bad, bad])).toThrow(TypeError);
    expect(() => listOf([bad], [good])).toThrow(TypeError);
    expect(() => listOf([good], [{ ...bad, dataJson: '"\u001f"' }])).toThrow(TypeError);
    expect(dataTexts([{ facts: [good, good] }, { facts: [good] }])).toEqual(["1\u001e1", "1"]);
    expect(() => dataTexts([{ facts: [good] }, { facts: [bad] }])).toThrow(TypeError);
  });

  it("what is long and would be read as another text is refused wherever it stands in its row", () => {
    const good: LogRow = { kind: "PINNED", key: "", attempt: 0, iteration: 0, dataJson: long("1") };
    const bad: LogRow = { ...good, dataJson: long('"\u0001"') };
    for (const facts of [[bad], [bad, good], [good, bad], [{ ...good, dataJson: "1" }, bad]]) {
      expect(() => dataTexts([{ facts }])).toThrow(TypeError);
      expect(() => dataList([{ facts }])).toThrow(TypeError);
    }
    // Who reads looks no further.
    expect(() => dataTexts([{ facts: [{ ...good, dataJson: `"${"x".repeat(40_000)}\u0001"` }] }])).not.toThrow();
  });
});

describe("together()", () => {
  const insert = { text: "INSERT INTO a SELECT $1, $2, $1", params: ["1", "2"] };
  const update = { text: "UPDATE b SET c = $1", params: ["3"] };

  it("several statements become one, with the parameters of each where it looks for them", () => {
    expect(together([insert, update, insert])).toEqual([
      {
        text: "WITH part0 AS (INSERT INTO a SELECT $1, $2, $1), part1 AS (UPDATE b SET c = $3) INSERT INTO a SELECT $4, $5, $4",
        params: ["1", "2", "3", "1", "2"],
      },
    ]);
    expect(together([update])).toEqual([update]);
    expect(together([])).toEqual([]);
  });

  it("what all may ask for comes first, under its name", () => {
    expect(answering({ log: { text: "SELECT $1 AS base", params: ["0"] } }, [update], "SELECT * FROM log")).toEqual({
      text: "WITH log AS (SELECT $1 AS base), part0 AS (UPDATE b SET c = $2) SELECT * FROM log",
      params: ["0", "3"],
    });
    expect(answering({ mark: update }, [], "SELECT * FROM mark").text).toBe(
      "WITH mark AS (UPDATE b SET c = $1) SELECT * FROM mark",
    );
  });
});
