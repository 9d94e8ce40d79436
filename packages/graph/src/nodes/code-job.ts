/** Code of a `javascript` node on its way into the sandbox. */
import { HoldfastError } from "@holdfast/core";
import { measureJson } from "../json/json-size.ts";
import { MAX_FILLED_CHARS } from "../templates/fill-template.ts";

/** As the sandbox takes it. */
export interface CodeJob {
  readonly code: string;
  readonly ctx: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

/** What came of it. */
export interface CodeResult {
  readonly output: unknown;
  /** What the code wrote with `console`. */
  readonly lines: readonly { readonly level: "debug" | "info" | "warn" | "error"; readonly text: string }[];
}

/**
 * A job as the argument of a step. A step reports its arguments as JSON, with its result again; of this one nothing is
 * reported, since `ctx` is made anew from the outputs in each pass, and may be larger than what a step may report.
 */
export class StepArgument implements CodeJob {
  readonly code: string;
  readonly ctx: CodeJob["ctx"];
  readonly timeoutMs: number;
  readonly memoryMb: number;

  constructor({ code, ctx, timeoutMs, memoryMb }: CodeJob) {
    this.code = code;
    this.ctx = ctx;
    this.timeoutMs = timeoutMs;
    this.memoryMb = memoryMb;
  }

  toJSON(): null {
    return null;
  }
}

/** Characters of JSON that `ctx` may have where code sees it. */
const MAX_CTX_CHARS = MAX_FILLED_CHARS;
/** No value of a run is so deep. */
const ANY_DEPTH = 10_000;
/** Many nodes see the same outputs. */
const measured = new WeakMap<object, number>();

/**
 * Refuses what is too large for the sandbox. A value that has several names, as the input, counts once.
 * @throws HoldfastError `GRAPH_VALUE_TOO_LARGE`
 */
export function checkCtxSize(nodeId: string, ctx: CodeJob["ctx"]): void {
  let chars = 0;
  for (const value of new Set(Object.values(ctx))) chars += charsOf(value);
  if (chars <= MAX_CTX_CHARS) return;
  const fix = "Pass references to large data, or move the node into a subgraph whose `input` has only what it needs.";
  const message = `\`ctx\` has more than ${MAX_CTX_CHARS} characters of JSON, which the code of node "${nodeId}" cannot be given. ${fix}`;
  throw new HoldfastError("GRAPH_VALUE_TOO_LARGE", message);
}

function charsOf(value: unknown): number {
  const isKept = typeof value === "object" && value !== null;
  const known = isKept ? measured.get(value) : undefined;
  if (known !== undefined) return known;
  const size = measureJson(value, { maxChars: MAX_CTX_CHARS, maxDepth: ANY_DEPTH });
  // What is no JSON is refused where it crosses to the thread.
  const chars = size.ok ? size.chars : size.reason === "size" ? MAX_CTX_CHARS + 1 : 0;
  if (isKept) measured.set(value, chars);
  return chars;
}

/** `ctx` as JSON in which a value that has several names is there once; the prelude of the sandbox reads it. */
export function ctxText(ctx: CodeJob["ctx"]): string {
  const places = new Map<unknown, number>();
  const names = Object.entries(ctx).flatMap(([name, value]): [string, number][] => {
    if (value === undefined) return [];
    const place = places.get(value) ?? places.size;
    places.set(value, place);
    return [[name, place]];
  });
  return JSON.stringify({ names, values: [...places.keys()] });
}
