import { expect, test } from "vitest";
import { LastServed } from "../../src/dispatch/queue/last-served.ts";

const wants = (...functionIds: string[]) => functionIds.map((functionId) => ({ functionId }));

test("who was served longest ago is first, and who never was comes before all", () => {
  const served = new LastServed();
  served.record(wants("a"));
  served.record(wants("b", "b"));
  expect(served.inOrder(wants("b", "a", "c"))).toEqual(wants("c", "a", "b"));
  served.record(wants("a"));
  expect(served.inOrder(wants("a", "b"))).toEqual(wants("b", "a"));
});

test("of two kinds the one comes first of which none was served since one of the others was", () => {
  const served = new LastServed();
  const [ones, others] = [wants("a", "b"), wants("c")];
  expect([served.comeFirst(ones, others), served.comeFirst(others, ones)]).toEqual([true, true]);
  served.record(wants("b"));
  expect([served.comeFirst(ones, others), served.comeFirst(others, ones)]).toEqual([false, true]);
  served.record(wants("c"));
  expect([served.comeFirst(ones, others), served.comeFirst(others, ones)]).toEqual([true, false]);
});
