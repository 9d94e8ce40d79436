/** The language of expressions: the CEL library with its functions replaced where their cost has no bound. */
import { parseDurationMs } from "@holdfast/core";
import { Environment } from "@marcbachmann/cel-js";
import { RE2JS } from "re2js";
import type { Meter } from "./meter.ts";

/** What a regular expression in `matches` is called after parsing: the same, in linear time. */
export const LINEAR_MATCHES = "matchesInLinearTime";

const LIMITS = { maxAstNodes: 300, maxDepth: 40, maxListElements: 200, maxMapEntries: 100, maxCallArguments: 8 };

type Scalar = number | bigint;

/**
 * The language of expressions: CEL, with what expressions written for Inngest rely on beside it. Numbers in events are
 * doubles, literals mostly integers: arithmetic takes both. A missing or null value is smaller than everything, and
 * adds nothing. `now()` and its kin read the instant that the evaluation was given, no clock.
 */
export function expressionLanguage(nowMs: () => number, meter: Meter, variables: readonly string[]): Environment {
  const environment = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS });
  for (const variable of variables) environment.registerVariable(variable, "dyn");
  addNumbers(environment);
  addNull(environment);
  addText(environment, meter);
  addTime(environment, nowMs);
  return environment;
}

function addNumbers(environment: Environment): void {
  const operators: [string, (a: number, b: number) => number][] = [
    ["+", (a, b) => a + b],
    ["-", (a, b) => a - b],
    ["*", (a, b) => a * b],
    ["/", (a, b) => a / b],
    ["%", (a, b) => a % b],
  ];
  for (const [operator, apply] of operators) {
    const both = (a: Scalar, b: Scalar): number => apply(Number(a), Number(b));
    environment.registerOperator(`double ${operator} int`, both);
    environment.registerOperator(`int ${operator} double`, both);
    if (operator === "%") environment.registerOperator("double % double", both);
  }
}

function addNull(environment: Environment): void {
  for (const type of ["int", "double", "string"]) {
    for (const operator of ["<", "<=", ">", ">="]) {
      const smaller = operator.startsWith("<");
      environment.registerOperator(`null ${operator} ${type}`, () => smaller);
      environment.registerOperator(`${type} ${operator} null`, () => !smaller);
    }
    environment.registerOperator(`null + ${type}`, (_: null, value: unknown) => value);
    environment.registerOperator(`${type} + null`, (value: unknown) => value);
  }
  environment.registerFunction("size(null): int", () => 0n);
}

const MAX_PATTERN_LENGTH = 1000;
/** Instructions of a pattern: repeats are written out. */
const MAX_PATTERN_SIZE = 5000;
const MATCH_STEPS_PER_CHAR = 8;

/** @throws Error that says why the pattern cannot be used */
export function compilePattern(pattern: string): RE2JS {
  if (pattern.length > MAX_PATTERN_LENGTH)
    throw new Error(`a pattern may have at most ${MAX_PATTERN_LENGTH} characters`);
  const compiled = RE2JS.compile(pattern);
  if (compiled.programSize() <= MAX_PATTERN_SIZE) return compiled;
  throw new Error("the pattern is too long when its repetitions are expanded");
}

/** Of a pattern that an event brings along: at most as if all its repeats were in each other. */
function patternCost(pattern: string): number {
  let size = pattern.length;
  for (const [, least = "", most = ""] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) {
    size *= Math.max(1, Number(least), Number(most));
  }
  const classes = pattern.split(/\\p|\(\?[a-z]*i/).length - 1;
  return size * 30 + classes * 10_000;
}

function addText(environment: Environment, meter: Meter): void {
  const patterns = new Map<string, RE2JS>();
  const matches = (text: string, pattern: string): boolean => {
    let compiled = patterns.get(pattern);
    if (!compiled) {
      meter.charge(patternCost(pattern));
      compiled = compilePattern(pattern);
      if (patterns.size >= 100) patterns.clear();
      patterns.set(pattern, compiled);
    }
    meter.charge(text.length * (MATCH_STEPS_PER_CHAR + compiled.programSize()));
    return compiled.matcher(text).find();
  };
  environment.registerFunction(`string.${LINEAR_MATCHES}(string): bool`, matches);
  environment.registerFunction("lowercase(string): string", (text: string) => text.toLowerCase());
  environment.registerFunction("uppercase(string): string", (text: string) => text.toUpperCase());
  environment.registerFunction("b64decode(string): string", textOfBase64);
  environment.registerFunction("json_parse(string): dyn", (text: string): unknown => JSON.parse(text));
}

/** What base64 stands for, as text; what is no base64 in it is left out. */
function textOfBase64(base64: string): string {
  const [digits = ""] = base64
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replaceAll(/[^A-Za-z0-9+/=]/g, "")
    .split("=");
  const bytes = atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits);
  return new TextDecoder().decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
}

function addTime(environment: Environment, nowMs: () => number): void {
  const timestamp = "google.protobuf.Timestamp";
  environment.registerFunction(`date(dyn): ${timestamp}`, (value: unknown) => {
    const date = new Date(typeof value === "bigint" ? Number(value) : (value as string | number));
    if (Number.isNaN(date.getTime())) throw new Error(`date() cannot read ${JSON.stringify(value)}`);
    return date;
  });
  environment.registerFunction(`now(): ${timestamp}`, () => new Date(nowMs()));
  environment.registerFunction(
    `now_plus(string): ${timestamp}`,
    (duration: string) => new Date(nowMs() + parseDurationMs(duration)),
  );
  environment.registerFunction(
    `now_minus(string): ${timestamp}`,
    (duration: string) => new Date(nowMs() - parseDurationMs(duration)),
  );
}
