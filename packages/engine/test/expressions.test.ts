import { HoldfastError } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { compileExpression } from "../src/expressions/expression.ts";
import { Expressions } from "../src/expressions/expressions.ts";
import { keyText } from "../src/expressions/values.ts";

const event = {
  name: "shop/order.paid",
  ts: 1_700_000_000_000,
  data: { total: 5, name: "abc", list: [1, 2, 3], nothing: null, nested: { a: 1 }, "a-b": 1, day: "2026-03-01" },
  user: {},
};
const nowMs = Date.UTC(2026, 2, 2);

const evaluate = (source: string, async?: unknown): unknown =>
  compileExpression(source).evaluate({ event, async, nowMs });

describe("Expressions", () => {
  it.each<[string, unknown]>([
    ["event.data.total > 1", true],
    ["event.data.total == 5", true],
    ["event.data.total == 5.0 && event.name == 'shop/order.paid'", true],
    ["event.data.total + 1 == 6", true],
    ["1 + event.data.total", 6],
    ["event.data.total % 2", 1],
    ["event.data.total / 2", 2.5],
    ["event.data.total % event.data.total", 0],
    ["event.data.total * 60", 300],
    ["event.data['a-b']", 1],
    ["event.data.list.exists(x, x == 2)", true],
    ["event.data.list.all(x, x > 2)", false],
    ["size(event.data.list)", 3],
    ["'total' in event.data", true],
    ["2 in event.data.list", true],
    ["event.data.name.matches('^a(b+)c$')", true],
    ["event.data.name.matches( 'x' ) || event.data.name.startsWith('matches')", false],
    ["uppercase(event.data.name) + '-' + lowercase('X')", "ABC-x"],
    ["json_parse('{\"a\":[1]}').a[0]", 1],
    ["b64decode('aGk=')", "hi"],
    ["date(event.data.day) < now()", true],
    ["date(event.data.day) > now_minus('2d')", true],
    ["date(event.ts) < now_plus('1h')", true],
    ["date(event.data.day)", "2026-03-01T00:00:00.000Z"],
    ["duration('90s')", 90],
    ["event.data.plan == 'pro' ? 120 : -1", -1],
    ["event.data.nested", { a: 1 }],
  ])("the expression %s is evaluated", (source, expected) => {
    expect(evaluate(source)).toEqual(expected);
  });

  it.each<[string, unknown]>([
    ["event.data.missing == null", true],
    ["event.data.missing != null", false],
    ["event.data.missing != 'x'", true],
    ["event.data.missing == 'x'", false],
    ["event.data.missing.deeper == null", true],
    ["event.data.nothing.deeper == null", true],
    ["event.data.missing > 5", false],
    ["event.data.missing < 5", true],
    ["5 > event.data.missing", true],
    ["event.data.missing in ['a', 'b']", false],
    ["event.data.name + event.data.missing", "abc"],
    ["event.data.missing + event.data.name", "abc"],
    ["size(event.data.missing)", 0],
    ["has(event.data.missing)", false],
    ["has(event.data.missing) ? event.data.missing : 'none'", "none"],
    ["!has(event.data.missing) || event.data.missing == 1", true],
    ["event.user.id == event.data.missing", true],
  ])("a missing field evaluates as null: %s", (source, expected) => {
    expect(evaluate(source)).toEqual(expected);
  });

  it("an expression can compare two events", () => {
    const source = "event.data.total == async.data.total";
    expect(evaluate(source, { data: { total: 5 } })).toBe(true);
    expect(evaluate(source, { data: { total: 6 } })).toBe(false);
    expect(evaluate(source)).toBe(false);
  });

  it("an expression sees only own fields of the data", () => {
    for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      expect(evaluate(`event.data.${name} == null`)).toBe(true);
      expect(evaluate(`event['${name}'] == null`)).toBe(true);
    }
    expect(() => evaluate("event.data.list.constructor")).toThrow(/failed/);
    expect(() => evaluate("event.data.name.length")).toThrow(/failed/);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    const data = JSON.parse('{"__proto__":{"admin":true},"constructor":1,"total":5}') as unknown;
    expect(compileExpression("event.data.total == 5").evaluate({ event: { data }, nowMs })).toBe(true);
    expect(compileExpression("event.data.admin == null").evaluate({ event: { data }, nowMs })).toBe(true);
  });

  it.each([
    ["event.data.x >", /Unexpected token/],
    ["foo.bar == 1", /Unknown variable: foo/],
    ["nonsense(1)", /nonsense/],
    ["'a' + 1", /cannot be used/],
    ["event.data.x.matches('(')", /pattern/],
    ["event.data.x.matches('a(?=b)')", /pattern/],
    ["cel.bind(x, event.data, x)", /cel\.bind/],
    [`${"[1].exists(a, ".repeat(3)}true${")".repeat(3)}`, /nested/],
    ["['a'].map(x, x + x).map(x, x + x)", /one `map`/],
    ["event.data.a == 1".padEnd(9000), /8192/],
    [Array.from({ length: 400 }, () => "event.a").join(" == "), /cannot be used/],
  ])("the expression %s is rejected", (source, why) => {
    expect(() => compileExpression(source)).toThrow(why);
    expect(() => compileExpression(source)).toThrow(HoldfastError);
  });

  it("patterns that make backtracking engines hang take linear time", () => {
    const text = `${"a".repeat(50_000)}!`;
    const run = compileExpression("event.data.text.matches('^(a+)+$')");
    expect(run.evaluate({ event: { data: { text } }, nowMs })).toBe(false);
  });

  it("nested macros stay within the budget", () => {
    const run = compileExpression("event.data.list.exists(a, event.data.list.exists(b, a == b + 1))");
    expect(run.evaluate({ event, nowMs })).toBe(true);
    const list = Array.from({ length: 100_000 }, () => 1);
    expect(() => run.evaluate({ event: { data: { list } }, nowMs })).toThrow(/limit of work/);
  });

  it("a failed evaluation is counted, logged once a minute, and does not match", () => {
    const warnings: string[] = [];
    const expressions = new Expressions((_, message) => warnings.push(message));
    const bad = "event.data.name > 5";
    for (let i = 0; i < 3; i++) expect(expressions.holds(bad, { event, nowMs: nowMs + i })).toBe(false);
    expect(expressions.failures).toBe(3);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(bad);
    expect(expressions.value(bad, { event, nowMs: nowMs + 60_001 })).toBeUndefined();
    expect(warnings).toHaveLength(2);
    expect(expressions.holds("event.data.total", { event, nowMs })).toBe(false);
    expect(expressions.holds("true", { event, nowMs })).toBe(true);
    expect(() => expressions.compile("(")).toThrow(HoldfastError);
  });

  it("equal values give equal keys", () => {
    expect(keyText("a")).toBe("a");
    expect(keyText(5)).toBe("5");
    expect(keyText(null)).toBe("null");
    expect(keyText({ a: [1] })).toBe('{"a":[1]}');
    expect(keyText(undefined)).toBe("null");
  });
});

