/** Conditions over events, as functions and waits have them. `expressions.ts` keeps the compiled ones. */
import type { Allowance } from "./meter.ts";
import { ALLOWANCE, compileProgram, languageOf } from "./program.ts";
import { mentions } from "./tree.ts";
import { type Equality, equalityOf } from "./wait-match.ts";

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
  /** Whether it looks at `event`. */
  readonly readsEvent: boolean;
  /**
   * Its value as JSON; times as ISO text, spans of time in seconds. Fields that the event does not have are null.
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
  return {
    source,
    equality: equalityOf(ast),
    readsEvent: mentions(ast, "event"),
    evaluate: ({ event, async = null, nowMs }, allowance = ALLOWANCE) =>
      evaluate({ event, async: async ?? null, vars: {} }, nowMs, allowance),
  };
}
