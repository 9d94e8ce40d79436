import { parseOps } from "@holdfast/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { opsBytes } from "../../src/execution/op-bytes.ts";
import { OpWriter, placed } from "../../src/execution/op-text.ts";
import { decodeResult, encodeResult } from "../../src/execution/result-json.ts";
import type { StepCall } from "../../src/steps/step-call.ts";

const writerOf = (fullId: string): OpWriter =>
  new OpWriter({
    identity: { hash: `hash of ${fullId}`, id: fullId, index: 0, fullId },
    call: { kind: "run", opts: undefined } as unknown as StepCall,
    args: undefined,
    ordinal: 1,
  });
const timing = { startedMs: 1, durationMs: 2 };

const part = fc.oneof(
  fc.string(),
  fc.constantFrom("é", "漢", "😀", "\ud800", "\udc00", "\u0000", "\u001e", "\u001f", '"', "\\", "\n"),
);
/** Short, long, and longer than what goes to the other thread in shared memory. */
const value = fc.tuple(fc.array(part, { maxLength: 5 }), fc.constantFrom(1, 20_000, 100_000)).map(([parts, length]) => {
  const text = parts.join("") || "x";
  return text.repeat(Math.ceil(length / text.length));
});

test("ops of any length are one list of JSON, of as many bytes as each of them says", () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 3 }), fc.array(value, { maxLength: 2 }), (results, others) => {
      const ops = results.map((result, index) =>
        writerOf(`step ${index}`).finished(encodeResult(result, "it"), { timing, attempt: 0 }),
      );
      const more = others.map((text) => JSON.stringify({ id: "other", op: "StepRun", data: text }));
      const inPlace = placed(ops, 3);
      for (const [index, { text }] of ops.entries()) {
        expect(inPlace[index]?.text === (index === 0 ? `{"position":3,${text.slice(1)}` : text)).toBe(true);
      }
      for (const { text, bytes, parts } of [...ops, ...inPlace]) {
        expect(bytes).toBe(Buffer.byteLength(text));
        if (parts) expect(parts.join("") === text).toBe(true);
      }
      const bytes = opsBytes(ops, more);
      const text = Buffer.from(bytes).toString();
      expect(text === `[${[...ops.map((op) => op.text), ...more].join(",")}]`).toBe(true);
      const read = parseOps(JSON.parse(text), "it").map(({ data }) => data);
      const written = [...results, ...others];
      expect(read.map((one, index) => one === written[index])).toEqual(written.map(() => true));
    }),
    { numRuns: 200 },
  );
});

test("a result is for the handler what it is after JSON", () => {
  fc.assert(
    fc.property(fc.oneof(value, fc.jsonValue(), fc.constant(undefined), fc.constant(new Date(0))), (result) => {
      const json = encodeResult(result, "it");
      expect(decodeResult(json)).toEqual(result === undefined ? undefined : JSON.parse(json.text));
    }),
    { numRuns: 200 },
  );
});

test("a long text is the JSON that it is everywhere else, whatever it has in it", () => {
  const units = [
    ...Array(0x120).keys(),
    ...Array.from({ length: 0x830 }, (_, index) => 0xd7f0 + index),
    0x2028,
    0xffff,
  ];
  for (const unit of units) {
    const text = `${"x".repeat(20_000)}${String.fromCharCode(unit)}y`;
    if (encodeResult(text, "it").text !== JSON.stringify(text)) expect.unreachable(`U+${unit.toString(16)}`);
  }
});

test("wherever it has it in it", () => {
  const sign = fc.constantFrom(
    "\u0000",
    "\u001f",
    " ",
    "~",
    "\u007f",
    "\u0080",
    "é",
    "漢",
    "😀",
    "\ud800",
    '"',
    "\\",
    "\n",
  );
  const place = fc.oneof(fc.integer({ min: 0, max: 40_000 }), fc.integer({ min: 16_380, max: 16_390 }));
  fc.assert(
    fc.property(
      fc.integer({ min: 16_384, max: 40_000 }),
      fc.array(fc.tuple(place, sign), { maxLength: 3 }),
      (length, signs) => {
        let text = "x".repeat(length);
        for (const [at, one] of signs) text = `${text.slice(0, at)}${one}${text.slice(at + one.length)}`;
        if (encodeResult(text, "it").text !== JSON.stringify(text)) expect.unreachable(JSON.stringify(signs));
      },
    ),
    { numRuns: 300 },
  );
});
