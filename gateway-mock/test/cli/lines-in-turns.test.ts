import { expect, test } from "vitest";
import { LINES_AT_ONCE, linesInTurns } from "../../src/cli/lines-in-turns.ts";

test("the first lines of a turn leave at once, all others together at its end, in their order", () => {
  const written: string[] = [];
  const ends: (() => void)[] = [];
  const lines = linesInTurns({ write: (text) => void written.push(text) }, (end) => void ends.push(end));
  const all = Array.from({ length: LINES_AT_ONCE + 3 }, (_, index) => `${index}\n`);
  for (const line of all) lines.write(line);
  expect(written).toEqual(all.slice(0, LINES_AT_ONCE));
  expect(ends).toHaveLength(1);
  ends.shift()?.();
  expect(written).toHaveLength(LINES_AT_ONCE + 1);
  expect(written.join("")).toBe(all.join(""));
  lines.write("next turn\n");
  expect(written.at(-1)).toBe("next turn\n");
  expect(ends).toHaveLength(1);
});

test("what waits is written when the process ends", () => {
  const written: string[] = [];
  const lines = linesInTurns({ write: (text) => void written.push(text) }, () => {});
  for (let index = 0; index <= LINES_AT_ONCE; index += 1) lines.write(`${index}\n`);
  lines.flush();
  lines.flush();
  expect(written.at(-1)).toBe(`${LINES_AT_ONCE}\n`);
  expect(written).toHaveLength(LINES_AT_ONCE + 1);
});
