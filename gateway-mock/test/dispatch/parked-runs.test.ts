/** Which runs are kept when nothing is busy with them. */
import { expect, test } from "vitest";
import { ParkedRuns } from "../../src/dispatch/parked-runs.ts";

const run = (stateLength: number) => ({ state: { stateLength } });
const here = (parked: ParkedRuns<ReturnType<typeof run>>, ids: string): string =>
  [...ids].filter((id) => parked.take(id)).join("");

test("what is taken is not there any more", () => {
  const parked = new ParkedRuns<ReturnType<typeof run>>();
  const one = run(1);
  parked.put("a", one);
  expect(parked.take("a")).toBe(one);
  expect(parked.take("a")).toBeUndefined();
});

test("of too many runs the oldest go", () => {
  const parked = new ParkedRuns<ReturnType<typeof run>>({ mostRuns: 2, mostChars: 100 });
  for (const id of "abab") parked.put(id, run(1));
  parked.put("c", run(1));
  expect(here(parked, "abc")).toBe("bc");
});

test("of too many characters the oldest go, and a run that is too long by itself does not stay", () => {
  const parked = new ParkedRuns<ReturnType<typeof run>>({ mostRuns: 10, mostChars: 100 });
  for (const id of "abc") parked.put(id, run(40));
  expect(here(parked, "a")).toBe("");
  parked.put("d", run(20));
  expect(here(parked, "bcd")).toBe("bcd");
  parked.put("e", run(101));
  expect(here(parked, "e")).toBe("");
});

test("a state that grows after it was parked does not count for ever", () => {
  const parked = new ParkedRuns<ReturnType<typeof run>>({ mostRuns: 10, mostChars: 100 });
  const one = run(10);
  parked.put("a", one);
  one.state.stateLength = 90;
  parked.take("a");
  parked.put("b", run(100));
  expect(here(parked, "b")).toBe("b");
});

test("all can be forgotten", () => {
  const parked = new ParkedRuns<ReturnType<typeof run>>({ mostRuns: 10, mostChars: 100 });
  parked.put("a", run(100));
  parked.clear();
  expect(parked.take("a")).toBeUndefined();
  parked.put("b", run(100));
  expect(here(parked, "b")).toBe("b");
});
