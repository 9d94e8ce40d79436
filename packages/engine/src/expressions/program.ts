/**
 * One program in CEL: checks it, compiles it, and evaluates it within a budget (docs/decisions/0023,
 * docs/decisions/0042). What it may read is the affair of those who use it.
 */
import { HoldfastError, messageOf } from "@holdfast/core";
import {
  type ASTNode,
  type Environment,
  EvaluationError,
  TypeError as ExpressionTypeError,
  ParseError,
} from "@marcbachmann/cel-js";
import { compilePattern, expressionLanguage, LINEAR_MATCHES } from "./functions.ts";
import { type Allowance, Meter } from "./meter.ts";
import { meter } from "./metered.ts";
import { childrenOf, type Path, pathOf } from "./tree.ts";
import { toJson, withNulls } from "./values.ts";

/** A checked program. Evaluating it changes nothing, and takes no more work and memory than it is allowed. */
export interface CheckedProgram {
  readonly ast: ASTNode;
  /** Fields that it reads, from the variable on. */
  readonly paths: readonly Path[];
  /**
   * Its value as JSON; times as ISO text, spans of time in seconds. Fields that are not there are null.
   * @throws HoldfastError `EXPRESSION_FAILED`
   */
  evaluate(context: Readonly<Record<string, unknown>>, nowMs: number, allowance: Allowance): unknown;
}

const MAX_LENGTH = 8192;
const MAX_NESTING = 2;
/** For one evaluation: some ten milliseconds, on a machine that is not busy. */
export const ALLOWANCE: Allowance = { steps: 1_000_000, bytes: 32 * 1024 * 1024 };
const MACROS = new Set(["all", "exists", "exists_one", "map", "filter"]);

let now = 0;
/** Evaluating never waits, so there is one at a time. */
const work = new Meter();

/** The language with these variables. */
export const languageOf = (variables: readonly string[]): Environment => expressionLanguage(() => now, work, variables);

/**
 * Reads and checks a program.
 * @throws HoldfastError `EXPRESSION_INVALID` that says what is wrong with it
 */
export function compileProgram(source: string, language: Environment): CheckedProgram {
  if (source.length > MAX_LENGTH) {
    throw invalid(source, `it has ${source.length} characters; the limit is ${MAX_LENGTH}`);
  }
  if (source.includes("\0")) throw invalid(source, "it contains a NUL character");
  const { paths, matches } = inspect(source, language);
  const program = checked(source, matches, language);
  const leastSteps = meter(program.ast, work, source);
  return {
    ast: program.ast,
    paths,
    evaluate: (context, nowMs, allowance) =>
      withoutStacks(() => {
        now = nowMs;
        work.begin(allowance);
        const run = (given: Record<string, unknown>): unknown => {
          work.charge(leastSteps);
          const value = toJson(work, program(given));
          // Part of the expression may have been skipped for it.
          work.check();
          return value;
        };
        try {
          return run(context);
        } catch (error) {
          const mayBeMissing =
            error instanceof EvaluationError && (error.code === MISSING || error.code === UNREADABLE);
          if (!mayBeMissing || work.isOver) throw failed(source, reasonOf(error));
        }
        try {
          return run(withNulls(work, context, paths));
        } catch (error) {
          throw failed(source, reasonOf(error));
        }
      }),
  };
}

/** Each entry of a list may fail, and for most errors finding out where they come from takes longer than all the rest. */
function withoutStacks<T>(evaluate: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return evaluate();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A field is not there. */
const MISSING = "no_such_key";
/** An object has a field named `constructor`, which hides what it is. */
const UNREADABLE = "unsupported_type";

interface Inspection {
  /** Fields that the expression reads, and that are null when missing. */
  readonly paths: readonly Path[];
  /** Where the word `matches` stands. */
  readonly matches: readonly number[];
}

function inspect(source: string, language: Environment): Inspection {
  const paths: Path[] = [];
  const matches: number[] = [];
  let growing = 0;
  const visit = (node: ASTNode, depth: number): void => {
    const path = pathOf(node);
    if (path) {
      if (path.length > 1) paths.push(path);
      if (path[0] === "cel") throw invalid(source, "`cel.bind` is not available");
      return;
    }
    let inside = depth;
    if (node.op === "call" && node.args[0] === "has") return;
    if (node.op === "rcall") {
      const [name, receiver, args] = node.args;
      if (name === "matches") {
        checkPattern(source, args[0]);
        matches.push(source.indexOf("matches", receiver.end));
      }
      if (MACROS.has(name)) {
        inside += 1;
        if (inside > MAX_NESTING) throw invalid(source, `list macros are nested more than ${MAX_NESTING} deep`);
        if (name === "map" && adds(args)) growing += 1;
        if (growing > 1) throw invalid(source, "`+` may appear in only one `map`");
        visit(receiver, depth);
        for (const arg of args) visit(arg, inside);
        return;
      }
    }
    for (const child of childrenOf(node)) visit(child, inside);
  };
  visit(parsed(source, language).ast, 0);
  return { paths, matches };
}

function adds(nodes: readonly ASTNode[]): boolean {
  return nodes.some((node) => node.op === "+" || adds(childrenOf(node)));
}

function checkPattern(source: string, node: ASTNode | undefined): void {
  if (node?.op !== "value" || typeof node.args !== "string") return;
  try {
    compilePattern(node.args);
  } catch (error) {
    throw invalid(source, `the pattern ${JSON.stringify(node.args)} cannot be used: ${messageOf(error)}`);
  }
}

type Program = ReturnType<Environment["parse"]>;

function parsed(source: string, language: Environment): Program {
  try {
    return language.parse(source);
  } catch (error) {
    throw invalid(source, reasonOf(error));
  }
}

/** The program, with every `matches` put to its linear form. */
function checked(source: string, matches: readonly number[], language: Environment): Program {
  let text = source;
  for (const at of [...matches].sort((a, b) => b - a)) {
    text = text.slice(0, at) + LINEAR_MATCHES + text.slice(at + "matches".length);
  }
  const program = parsed(text, language);
  const result = program.check();
  if (!result.valid) throw invalid(source, reasonOf(result.error));
  return program;
}

function reasonOf(error: unknown): string {
  if (work.isOver) return "it exceeds the limit of work or memory on events like this one";
  const known = error instanceof EvaluationError || error instanceof ParseError || error instanceof ExpressionTypeError;
  return shortened(known ? (error.summary ?? error.message) : messageOf(error));
}

function invalid(source: string, why: string): HoldfastError {
  return new HoldfastError("EXPRESSION_INVALID", `The expression \`${shortened(source)}\` cannot be used: ${why}.`);
}

function failed(source: string, why: string): HoldfastError {
  return new HoldfastError("EXPRESSION_FAILED", `The expression \`${shortened(source)}\` failed: ${why}.`);
}

const shortened = (source: string): string => (source.length > 200 ? `${source.slice(0, 200)}...` : source);

/** Steps that the last evaluation has taken. */
export const stepsOfLast = (): number => work.usedSteps;
