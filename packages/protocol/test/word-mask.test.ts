import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import { mask, unmask } from "../src/word-mask.ts";

const masked = (bytes: Uint8Array, key: Uint8Array): number[] =>
  Array.from(bytes, (byte, at) => byte ^ (key[at & 3] as number));

test("MASK-1: whatever its length and place in memory, each byte is masked with its byte of the key, and no other byte changes", () => {
  const bytes = fc.uint8Array({ maxLength: 100 });
  const key = fc.uint8Array({ minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(
      bytes,
      key,
      fc.nat({ max: 9 }),
      fc.nat({ max: 9 }),
      fc.nat({ max: 9 }),
      (source, by, from, to, rest) => {
        const input = new Uint8Array(from + source.length + rest).fill(7);
        input.set(source, from);
        const view = input.subarray(from, from + source.length);
        const output = new Uint8Array(to + source.length + 3).fill(9);
        mask(view, by, output, to, source.length);
        expect([...output]).toEqual([...Array(to).fill(9), ...masked(source, by), 9, 9, 9]);
        expect([...view]).toEqual([...source]);
        unmask(view, by);
        expect([...input]).toEqual([...Array(from).fill(7), ...masked(source, by), ...Array(rest).fill(7)]);
      },
    ),
    { numRuns: runs(500) },
  );
});

test.each([0, 1, 2, 3])(
  "bytes in memory that threads share are masked into memory of their own, from byte %d on",
  (from) => {
    const shared = new Uint8Array(new SharedArrayBuffer(1_001 + from)).map((_, at) => at * 7).subarray(from);
    const output = Buffer.allocUnsafe(1_010);
    const key = new Uint8Array([1, 2, 4, 8]);
    mask(shared, key, output, 9, 1_001);
    expect([...output.subarray(9)]).toEqual(masked(shared, key));
  },
);
