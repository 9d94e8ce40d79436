import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../tooling/src/runs.ts";
import { COSTS } from "../src/expressions/costs.ts";
import { compileExpression } from "../src/expressions/expression.ts";
import { Expressions } from "../src/expressions/expressions.ts";
import { ALLOWANCE } from "../src/expressions/program.ts";

const nowMs = Date.UTC(2026, 2, 2);
const a = (count: number): string => "a".repeat(count);
const list = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const fields = (count: number): object => Object.fromEntries(list(count, (i) => [`k${i}`, i]));
const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth));

/** Conditions, and events of up to 3 MB, that would take seconds, gigabytes or for ever. */
const HOSTILE: readonly [string, () => unknown][] = [
  [
    "event.data.tags.exists(t, event.data.text.contains(t))",
    () => ({ tags: list(5_000, (i) => `${i}`), text: a(200_000) }),
  ],
  [
    "event.data.tags.exists(t, event.data.text.contains(t))",
    () => ({ tags: list(50_000, () => "b"), text: a(2_000_000) }),
  ],
  ["event.data.l.exists(x, event.data.s.size() == x)", () => ({ l: list(20_000, (i) => i), s: a(100_000) })],
  ["event.data.l.map(x, event.data.s.lowerAscii()).size() > 0", () => ({ l: list(1_000, (i) => i), s: a(2_700_000) })],
  [
    "event.data.l.map(x, event.data.s + event.data.s).size() > 0",
    () => ({ l: list(1_000, (i) => i), s: a(1_000_000) }),
  ],
  ["event.data.s.matches(event.data.p)", () => ({ s: "abc", p: "(a|b)".repeat(500_000) })],
  ["event.data.s.matches(event.data.p)", () => ({ s: "abc", p: "a{1000}".repeat(100) })],
  ["event.data.s.matches(event.data.p)", () => ({ s: a(60_000), p: "((a{30}){30})c" })],
  ["event.data.s.matches(event.data.p)", () => ({ s: "ab".repeat(30_000), p: "\\p{L}".repeat(190) })],
  ["event.data.s.matches('(a+)+$')", () => ({ s: `${a(2_900_000)}b` })],
  ["event.data.l.exists(s, s.matches('(a+)+$'))", () => ({ l: list(50, () => `${a(50_000)}b`) })],
  ["event.data.text.contains(event.data.needle)", () => ({ text: a(1_400_000), needle: `${a(1000)}b${a(1_000_000)}` })],
  ["event.data.text.split('').size() > 5", () => ({ text: a(3_000_000) })],
  ["event.data.text.split('a').map(x, x + 'b').join(event.data.text) == ''", () => ({ text: a(100_000) })],
  ["duration(event.data.s) == duration('1s')", () => ({ s: "1".repeat(2_000_000) })],
  ["json_parse(event.data.s).size() == 1", () => ({ s: `[${"{},".repeat(900_000)}1]` })],
  ["event.data.l.exists(x, event.data.m == x)", () => ({ l: list(2_000, () => fields(3)), m: fields(50_000) })],
  ["event.data.l.exists(x, x in event.data.l)", () => ({ l: list(40_000, (i) => `value ${i}`) })],
  ["event.data.a == event.data.b", () => ({ a: list(200_000, () => ({})), b: list(200_000, () => ({})) })],
  ["event.data.missing == 1", () => fields(200_000)],
  ["event.data.missing == 1", () => ({ l: list(500_000, () => ({})) })],
  ["event.data", () => ({ l: list(500_000, () => ({})) })],
  ["event.data.l.exists(x, event.data.l.exists(y, x == y + 1))", () => ({ l: list(300_000, () => 0) })],
  ["event.data.l.all(x, x == 1 || event.data.l.all(y, y == x))", () => ({ l: list(300_000, () => 0) })],
  [
    "event.data.l.exists_one(x, event.data.s == event.data.t)",
    () => ({ l: list(3_000, (i) => i), s: `${a(900_000)}b`, t: `${a(900_000)}c` }),
  ],
  ["event.data.l.exists(x, now().getHours(x) == 3)", () => ({ l: list(50_000, () => "Europe/Berlin") })],
  ["event.data.l.map(x, [x, x, x, x]).size() > 0", () => ({ l: list(700_000, () => 0) })],
  ["event.data.m.exists(k, k == 'x')", () => fields(200_000)],
  ["size(event.data.deep) == 1", () => ({ deep: nested(190) })],
  ["date(event.data.l) < now()", () => ({ l: list(700_000, () => 0) })],
];

