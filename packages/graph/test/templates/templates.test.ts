import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../tooling/src/runs.ts";
import { FillBudget, fillTemplates, MAX_FILLED_CHARS } from "../../src/templates/fill-template.ts";
import { parseTemplate } from "../../src/templates/parse-template.ts";

const ctx: Record<string, unknown> = {
  a: { b: [{ c: 1 }, "two"], "odd key": true, none: null },
  text: "x",
  list: [1, 2],
  zero: 0,
  empty: "",
};
const lookup = (name: string): unknown => (Object.hasOwn(ctx, name) ? ctx[name] : undefined);
const fill = (value: unknown): unknown => fillTemplates(value, lookup);
const coded = (code: string, text: string) => expect.objectContaining({ code, message: expect.stringContaining(text) });

test.each<[template: unknown, value: unknown]>([
  ["{{ctx.a}}", ctx.a],
  ["{{ ctx.a.b[0].c }}", 1],
  ["{{ctx.a.b[1]}}", "two"],
  ['{{ctx.a["odd key"]}}', true],
  ["{{ctx['a'].b[0]['c']}}", 1],
  ["n={{ctx.a.b[0].c}}, {{ctx.text}}", "n=1, x"],
  ["{{ctx.list}}!", "[1,2]!"],
  ["{{ctx.a.none}}", null],
  ["{{ctx.missing ?? 'none'}}", "none"],
  ["{{ctx.a.none ?? 5}}", 5],
  ["{{ctx.zero ?? 5}}", 0],
  ["{{ctx.empty ?? 'x'}}", ""],
  ["{{ctx.missing ?? ctx.text}}", "x"],
  ["{{ctx.missing ?? null}}", null],
  ["{{ctx.missing ?? true}}", true],
  ["{{ctx.missing ?? -1.5e3}}", -1500],
  [`{{ctx.missing ?? 'it\\'s'}}`, "it's"],
  ["{{'{{'}} and }}", "{{ and }}"],
  ["no template", "no template"],
  [
    { a: ["{{ctx.text}}", 1, null], "{{ctx.text}}": "key" },
    { a: ["x", 1, null], "{{ctx.text}}": "key" },
  ],
  [7, 7],
])("%j is filled in as %j", (template, value) => {
  expect(fill(template)).toEqual(value);
});

test.each([
  "{{ctx.missing}}",
  "{{ctx.a.b.c}}",
  "{{ctx.a.b[9]}}",
  "{{ctx.a.b.length}}",
  "{{ctx.a.constructor}}",
  "{{ctx.a.__proto__}}",
  "{{ctx.text.length}}",
  "{{ctx.list.map}}",
  "{{ctx.a.none.x}}",
  "{{ctx.constructor}}",
  "{{ctx.missing ?? ctx.gone}}",
])("there is nothing at %s, and the error names the path", (template) => {
  const path = template.slice(template.lastIndexOf("ctx"), -2);
  expect(() => fill(template)).toThrow(coded("GRAPH_PATH_UNKNOWN", `\`${path}\``));
});

test.each([
  "{{",
  "{{ctx",
  "{{ctx.a",
  "{{ctx.}}",
  "{{ctx.a[}}",
  "{{ctx.a[1}}",
  "{{ctx.a['b}}",
  "{{a}}",
  "{{ctx.a + 1}}",
  "{{ctx.a ?? }}",
  "{{ctx.a()}}",
  "{{}}",
  "{{ctx.a[01]}}",
  "{{ctx.a[-1]}}",
])("%s cannot be read", (template) => {
  expect(() => parseTemplate(template)).toThrow(expect.objectContaining({ name: "TemplateSyntaxError" }));
});

test("keys that prototypes have are data, as any other", () => {
  const value = JSON.parse('{"__proto__":{"x":"{{ctx.text}}"},"constructor":1}');
  expect(JSON.stringify(fill(value))).toBe('{"__proto__":{"x":"x"},"constructor":1}');
});

test("text that multiplies has a limit", () => {
  const big = "x".repeat(1_000_000);
  const many = { a: Array.from({ length: 10 }, () => "-{{ctx.big}}") };
  expect(() => fillTemplates(many, () => big)).toThrow(coded("GRAPH_VALUE_TOO_LARGE", String(MAX_FILLED_CHARS)));
});

test("values that are passed on as they are count as well, once for each place where they stand", () => {
  const big = { list: ["x".repeat(1_000_000)] };
  const many = (count: number) => Array.from({ length: count }, () => "{{ctx.big}}");
  expect(fillTemplates(many(4), () => big)).toHaveLength(4);
  expect(() => fillTemplates(many(5), () => big)).toThrow(coded("GRAPH_VALUE_TOO_LARGE", String(MAX_FILLED_CHARS)));
  const all = new FillBudget(1_500_000);
  fillTemplates("{{ctx.big}}", () => big, new FillBudget(MAX_FILLED_CHARS, all));
  expect(() => fillTemplates("{{ctx.big}}", () => big, new FillBudget(MAX_FILLED_CHARS, all))).toThrow(
    coded("GRAPH_VALUE_TOO_LARGE", "a run may keep"),
  );
});

test("any value at any path comes back as it is", () => {
  const steps = fc.array(fc.oneof(fc.string(), fc.nat(5)), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(steps, fc.jsonValue(), (path, value) => {
      const nested = path.reduceRight<unknown>((inner, step) => {
        if (typeof step === "string") return Object.fromEntries([[step, inner]]);
        return Array.from({ length: step + 1 }, (_, index) => (index === step ? inner : null));
      }, value);
      const quoted = (text: string) => `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
      const written = path.map((step) => `[${typeof step === "string" ? quoted(step) : step}]`).join("");
      expect(fillTemplates(`{{ctx.it${written}}}`, () => nested)).toEqual(value);
    }),
    { numRuns: runs(1_000) },
  );
});

test("whatever text comes in is filled in, or refused with a code", () => {
  const pieces = fc.array(
    fc.constantFrom("{{", "}}", "ctx", ".", "a", "[", "]", "0", "'", '"', "??", " ", "\\", "text"),
  );
  fc.assert(
    fc.property(pieces, (parts) => {
      try {
        fill(parts.join(""));
      } catch (error) {
        const { name, code } = error as { name: string; code?: string };
        expect([name, code]).toEqual(expect.arrayContaining([expect.stringMatching(/TemplateSyntaxError|GRAPH_/)]));
      }
    }),
    { numRuns: runs(3_000) },
  );
});
