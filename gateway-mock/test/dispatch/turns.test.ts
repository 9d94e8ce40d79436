import { expect, test } from "vitest";
import { Turns } from "../../src/dispatch/queue/turns.ts";

const wants = (...functionIds: string[]) => functionIds.map((functionId) => ({ functionId }));

test("who was served longest ago is first, and who never was comes before all", () => {
  const turns = new Turns();
  turns.recordServed(wants("a"));
  turns.recordServed(wants("b", "b"));
  expect(turns.inOrder(wants("b", "a", "c"))).toEqual(wants("c", "a", "b"));
  turns.recordServed(wants("a"));
  expect(turns.inOrder(wants("a", "b"))).toEqual(wants("b", "a"));
});

test("of two kinds the one comes first of which none was served since one of the others was", () => {
  const turns = new Turns();
  const [ones, others] = [wants("a", "b"), wants("c")];
  expect([turns.areFirst(ones, others), turns.areFirst(others, ones)]).toEqual([true, true]);
  turns.recordServed(wants("b"));
  expect([turns.areFirst(ones, others), turns.areFirst(others, ones)]).toEqual([false, true]);
  turns.recordServed(wants("c"));
  expect([turns.areFirst(ones, others), turns.areFirst(others, ones)]).toEqual([true, false]);
});