/** How long reading the event takes, and some work that is always the same: what is measured is compared with it. */
function controlMs(data: unknown): number {
  const text = JSON.stringify({ event: { data } });
  const before = performance.now();
  JSON.parse(text);
  JSON.parse(FIXED);
  return performance.now() - before;
}

const FIXED = JSON.stringify(list(200_000, (i) => ({ i })));
/** Unbounded, each of these takes hundreds to millions of times as long as the control. */
const MAX_RATIO = 25;

function evaluated(source: string, data: unknown): { steps: number; failures: number; ratio: number; value: unknown } {
  const expressions = new Expressions(() => {});
  const before = performance.now();
  const value = expressions.value(source, { event: { data }, nowMs });
  const tookMs = performance.now() - before;
  return { steps: expressions.steps, failures: expressions.failures, ratio: tookMs / controlMs(data), value };
}

const evaluatedEvent = (source: string, event: unknown): unknown =>
  new Expressions(() => {}).value(source, { event, nowMs });

const text = fc.letrec<{ text: string; list: string; bool: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom("event.data.text", "event.data.needle", "x", "'a'"),
    fc.tuple(tie("text"), tie("text")).map(([one, other]) => `(${one} + ${other})`),
    fc.tuple(tie("text"), fc.constantFrom("lowerAscii()", "trim()", "upperAscii()")).map((parts) => parts.join(".")),
    tie("list").map((all) => `${all}.join('')`),
    tie("text").map((one) => `string(bytes(${one}))`),
  ),
  list: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom("event.data.texts", "event.data.objects"),
    fc.tuple(tie("text"), tie("text")).map(([one, other]) => `${one}.split(${other})`),
    fc.tuple(tie("list"), tie("text")).map(([all, one]) => `${all}.map(x, ${one})`),
    fc.tuple(tie("list"), tie("bool")).map(([all, one]) => `${all}.filter(x, ${one})`),
    fc.tuple(tie("list"), tie("list")).map(([one, other]) => `(${one} + ${other})`),
  ),
  bool: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom("event.data.missing == null", "event.data == event.data.copy", "x == event.data.objects"),
    fc.tuple(tie("text"), tie("text")).map(([one, other]) => `${one}.contains(${other})`),
    fc.tuple(tie("text"), tie("text")).map(([one, other]) => `${one} == ${other}`),
    fc.tuple(tie("text"), tie("text")).map(([one, other]) => `${one}.matches(${other})`),
    fc.tuple(tie("list"), tie("bool")).map(([all, one]) => `${all}.exists(x, ${one})`),
    fc.tuple(tie("list"), tie("bool")).map(([all, one]) => `${all}.all(x, ${one})`),
    fc.tuple(tie("list"), tie("list")).map(([one, other]) => `${one} == ${other}`),
    fc.tuple(tie("text"), tie("list")).map(([one, all]) => `${one} in ${all}`),
    fc.tuple(tie("bool"), tie("bool")).map(([one, other]) => `(${one} || ${other})`),
    tie("list").map((all) => `size(${all}) > 3`),
    tie("text").map((one) => `size(${one}) > 3`),
  ),
}));

