/** Conditions over events, as functions and waits have them. `expressions.ts` keeps the compiled ones. */
import { comparedOnly, comparedProblem } from "./compared-fields.ts";
import type { Allowance } from "./meter.ts";
import { ALLOWANCE, compileProgram, languageOf } from "./program.ts";
import { mentions } from "./tree.ts";
import { type Equality, equalityOf, fieldOf } from "./wait-match.ts";

/** What expressions are about. JSON, as `JSON.parse` gave it. */
export interface ExpressionData {
  /** The event; for a wait or a cancellation the one that started the run. */
  readonly event: unknown;
  /** The event that came in later, for waits and cancellations. */
  readonly async?: unknown;
  /** What `now()` returns. */
  readonly nowMs: number;
  /** Steps that the expressions of one event have taken together, where many are evaluated in a row. */
  readonly spent?: { steps: number };
}

/** A checked expression. Evaluating it changes nothing, and takes no more work and memory than it is allowed. */
export interface Expression {
  readonly source: string;
  /** What it demands of one field of the incoming event, if that is easily seen. */
  readonly equality: Equality | null;
  /** Why a comparison of the two events in it is a mistake; null when none is. */
  readonly comparedProblem: string | null;
  /** It does nothing but compare fields of the run's own event with the incoming one, and this one has none of them. */
  lacksAll(event: unknown): boolean;
  /** Whether it looks at `event`. */
  readonly readsEvent: boolean;
  /**
   * Its value as JSON; times as ISO text, spans of time in seconds. Fields that the event does not have are null; where
   * all that two events are compared by is missing in both, they are not equal.
   * @throws HoldfastError `EXPRESSION_FAILED`
   */
  evaluate(data: ExpressionData, allowance?: Allowance): unknown;
}

const language = languageOf(["event", "async", "vars"]);

/**
 * Reads and checks an expression.
 * @throws HoldfastError `EXPRESSION_INVALID` that says what is wrong with it
 */
export function compileExpression(source: string): Expression {
  const { ast, evaluate } = compileProgram(source, language);
  const compared = comparedOnly(ast);
  const lacksAll = (event: unknown): boolean =>
    compared?.every((path) => (fieldOf(event, path) ?? null) === null) ?? false;
  return {
    source,
    equality: equalityOf(ast),
    comparedProblem: comparedProblem(ast),
    lacksAll,
    readsEvent: mentions(ast, "event"),
    evaluate: ({ event, async = null, nowMs }, allowance = ALLOWANCE) => {
      const value = evaluate({ event, async: async ?? null, vars: {} }, nowMs, allowance);
      return value === true && lacksAll(event) ? false : value;
    },
  };
}
