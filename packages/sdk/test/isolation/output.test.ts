/** What code in pool threads prints, where main takes it more slowly than it is printed. */
import { expect, test } from "vitest";
import type { PrintedLine } from "../../src/isolation/shared/isolation-messages.ts";
import { LineSender } from "../../src/isolation/thread/output.ts";
import { until } from "../connection/until.ts";

const PENDING = 500;
const KEPT = 100;

function sender() {
  const sent: { readonly text: string; readonly dropped: number; readonly step: string | null }[] = [];
  const state = { taken: 0, step: "a" };
  const lines = new LineSender({
    send: (given: readonly PrintedLine[], dropped, step) => {
      for (const [index, { text }] of given.entries()) sent.push({ text, dropped: index === 0 ? dropped : 0, step });
    },
    taken: () => state.taken,
    step: () => state.step,
  });
  const print = (from: number, to: number): void => {
    for (let count = from; count < to; count += 1) lines.add({ level: "info", text: String(count) });
  };
  return { sent, state, lines, print, dropped: () => sent.reduce((sum, one) => sum + one.dropped, 0) };
}

test("lines are sent at once while main takes them", () => {
  const { sent, print } = sender();
  print(0, PENDING);
  expect(sent).toHaveLength(PENDING);
});

test("the last lines come through at the end of the turn, with how many were dropped before them, to the line", () => {
  const { sent, lines, print, dropped } = sender();
  print(0, 20_001);
  expect(sent).toHaveLength(PENDING);
  lines.flush();
  expect(sent).toHaveLength(PENDING + KEPT);
  expect(sent.at(-1)?.text).toBe("20000");
  expect(dropped()).toBe(20_001 - PENDING - KEPT);
  lines.flush();
  expect(sent).toHaveLength(PENDING + KEPT);
});

test("lines that are kept leave in their order and with their step, once main has room", async () => {
  const { sent, state, print, dropped } = sender();
  print(0, PENDING + 10);
  state.step = "b";
  state.taken = PENDING - 1;
  print(PENDING + 10, PENDING + 12);
  await until(() => sent.length === PENDING + 12, "all of them");
  expect(sent.map(({ text }) => Number(text))).toEqual(Array.from({ length: PENDING + 12 }, (_, index) => index));
  expect(sent.at(-3)?.step).toBe("a");
  expect(sent.at(-1)?.step).toBe("b");
  expect(dropped()).toBe(0);
});