describe("Conditions that compare two events", () => {
  const holds = (source: string, own: unknown, incoming: unknown): boolean =>
    new Expressions(() => {}).holds(source, { event: { data: own }, async: { data: incoming }, nowMs });

  it.each<[string, object, object, boolean]>([
    ["event.data.id == async.data.id", { id: 7 }, { id: 7 }, true],
    ["event.data.id == async.data.id", {}, {}, false],
    ["event.data.id == async.data.id", { id: null }, { id: null }, false],
    ["event.data.id == async.data.id", { id: 7 }, {}, false],
    ["event.data.id == async.data.id", {}, { id: 7 }, false],
    ["async.data.order == event.data.id", {}, {}, false],
    [`event["data"]["id"] == async.data.id`, {}, {}, false],
    ["event.data.a == async.data.a && event.data.b == async.data.b", {}, {}, false],
    ["event.data.a == async.data.a && event.data.b == async.data.b", { b: 1 }, { b: 1 }, true],
    ["event.data.a == async.data.a && event.data.b == async.data.b", { b: 0 }, { b: 0 }, true],
    // Written for what is missing.
    ["event.data.id == async.data.id && async.data.kind == 'x'", {}, { kind: "x" }, true],
    ["event.data.id == async.data.id || true", {}, {}, true],
    ["async.data.id == null", {}, {}, true],
  ])("%s of %j and %j is %s", (source, own, incoming, expected) => {
    expect(holds(source, own, incoming)).toBe(expected);
  });

  it.each([
    ["event.orderId == async.orderId", /no field `orderId`.*Write `event.data.orderId` \(as `match`: "data.orderId"\)/],
    ["event.data.id == async.id && event.order.id == async.data.id", /no field `order`/],
    ["event.data.id == async.order", /no field `order`.*`async\.data\.order`/],
    ["event.data.id =", /cannot be used/],
  ])("a wait cannot have the condition %s", (source, why) => {
    expect(new Expressions(() => {}).waitProblem(source)).toMatch(why);
  });

  it.each(["event.data.id == async.data.id", "event.user.id == async.user.id", "async.orderId == 5"])(
    "a wait can have the condition %s",
    (source) => expect(new Expressions(() => {}).waitProblem(source)).toBeNull(),
  );

  it("a wait whose own event lacks what is compared is a warning, unless the engine made that event", () => {
    const lines: string[] = [];
    const expressions = new Expressions((level, text) => void lines.push(`${level} ${text}`));
    const begin = (own: unknown, functionId = "app-a", step = "w", atMs = nowMs): string =>
      expressions.matchOf(
        "event.data.id == async.data.id",
        () => own,
        { functionId, runId: "r", place: '`waitForEvent` on "e"', step },
        atMs,
      );
    begin({ name: "shop/order", data: { id: 7 } });
    begin({ name: "inngest/scheduled.timer", data: {} });
    expect(lines).toEqual([]);
    const typo = { name: "shop/order", data: {} };
    begin(typo);
    begin(typo, "app-a", "another");
    begin(typo, "app-b");
    begin(typo, "app-a", "w", nowMs + 3_599_999);
    const line = (functionId: string) =>
      expect.stringMatching(
        new RegExp(
          `^warn Function "${functionId}", step "w": the condition of \`waitForEvent\` on "e" .*is fulfilled by no event`,
        ),
      );
    expect(lines).toEqual([line("app-a"), line("app-b")]);
    begin(typo, "app-a", "w", nowMs + 3_600_000);
    expect(lines).toEqual([line("app-a"), line("app-b"), line("app-a")]);
  });
});
