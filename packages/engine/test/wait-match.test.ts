import { seededRandom } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { compileExpression } from "../src/expressions/expression.ts";
import { Expressions } from "../src/expressions/expressions.ts";
import { expectedMatch, matchesOf } from "../src/expressions/wait-match.ts";

const expressions = new Expressions(() => {});
const OF = { functionId: "app-f", runId: "r", place: "`cancelOn[0]`" };

/** Whether an event is looked at for a run that waits with this condition. */
function isLookedAt(condition: string, event: unknown, incoming: unknown): boolean {
  const match = expressions.matchOf(condition, () => event, OF);
  const paths = match === "" ? [] : [match.split("\n")[0] ?? ""];
  return matchesOf(paths, incoming).includes(match);
}

describe("Finding waits", () => {
  it.each([
    ["event.data.id == async.data.id", `["data","id"]`],
    ["async.data.id == event.data.other.id", `["data","id"]`],
    [`async["data"].kind == "a" && event.data.id == async.data.id && async.data.n > 3`, `["data","id"]`],
    [`async.data.kind == "a" && async.data.n > 3`, `["data","kind"]`],
    ["async.data.n == 5", `["data","n"]`],
    ["async.data.ok == true", `["data","ok"]`],
    ["async.data.gone == null", `["data","gone"]`],
  ])("the condition %s is indexed by the path %s", (condition, path) => {
    expect(expressions.matchOf(condition, () => ({ data: { id: 7, other: { id: 8 } } }), OF)).toMatch(`${path}\n`);
  });

  it.each([
    "event.data.id == async.data.id || async.data.all == true",
    "!(event.data.id == async.data.id)",
    "async.data.id != event.data.id",
    "async.data.id > event.data.id",
    "event.data.id == event.data.id",
    "async.data.id == async.data.id",
    "async.data.id == event.data.list",
    "async.data.list.exists(one, one == event.data.id)",
    `async.data.${"long".repeat(60)} == event.data.id`,
  ])("the condition is indexed by the event name only: %s", (condition) => {
    expect(expressions.matchOf(condition, () => ({ data: { id: 7, list: [1] } }), OF)).toBe("");
  });

  it("finding waits by value does not mix up values of different types", () => {
    const texts = [1, "1", true, "true", null, "null", "", 0, false, '"1'];
    const condition = "event.v == async.v";
    for (const own of texts)
      for (const other of texts) {
        expect(isLookedAt(condition, { v: own }, { v: other }), `${own} and ${other}`).toBe(own === other);
      }
  });

  it("finding waits by value never misses an event that fulfils the condition", () => {
    const random = seededRandom(1);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const values: readonly unknown[] = [
      0,
      -0,
      1,
      1.5,
      -1,
      1e21,
      2 ** 53,
      "1",
      "",
      "ä",
      true,
      false,
      null,
      [1],
      { a: 1 },
      { constructor: 1 },
    ];
    const fields = ["a", "b", "c.d", "constructor", "toString", "a.length"];
    const literals = [
      "0",
      "1",
      "1.5",
      "1.0",
      "1u",
      "-1",
      `"1"`,
      `""`,
      "true",
      "null",
      "9007199254740993",
      "[1]",
      `{"a":1}`,
    ];
    const side = (): string => {
      const dice = random();
      if (dice < 0.45) return `async.${pick(fields)}`;
      return dice < 0.85 ? `event.${pick(fields)}` : pick(literals);
    };
    const equality = (): string => `${side()} ${random() < 0.9 ? "==" : "!="} ${side()}`;
    const condition = (depth: number): string => {
      const dice = random();
      if (depth === 0 || dice < 0.4) return equality();
      if (dice < 0.8) return `${condition(depth - 1)} && ${condition(depth - 1)}`;
      return dice < 0.9 ? `(${condition(depth - 1)} || ${condition(depth - 1)})` : `!(${condition(depth - 1)})`;
    };
    const event = (): Record<string, unknown> => {
      const made: Record<string, unknown> = {};
      for (const name of ["a", "b", "constructor"]) if (random() < 0.7) made[name] = pick(values);
      if (random() < 0.7) made.c = random() < 0.8 ? { d: pick(values) } : pick(values);
      return made;
    };
    let [held, byValue, passedOver] = [0, 0, 0];
    for (let turn = 0; turn < 8_000; turn++) {
      const source = condition(2);
      if (expressions.problem(source) !== null) continue;
      const [own, incoming] = [event(), event()];
      const holds = expressions.holds(source, { event: own, async: incoming, nowMs: 0 });
      const isSeen = isLookedAt(source, own, incoming);
      if (holds) expect(isSeen, `${source} for ${JSON.stringify([own, incoming])}`).toBe(true);
      held += Number(holds);
      byValue += Number(expressions.matchOf(source, () => own, OF) !== "");
      passedOver += Number(!isSeen);
    }
    expect(Math.min(held, byValue, passedOver)).toBeGreaterThan(400);
  });

  it("the analysis of a condition says whether it reads the run's own event", () => {
    expect(expressions.readsEvent("async.data.n > 3")).toBe(false);
    expect(expressions.readsEvent("async.data.n > event.data.n")).toBe(true);
    expect(expressions.readsEvent("async.data.list.all(one, one == event)")).toBe(true);
    expect(expressions.readsEvent("(")).toBe(true);
  });

  it("a wait is found by value only when its condition compares with one value", () => {
    const { equality } = compileExpression("event.data.id == async.data.id");
    if (!equality) throw new Error("There is no equality.");
    expect(expectedMatch(equality, { data: { id: [] } })).toBe("");
    expect(expectedMatch(equality, { data: { id: "x" } })).not.toBe(expectedMatch(equality, { data: { id: "y" } }));
    expect(expectedMatch(equality, null)).toBe(expectedMatch(equality, { data: { id: null } }));
  });
});
