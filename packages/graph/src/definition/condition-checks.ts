/** Expressions of conditions: whether they are CEL, and how to write in it what people know from JavaScript. */
import { describeValue, messageOf } from "@holdfast/core";
import { type CtxExpression, compileCtxExpression } from "@holdfast/engine";
import { own } from "../json/json-size.ts";
import { kindOf } from "../json/kind-of.ts";
import { GRAPH_LIMITS } from "./limits.ts";
import type { GraphProblemCode } from "./problems.ts";
import { isGraphId } from "./read-graph.ts";

/** What is wrong with a field of a config. */
export interface Flaw {
  readonly code?: GraphProblemCode;
  /** Where in the field, such as `[1].if`. */
  readonly within?: string;
  readonly what: string;
  readonly fix: string;
}

/** "run": what comes to no boolean fails at its node, since earlier releases stored such conditions. */
export function branchFlaws(value: unknown, fix: string, what: "stored" | "run"): Flaw[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > GRAPH_LIMITS.maxBranches) {
    return [{ what: `must be a list of 1 to ${GRAPH_LIMITS.maxBranches} branches`, fix }];
  }
  const ids = new Set<unknown>();
  return value.flatMap((branch, index): Flaw[] => {
    const [id, condition] = [own(branch, "id"), own(branch, "if")];
    const flaws: Flaw[] = [];
    if (!isGraphId(id) || id === "else" || id === "error" || ids.has(id)) {
      const ownId = "Give each branch an id of its own, which is its handle; `else` and `error` are taken.";
      flaws.push({ within: `[${index}].id`, what: `cannot be ${describeValue(id)}`, fix: ownId });
    }
    ids.add(id);
    const within = `[${index}].if`;
    if (typeof condition !== "string") return [...flaws, { within, what: "must be an expression", fix }];
    return [...flaws, ...conditionFlaws(condition, what).map((flaw) => ({ ...flaw, within }))];
  });
}

function conditionFlaws(source: string, what: "stored" | "run"): Flaw[] {
  let compiled: CtxExpression;
  try {
    compiled = compileCtxExpression(source);
  } catch (error) {
    return expressionFlaws(source, "ctx", messageOf(error));
  }
  const constant = what === "stored" ? constantOf(source, compiled) : undefined;
  if (constant === undefined || typeof constant === "boolean") return [];
  const fix = "Give an expression that is true or false, such as `ctx.input.count > 0`.";
  return [{ code: "EXPRESSION_INVALID", what: `is always ${kindOf(constant)}, neither true nor false`, fix }];
}

const TEXTS = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;

/** The value of an expression that reads nothing. Calls may take long, so those with any are left to the run. */
function constantOf(source: string, { names, evaluate }: CtxExpression): unknown {
  if (names.length > 0 || source.replace(TEXTS, "").includes("(")) return undefined;
  try {
    return evaluate({});
  } catch {
    return undefined;
  }
}

/** What an expression is refused with, if it is, as the flaw of its field. */
export function expressionFlaws(source: string, variable: "ctx" | "async", problem: string | null): Flaw[] {
  if (problem === null) return [];
  const fix = hintOf(source, problem, variable);
  return [{ code: "EXPRESSION_INVALID", what: `cannot be used: ${problem.replace(/\.$/, "")}`, fix }];
}

/** What people write who know other languages, and how it is written in CEL. The first that is there counts. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/\{\{/, "An expression has no templates: write `ctx.a`, not `{{ctx.a}}`."],
  [/[!=]==/, "Write `==` and `!=`, not `===` and `!==`."],
  [/=>/, "CEL has no functions: write `ctx.list.exists(x, x > 1)`, or `all`, `filter` and `map` in the same way."],
  [/(?<![=!<>])=(?!=)/, "Write `==`, not `=`."],
  [/\blen\s*\(|\.length\s*\(/, "Write `size(ctx.a)` for the length of a text or a list."],
  [/\.(?:includes|indexOf)\s*\(/, "Write `ctx.text.contains('x')` for a text, and `'x' in ctx.list` for a list."],
  [/\.(?:some|every|find)\s*\(/, "Write `ctx.list.exists(x, x > 1)` or `ctx.list.all(x, x > 1)`."],
  [/\.to(?:Lower|Upper)Case\b/, "Write `lowercase(ctx.a)` or `uppercase(ctx.a)`."],
  [/\?\?|\?\./, "What is missing is null: write `ctx.a.b`, and compare it with `== null`."],
  [/\bundefined\b/, "Write `null`, which is what is missing."],
  [/\btypeof\b/, "Write `type(ctx.a) == string`."],
  [/(?<!\.)\b(?:and|or|not)\b/, "Write `&&`, `||` and `!`, not `and`, `or` and `not`."],
  [/(?<!&)&(?!&)|(?<!\|)\|(?!\|)/, "Write `&&` and `||`, not `&` and `|`."],
  [/`/, "Write texts in quotes: `'x'`."],
  [/;/, "Write one expression, without `;`."],
];
const CEL = "Expressions are CEL: https://cel.dev";

function hintOf(source: string, problem: string, variable: "ctx" | "async"): string {
  const code = source.replace(TEXTS, "''");
  const form = FORMS.find(([pattern]) => pattern.test(code))?.[1];
  if (form !== undefined) return `${form} ${CEL}`;
  const example = variable === "ctx" ? "ctx.input.x" : "async.data.x";
  if (problem.includes("Unknown variable"))
    return `Read values through \`${variable}\`, such as \`${example}\`. ${CEL}`;
  if (/Unexpected token: EOF|got EOF/.test(problem)) return `Complete it: it ends where more is expected. ${CEL}`;
  return `Correct it: an example is \`${example} == 1 && size(${variable}.list) > 0\`. ${CEL}`;
}
