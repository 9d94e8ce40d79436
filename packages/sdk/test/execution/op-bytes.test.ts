import { parseOps } from "@holdfast/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { opsBytes } from "../../src/execution/op-bytes.ts";
import { OpWriter } from "../../src/execution/op-text.ts";
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
      for (const { text, bytes, parts } of ops) {
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