describe("Expression budget", () => {
  it.each(HOSTILE.map(([source, make], index) => [index, source, make] as const))(
    "expression %i (%s) ends within its budget",
    (_index, source, make) => {
      const data = make();
      const { steps, ratio } = evaluated(source, data);
      expect(steps).toBeLessThanOrEqual(ALLOWANCE.steps);
      expect(ratio).toBeLessThan(MAX_RATIO);
      expect(evaluated(source, data).steps, "the same again").toBe(steps);
    },
  );

  it("METER-1: random expressions over large events end within their budget", () => {
    const objects = list(3_000, (i) => ({ a: { b: i } }));
    const texts = list(3_000, (i) => a(i % 400));
    const data = {
      text: a(400_000),
      needle: `${a(900)}b${a(900)}`,
      texts,
      objects,
      copy: structuredClone({ objects, texts }),
    };
    let valid = 0;
    let over = 0;
    fc.assert(
      fc.property(text.bool, (inner) => {
        const source = `event.data.texts.exists(x, ${inner})`;
        if (new Expressions(() => {}).problem(source) !== null) return;
        valid += 1;
        const { steps, ratio } = evaluated(source, data);
        if (steps === ALLOWANCE.steps) over += 1;
        expect(steps).toBeLessThanOrEqual(ALLOWANCE.steps);
        expect(ratio, source).toBeLessThan(MAX_RATIO);
      }),
      { numRuns: runs(300) },
    );
    expect(valid).toBeGreaterThan(runs(50));
    expect(over).toBeGreaterThan(0);
  });

  it("memory counts towards the budget of an expression even where the work is small", () => {
    const data = { l: list(50, (i) => i), s: a(100_000) };
    const run = compileExpression("event.data.l.map(x, event.data.s + event.data.s)");
    expect((run.evaluate({ event: { data }, nowMs }) as unknown[]).length).toBe(50);
    const few = { steps: ALLOWANCE.steps, bytes: 1_000_000 };
    expect(() => run.evaluate({ event: { data }, nowMs }, few)).toThrow(/limit of work or memory/);
  });

  it.each([
    ["event.data.l.exists(x, event.data.s.contains('b')) || true", "an alternative"],
    ["event.data.l.exists(x, event.data.s.contains('b') && x > 1)", "the other turns"],
    ["event.data.l.all(x, event.data.s.contains('b') || true)", "both"],
  ])(
    "METER-2: the expression %s cannot recover its used budget through an operator that absorbs errors (%s)",
    (source) => {
      const data = { l: list(1_000, (i) => i), s: a(1_000_000) };
      expect(evaluated(source, data)).toMatchObject({ value: undefined, failures: 1 });
    },
  );

  it.each([
    "event.data.l.exists(x, x.id == 1)",
    "event.data.l.all(x, x.id == 0)",
    "event.data.l.map(x, x.id == 1 || true) == []",
    "event.data.l.exists(x, int('a') == 1)",
  ])("%s: errors that are kept until other entries have been seen count towards the budget", (source) => {
    const count = 500;
    const failing = evaluated(source, { l: list(count, () => ({})) });
    expect(failing.steps).toBeGreaterThan(count * COSTS.failure);
    expect(failing.steps).toBeLessThan(ALLOWANCE.steps);
  });

  it("errors of an evaluation have no stack, which would cost more than the evaluation", () => {
    const limits: number[] = [];
    const { stackTraceLimit } = Error;
    // Not what an earlier evaluation may have left.
    Error.stackTraceLimit = 7;
    const event = {
      get data(): unknown {
        limits.push(Error.stackTraceLimit);
        return {};
      },
    };
    for (const source of ["event.data.a == null", "event.data < 1"]) {
      evaluatedEvent(source, event);
      expect(Error.stackTraceLimit).toBe(7);
    }
    Error.stackTraceLimit = stackTraceLimit;
    expect(new Set(limits)).toEqual(new Set([0]));
  });

  it("ordinary conditions use a fraction of the budget", () => {
    const data = { total: 5, user: { id: "u1", plan: "pro" }, tags: ["a", "b", "c"], note: a(200) };
    for (const source of [
      "event.data.total > 3 && event.data.user.plan == 'pro'",
      "event.data.tags.exists(t, t == 'b')",
      "event.data.missing == null || event.data.user.id == 'x'",
      "event.data.note.contains('b') || 'c' in event.data.tags",
    ]) {
      expect(evaluated(source, data).steps, source).toBeLessThan(ALLOWANCE.steps / 500);
    }
  });

  it("costly conditions on an event leave the budget that its ordinary conditions need", () => {
    const data = { l: list(100_000, (i) => i), s: a(100_000) };
    const expressions = new Expressions(() => {});
    const spent = { steps: 0 };
    const given = { event: { data }, nowMs, spent };
    for (let i = 0; i < 20; i += 1) {
      expect(expressions.holds(`event.data.l.exists(x, event.data.s.size() == -${i})`, given)).toBe(false);
      expect(expressions.holds("event.data.s.startsWith('a')", given)).toBe(true);
    }
    expect(spent.steps).toBeLessThan(ALLOWANCE.steps * 4);
    expect(expressions.mustYield).toBe(true);
  });

  it("the length limit of a pattern counts its repetitions written out", () => {
    const problem = (pattern: string): string | null =>
      new Expressions(() => {}).problem(`event.data.x.matches('${pattern}')`);
    expect(problem("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")).toBeNull();
    expect(problem(a(1001))).toMatch(/1000 characters/);
    expect(problem("a{1000}".repeat(9))).toMatch(/too long/);
  });
});
