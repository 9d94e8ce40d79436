import { expect, test } from "vitest";
import { compileCtxExpression } from "../src/expressions/ctx-expression.ts";

const ctx = { input: { total: 7, tags: ["a", "b"] }, check: { ok: true, score: null } };
const evaluate = (source: string): unknown => compileCtxExpression(source).evaluate(ctx);

test.each([
  ["ctx.input.total > 5", true],
  ["ctx.check.ok && ctx.input.tags.exists(tag, tag == 'b')", true],
  ["ctx.check.missing == null", true],
  ["has(ctx.check.missing)", false],
  ["ctx.later == null", true],
  ["ctx['check'].ok", true],
])("%s is %s of the outputs of nodes", (source, expected) => {
  expect(evaluate(source)).toBe(expected);
});

test("the names that it reads are those after ctx", () => {
  const names = (source: string) => compileCtxExpression(source).names;
  expect(names("ctx.a.b > 1 && ctx['c'] == ctx.a.d")).toEqual(["a", "c"]);
  expect(names("ctx.list.exists(x, x.ctx == ctx.b)")).toEqual(["list", "b"]);
  expect(names("has(ctx.a)")).toEqual(["a"]);
  expect(names("size(ctx) > 1")).toEqual([undefined]);
});

test.each(["event.data.a == 1", "ctx.a ==", "now() > date(ctx.a)", "ctx.a.all(x, now_minus('1d') < date(x))", ""])(
  "%j cannot be a condition over ctx",
  (source) => {
    expect(() => compileCtxExpression(source)).toThrow(expect.objectContaining({ code: "EXPRESSION_INVALID" }));
  },
);
