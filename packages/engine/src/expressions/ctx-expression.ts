/** Conditions over `ctx`, the outputs of nodes, as graphs have them. They read no clock. */
import { HoldfastError, messageOf } from "@holdfast/core";
import { ALLOWANCE, compileProgram, languageOf } from "./program.ts";
import { callOf, fieldsOf } from "./tree.ts";

/** A checked condition over `ctx`. */
export interface CtxExpression {
  /** Names that it reads: those after `ctx`. Undefined: it reads `ctx` as a whole. */
  readonly names: readonly (string | undefined)[];
  /** @throws HoldfastError `EXPRESSION_FAILED` */
  evaluate(ctx: Readonly<Record<string, unknown>>): unknown;
}

const languages: Partial<Record<"async" | "event", ReturnType<typeof languageOf>>> = {};

/** Why a condition over this variable cannot be used; null when it can. */
export function expressionProblem(source: string, variable: "async" | "event"): string | null {
  languages[variable] ??= languageOf([variable]);
  try {
    compileProgram(source, languages[variable]);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

const language = languageOf(["ctx"]);
const CLOCK = new Set(["now", "now_plus", "now_minus"]);

const CACHE_SIZE = 1_000;
const cache = new Map<string, CtxExpression>();

/**
 * Compiled once as long as it is used now and then.
 * @throws HoldfastError `EXPRESSION_INVALID`
 */
export function compileCtxExpression(source: string): CtxExpression {
  const made = cache.get(source) ?? compiled(source);
  cache.delete(source);
  if (cache.size >= CACHE_SIZE) cache.delete(cache.keys().next().value as string);
  cache.set(source, made);
  return made;
}

function compiled(source: string): CtxExpression {
  const { ast, evaluate } = compileProgram(source, language);
  const clock = callOf(ast, CLOCK);
  if (clock !== undefined) {
    throw new HoldfastError(
      "EXPRESSION_INVALID",
      `The expression cannot be used: \`${clock}()\` would come to something else when the run is replayed.`,
    );
  }
  return {
    names: fieldsOf(ast, "ctx"),
    evaluate: (ctx) => evaluate({ ctx }, 0, ALLOWANCE),
  };
}
