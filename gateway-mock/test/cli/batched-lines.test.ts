import { fakeClock } from "@holdfast/testing";
import { expect, test } from "vitest";
import { batchedLines, LINES_AT_ONCE, TOGETHER_MS } from "../../src/cli/batched-lines.ts";

function setUp() {
  const written: string[] = [];
  const clock = fakeClock();
  const lines = batchedLines({ write: (text) => void written.push(text) }, clock);
  let count = 0;
  const write = (many: number): string[] => {
    const texts = Array.from({ length: many }, () => `${count++}\n`);
    for (const text of texts) lines.write(text);
    return texts;
  };
  return { written, clock, lines, write };
}

test("the first lines of a second leave at once, those that follow together and in their order", async () => {
  const { written, clock, write } = setUp();
  const first = write(LINES_AT_ONCE + 3);
  expect(written).toEqual(first.slice(0, LINES_AT_ONCE));
  const second = write(2);
  await clock.advance(TOGETHER_MS);
  expect(written).toHaveLength(LINES_AT_ONCE + 1);
  expect(written.join("")).toBe([...first, ...second].join(""));
  await clock.advance(1_000);
  const next = write(1);
  expect(written.at(-1)).toBe(next[0]);
});

test("no line overtakes those that wait when another second begins", async () => {
  const { written, clock, write } = setUp();
  const early = write(LINES_AT_ONCE);
  await clock.advance(1_000 - TOGETHER_MS / 2);
  const late = [...write(1), ...(await clock.advance(TOGETHER_MS / 2).then(() => write(1)))];
  await clock.advance(TOGETHER_MS);
  expect(written.join("")).toBe([...early, ...late].join(""));
  expect(clock.pending).toHaveLength(1);
});

test("what waits is written when the process ends", () => {
  const { written, lines, write } = setUp();
  const all = write(LINES_AT_ONCE + 1);
  lines.flush();
  lines.flush();
  expect(written).toEqual(all);
});
