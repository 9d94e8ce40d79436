/** One event as the expressions of functions see it: conditions, keys, priorities. */
import { isRecord } from "@holdfast/protocol";
import { plainName } from "@holdfast/store";
import { sha256 } from "../digest.ts";
import type { ExpressionData } from "../expressions/expression.ts";
import { type ConditionPlace, type Expressions, isInternal } from "../expressions/expressions.ts";
import { keyText } from "../expressions/values.ts";

/** An event as triggers see it; its JSON is read only when something asks for it. */
export interface TriggerEvent {
  readonly id: string;
  readonly name: string;
  readonly payloadJson: string;
}

/** The option of a function that has a `key`. */
export interface KeyPlace {
  readonly functionId: string;
  readonly option: KeyedOption;
}

/** What is true of events in which a key has no value (docs/decisions/0188). */
const WITHOUT_VALUE = {
  // These say of events that they are the same, so without a value none is.
  idempotency: "each such event starts a run",
  singleton: "the runs of such events neither skip nor cancel each other",
  debounce: "each such event starts a run",
  // These say how much may happen.
  rateLimit: "all such events share one limit, and those over it start nothing",
  throttle: "the runs of all such events share one limit",
  concurrency: "the runs of all such events share one limit",
  batchEvents: "all such events are collected together",
} as const;
type KeyedOption = keyof typeof WITHOUT_VALUE;

/** A key, and what it is for people; without `shown` the option has none. */
export interface ShownKey {
  readonly key: string;
  readonly shown?: string;
}

/** What `EventReader.key` says of a limit that has none. */
export const NO_KEY = "";

const NO_VALUE = keyText(null);
const INVOKED = "inngest/function.invoked";
const MAX_PRIORITY = 600;
const MAX_SHOWN = 200;

/** Reads the event once, for all who ask. */
export class EventReader {
  readonly #see: () => unknown;
  readonly #expressions: Expressions;
  readonly nowMs: number;
  readonly #spent = { steps: 0 };
  #value: { readonly event: unknown } | null = null;

  constructor(see: () => unknown, expressions: Expressions, nowMs: number) {
    this.#see = see;
    this.#expressions = expressions;
    this.nowMs = nowMs;
  }

  /** Conditions have taken long enough for others to have their turn. */
  get mustYield(): boolean {
    return this.#expressions.mustYield;
  }

  yieldTurn(): Promise<void> {
    return this.#expressions.yieldTurn();
  }

  holds(expression: string): boolean {
    return this.#expressions.holds(expression, this.#data());
  }

  /** What a `key` option comes to: equal keys have equal text of few characters; no value is one of the values. */
  key(expression: string | null, place: KeyPlace): string {
    return expression === null ? NO_KEY : digestText(this.#textOf(expression, place) ?? NO_VALUE);
  }

  /** The same, with what it is for people. */
  shownKey(expression: string | null, place: KeyPlace): ShownKey {
    return expression === null ? { key: NO_KEY } : shownKey(expression, this.#textOf(expression, place) ?? NO_VALUE);
  }

  /** Of an option for which events with equal keys are the same; null: this one has no value, so it is like no other. */
  sameKey(expression: string | null, place: KeyPlace): ShownKey | null {
    if (expression === null) return { key: NO_KEY };
    const text = this.#textOf(expression, place);
    return text === null ? null : shownKey(expression, text);
  }

  /** Null: it has no value, which is said. */
  #textOf(expression: string, place: KeyPlace): string | null {
    const value = this.#expressions.value(expression, this.#data()) ?? null;
    if (value !== null) return keyText(value);
    this.#sayMissing(expression, place);
    return null;
  }

  /** A field that was misspelt, most likely. */
  #sayMissing(expression: string, { functionId, option }: KeyPlace): void {
    const { event } = this.#data();
    const eventName = isRecord(event) ? String(event.name) : "";
    // Schedules, and ends of runs, lack what a key is about; the data of an invocation are its caller's.
    if (isInternal(event) && eventName !== INVOKED) return;
    const name = option === "idempotency" ? option : `${option}.key`;
    const what = `Function "${plainName(functionId)}": \`${name}\` (\`${shortened(expression)}\`)`;
    this.#expressions.hint(
      `${functionId}\n${option}\n${expression}`,
      `${what} has no value in an event "${eventName}": ${WITHOUT_VALUE[option]}.`,
      this.nowMs,
      { functionId: plainName(functionId), option: name, event: eventName },
    );
  }

  /** The value of a `key` option, for people. */
  text(expression: string): string {
    return keyText(this.#expressions.value(expression, this.#data()));
  }

  /** What a wait with this condition on a later event is found by; "" also when the condition cannot be used. */
  match(condition: string, place: ConditionPlace): string {
    if (this.#expressions.problem(condition) !== null) return "";
    return this.#expressions.matchOf(condition, () => this.#data().event, place, this.nowMs);
  }

  /** Whole seconds, -600 to 600. */
  priority(expression: string | null): number {
    if (expression === null) return 0;
    const value = this.#expressions.value(expression, this.#data());
    const seconds = typeof value === "number" && Number.isFinite(value) ? Math.round(value) : 0;
    return Math.min(Math.max(seconds, -MAX_PRIORITY), MAX_PRIORITY);
  }

  #data(): ExpressionData {
    this.#value ??= { event: this.#see() };
    return { event: this.#value.event, nowMs: this.nowMs, spent: this.#spent };
  }
}

const shownKey = (expression: string, text: string): ShownKey => ({
  key: digestText(text),
  shown: `${shortened(expression)} = ${shortened(text)}`,
});

const shortened = (text: string): string => text.slice(0, MAX_SHOWN);

export const digestText = (text: string): string => sha256(text).toString("hex").slice(0, 32);
