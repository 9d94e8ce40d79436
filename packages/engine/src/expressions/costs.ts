/** What each operator and function of an expression costs, charged before it is done (METER-1, docs/decisions/0042). */
import { EvaluationError } from "@marcbachmann/cel-js";
import { keyCount, type Meter } from "./meter.ts";

/** What a part of an expression costs, in steps of about ten nanoseconds; measured where it is not obvious. */
export const COSTS = {
  node: 8,
  key: 30,
  entry: 10,
  entryBytes: 16,
  scannedChars: 16,
  timeZone: 15_000,
  /** An error that is kept until others have had their turn: it is made with a message that shows the source. */
  failure: 200,
  sourceChars: 8,
} as const;

type Cost = (meter: Meter, args: readonly unknown[]) => void;

const lengthOf = (value: unknown): number =>
  typeof value === "string" || value instanceof Uint8Array || Array.isArray(value) ? value.length : 0;

const scan = (meter: Meter, chars: number): void => meter.charge(chars / COSTS.scannedChars);

/** Each character of the first argument is looked at, and text of about that length made. */
const rewrite =
  (stepsPerChar: number, bytesPerChar: number): Cost =>
  (meter, [text]) =>
    meter.charge(lengthOf(text) * stepsPerChar, lengthOf(text) * bytesPerChar);

/** Long needles make the search start over and over. */
const search: Cost = (meter, [text, needle]) =>
  meter.charge(lengthOf(text) * (1 / COSTS.scannedChars + Math.max(0, lengthOf(needle) - 200) / 40));

const split: Cost = (meter, [text, separator]) => {
  const mostParts = lengthOf(text) / Math.max(1, lengthOf(separator));
  search(meter, [text, separator]);
  meter.charge(lengthOf(text) / 4 + mostParts * 2, mostParts * COSTS.entryBytes);
};

const join: Cost = (meter, [list, separator]) => {
  meter.charge(lengthOf(list));
  let chars = lengthOf(list) * lengthOf(separator);
  for (const part of Array.isArray(list) ? list : []) chars += lengthOf(part);
  meter.charge(chars / COSTS.scannedChars, chars * 2);
};

const MAX_MATCHED_CHARS = 65_536;

const matches: Cost = (_meter, [text]) => {
  if (lengthOf(text) <= MAX_MATCHED_CHARS) return;
  throw new EvaluationError({ message: `\`matches\` accepts strings of at most ${MAX_MATCHED_CHARS} characters` });
};

/** By name, with the receiver as first argument. */
const FUNCTIONS: Readonly<Record<string, Cost>> = {
  contains: search,
  indexOf: search,
  lastIndexOf: search,
  split,
  join,
  lowerAscii: rewrite(1, 2),
  upperAscii: rewrite(1, 2),
  lowercase: rewrite(1, 2),
  uppercase: rewrite(1, 2),
  trim: rewrite(1, 0),
  size: (meter, [value]) => meter.charge(typeof value === "string" ? value.length * 1.5 : 0),
  b64decode: rewrite(0.5, 2),
  json_parse: rewrite(10, 30),
  json: rewrite(10, 30),
  bytes: rewrite(0.5, 3),
  string: rewrite(0.5, 2),
  hex: rewrite(0.5, 2),
  base64: rewrite(0.5, 2),
  // Its pattern looks for a unit again from each digit.
  duration: (meter, [text]) => meter.charge(lengthOf(text) ** 2 / 20),
  date: (meter, [value]) => walk(meter, value),
  matchesInLinearTime: matches,
};

/** What a function costs before it runs. */
export function chargeCall(meter: Meter, name: string, args: readonly unknown[]): void {
  for (const arg of args) chargeTyping(meter, arg);
  if (name.startsWith("get") && args.length > 1) meter.charge(COSTS.timeZone);
  let chars = 0;
  for (const arg of args) chars += typeof arg === "string" ? arg.length : 0;
  scan(meter, chars);
  FUNCTIONS[name]?.(meter, args);
}

/** What an operator with two sides costs before it runs. */
export function chargeOperator(meter: Meter, operator: string, left: unknown, right: unknown): void {
  chargeTyping(meter, left);
  chargeTyping(meter, right);
  if (operator === "+") {
    const chars = typeof left === "string" ? lengthOf(left) + lengthOf(right) : 0;
    const entries = typeof left === "string" ? 0 : lengthOf(left) + lengthOf(right);
    return meter.charge(chars / COSTS.scannedChars + entries, chars * 2 + entries * COSTS.entryBytes);
  }
  if (operator === "in") return chargeMembership(meter, left, right);
  if (typeof left === "string" && typeof right === "string") {
    return scan(meter, Math.min(left.length, right.length));
  }
  if (left !== right && isObject(left) && isObject(right)) walk(meter, left);
}

function chargeMembership(meter: Meter, value: unknown, list: unknown): void {
  if (!Array.isArray(list)) return;
  meter.charge(list.length * (1 + lengthOf(value) / COSTS.scannedChars));
  if (!isObject(value)) return;
  const before = meter.usedSteps;
  walk(meter, value);
  meter.charge(list.length * (meter.usedSteps - before));
}

/** All that is in a value is looked at. */
export function walk(meter: Meter, value: unknown): void {
  const stack: unknown[] = [value];
  while (stack.length > 0) {
    const next = stack.pop();
    if (typeof next === "string") scan(meter, next.length);
    if (!isObject(next)) continue;
    chargeFields(meter, next);
    const inner = Array.isArray(next) ? next : next instanceof Map ? next.values() : Object.values(next);
    for (const each of inner) stack.push(each);
  }
}

/** An object's fields are about to be listed. */
export function chargeFields(meter: Meter, value: object): void {
  meter.check();
  if (Array.isArray(value)) meter.charge(COSTS.entry * (1 + value.length));
  else meter.charge(COSTS.entry + COSTS.key * keyCount(value));
}

/** Deeper values are of ever new types, which are kept. */
const MAX_TYPED_DEPTH = 10;

/**
 * To choose what an operator or a function means for lists and maps, the language looks at the first entry of each, all
 * the way down.
 */
function chargeTyping(meter: Meter, value: unknown): void {
  let at = value;
  for (let depth = 0; isObject(at) && !isScalarObject(at); depth += 1) {
    if (depth >= MAX_TYPED_DEPTH) {
      throw new EvaluationError({ message: `lists and maps may nest at most ${MAX_TYPED_DEPTH} deep there` });
    }
    if (Array.isArray(at)) {
      meter.charge(1);
      at = at[0];
    } else {
      meter.charge(1 + keyCount(at) * COSTS.key);
      at = at instanceof Map ? at.values().next().value : firstOf(at);
    }
  }
}

function firstOf(value: object): unknown {
  for (const key in value) return (value as Record<string, unknown>)[key];
  return undefined;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Times, bytes, spans of time: what is no plain container. */
function isScalarObject(value: object): boolean {
  if (Array.isArray(value) || value instanceof Map) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null;
}
