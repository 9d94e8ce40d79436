import { expect, test } from "vitest";
import { BlockingHandlers, CpuTime } from "../../src/execution/blocking-handlers.ts";

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

test("of many handlers that have their turns at once each counts with its share", () => {
  const handlers = new BlockingHandlers();
  const [crowd, alone] = [{}, {}];
  const before = handlers.openTurn();
  handlers.closeTurn(alone, before, 1, () => 1);
  const turns = Array.from({ length: 20 }, () => handlers.openTurn());
  for (const turn of turns) handlers.closeTurn(crowd, turn, 150, () => 150);
  expect(handlers.has(crowd)).toBe(false);
  handlers.closeTurn(alone, handlers.openTurn(), 10, () => 10);
  expect(handlers.has(alone)).toBe(true);
  const computing = Array.from({ length: 20 }, () => handlers.openTurn());
  for (const turn of computing) handlers.closeTurn(crowd, turn, 20 * 20, () => 20 * 20);
  expect(handlers.has(crowd)).toBe(true);
});

test("CPU time is read anew after a millisecond, so what a turn used is known to that", () => {
  let used = 0;
  let reads = 0;
  const time = new CpuTime(() => {
    reads += 1;
    return { user: used * 1_000, system: 500 };
  });
  expect(time.readMs(10)).toBe(0.5);
  used = 7;
  expect(time.readMs(13.9)).toBe(0.5);
  expect(time.readMs(14)).toBe(7.5);
  expect(reads).toBe(2);
});
