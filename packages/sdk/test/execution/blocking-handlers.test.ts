import { expect, test } from "vitest";
import { BlockingHandlers } from "../../src/execution/blocking-handlers.ts";

test("a function counts as blocking from its first long turn until its thousandth short one in a row", () => {
  const handlers = new BlockingHandlers();
  const [slow, quick] = [{}, {}];
  handlers.noteTurn(quick, 9, () => 9);
  handlers.noteTurn(slow, 10, () => 10);
  expect([handlers.has(slow), handlers.has(quick)]).toEqual([true, false]);
  for (let turn = 0; turn < 999; turn += 1) handlers.noteTurn(slow, 1, () => 1);
  expect(handlers.has(slow)).toBe(true);
  handlers.noteTurn(slow, 50, () => 50);
  for (let turn = 0; turn < 999; turn += 1) handlers.noteTurn(slow, 1, () => 1);
  expect(handlers.has(slow)).toBe(true);
  handlers.noteTurn(slow, 1, () => 1);
  expect(handlers.has(slow)).toBe(false);
});

test("a turn in which the process had to wait for a processor is not one that blocks", () => {
  const handlers = new BlockingHandlers();
  const fn = {};
  handlers.noteTurn(fn, 500, () => 2);
  expect(handlers.has(fn)).toBe(false);
});
