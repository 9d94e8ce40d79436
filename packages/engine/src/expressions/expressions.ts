/**
 * Keeps compiled expressions, and says what their failures come to: no match, no value, a warning now and then. One
 * expression is in `expression.ts`.
 */
import { HoldfastError, type Log, messageOf, nextTurn } from "@holdfast/core";
import { isRecord } from "@holdfast/protocol";
import { plainName } from "@holdfast/store";
import { compileExpression, type Expression, type ExpressionData } from "./expression.ts";
import { ALLOWANCE, stepsOfLast } from "./program.ts";
import { expectedMatch, expectedText } from "./wait-match.ts";

const CACHE_SIZE = 1000;
/** Of one expression at most one warning a minute. */
const WARN_EVERY_MS = 60_000;
/** What is wrong in a function stays so until it is deployed again. */
const HINT_EVERY_MS = 3_600_000;

/** What all expressions of one event may take together, before each has to do with `LITTLE`. */
const PER_EVENT_STEPS = 2 * ALLOWANCE.steps;
const LITTLE_STEPS = 50_000;
/** So many, and others have their turn before the next evaluation. */
export const STEPS_A_TURN = ALLOWANCE.steps / 4;

/** Of a wait's condition: whose it is. */
export interface ConditionPlace {
  readonly functionId: string;
  readonly runId: string;
  /** The option, and the event that is wanted. */
  readonly place: string;
  /** As its author calls it. */
  readonly step?: string | undefined;
}

/** Compiled expressions, and what their failures come to: no match, no value, one warning now and then. */
export class Expressions {
  readonly #log: Log;
  #steps = 0;
  #yieldedAtSteps = 0;
  readonly #cache = new Map<string, Expression | HoldfastError>();
  readonly #warned = new Map<string, number>();
  readonly #hinted = new Map<string, number>();
  #failures = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /** How many steps evaluations have taken since the start. */
  get steps(): number {
    return this.#steps;
  }

  /** Evaluations have taken long enough for others to have their turn. */
  get mustYield(): boolean {
    return this.#steps - this.#yieldedAtSteps >= STEPS_A_TURN;
  }

  /** Lets everything else that is due happen. */
  async yieldTurn(): Promise<void> {
    this.#yieldedAtSteps = this.#steps;
    await nextTurn();
  }

  /** How many evaluations failed since the start. */
  get failures(): number {
    return this.#failures;
  }

  /** @throws HoldfastError `EXPRESSION_INVALID` */
  compile(source: string): Expression {
    const known = this.#cache.get(source);
    const made = known ?? compiled(source);
    if (known) this.#cache.delete(source);
    else if (this.#cache.size >= CACHE_SIZE) this.#cache.delete(this.#cache.keys().next().value as string);
    this.#cache.set(source, made);
    if (made instanceof HoldfastError) throw made;
    return made;
  }

  /** Why an expression cannot be used; null when it can. */
  problem(source: string): string | null {
    try {
      this.compile(source);
      return null;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** Whether it looks at `event`; true also when it cannot be used. */
  readsEvent(source: string): boolean {
    return this.problem(source) !== null || this.compile(source).readsEvent;
  }

  /** Why a wait cannot have it as its condition; null when it can. */
  waitProblem(source: string): string | null {
    const problem = this.problem(source) ?? this.compile(source).comparedProblem;
    return problem === null || /^The /.test(problem)
      ? problem
      : `The expression \`${source}\` cannot be used: ${problem}.`;
  }

  /**
   * What a wait with this condition is found by; "" = by its name alone. `event` gives the run's own event: one that
   * lacks what the condition compares is a warning, since the wait is for no event then.
   */
  matchOf(source: string, event: () => unknown, of: ConditionPlace, nowMs = 0): string {
    const { equality, lacksAll } = this.compile(source);
    if (!equality) return "";
    if (equality.equals.type === "value") return expectedMatch(equality, null);
    const own = event();
    if (lacksAll(own) && !isInternal(own)) this.#sayUnfulfillable(source, of, nowMs);
    return expectedMatch(equality, own);
  }

  /** What the text of an event that fulfils the condition contains, mostly; null = nothing in particular. */
  textOf(source: string, event: () => unknown): string | null {
    const { equality } = this.compile(source);
    if (!equality) return null;
    return expectedText(equality, equality.equals.type === "field" ? event() : null);
  }

  /** Whether the expression holds. One that fails, or whose value is not `true`, does not. */
  holds(source: string, data: ExpressionData): boolean {
    return this.value(source, data) === true;
  }

  /** The expression's value as JSON; undefined when it fails. */
  value(source: string, data: ExpressionData): unknown {
    const { spent } = data;
    const steps = Math.max(LITTLE_STEPS, Math.min(ALLOWANCE.steps, PER_EVENT_STEPS - (spent?.steps ?? 0)));
    try {
      const expression = this.compile(source);
      try {
        return expression.evaluate(data, { ...ALLOWANCE, steps });
      } finally {
        this.#steps += stepsOfLast();
        if (spent) spent.steps += stepsOfLast();
      }
    } catch (error) {
      this.#failures += 1;
      this.#warn(source, messageOf(error), data.nowMs);
      return undefined;
    }
  }

  #sayUnfulfillable(source: string, { functionId, runId, place, step }: ConditionPlace, nowMs: number): void {
    const name = plainName(functionId);
    const why = "the run's own event has no value there, and what is missing in both does not count as equal";
    const who = `Function "${name}"${step === undefined ? "" : `, step "${step}"`}`;
    const what = `the condition of ${place} (\`${source.slice(0, 200)}\`)`;
    const data = { runId, functionId: name, ...(step === undefined ? {} : { stepId: step }) };
    // Not of each step: ids of steps may be made of data.
    this.hint(`${functionId}\n${place}\n${source}`, `${who}: ${what} is fulfilled by no event: ${why}.`, nowMs, data);
  }

  /** A warning about a function as it is written, which `about` names: once, and again after an hour. */
  hint(about: string, message: string, nowMs: number, data: Readonly<Record<string, unknown>>): void {
    const last = this.#hinted.get(about);
    if (last !== undefined && nowMs - last < HINT_EVERY_MS) return;
    if (this.#hinted.size >= CACHE_SIZE) this.#hinted.clear();
    this.#hinted.set(about, nowMs);
    this.#log("warn", message, data);
  }

  #warn(source: string, message: string, nowMs: number): void {
    const last = this.#warned.get(source);
    if (last !== undefined && nowMs - last < WARN_EVERY_MS) return;
    if (this.#warned.size >= CACHE_SIZE) this.#warned.clear();
    this.#warned.set(source, nowMs);
    this.#log("warn", message);
  }
}

/** Schedules and invocations make events that mostly lack what a condition is about. */
/** Made by the engine itself. */
export const isInternal = (event: unknown): boolean =>
  isRecord(event) && /^(inngest|holdfast)\//.test(String(event.name));

function compiled(source: string): Expression | HoldfastError {
  try {
    return compileExpression(source);
  } catch (error) {
    if (HoldfastError.is(error)) return error;
    throw error;
  }
}
