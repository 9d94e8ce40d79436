/**
 * The JSON inside requests, replies and checkpoints: its types, and the checks of what peers send. `frames.ts` has
 * the frames around it.
 */
import { HoldfastError, type PlainError } from "@holdfast/core";
import { BACKSLASH, isCloser, isOpener, isRecord, QUOTE } from "./json-text.ts";
import { WIRE_LIMITS } from "./limits.ts";

/** The JSON inside requests, replies and checkpoints. Shapes are those of the base protocol unless marked as ours. */

export interface EventPayload {
  readonly id: string;
  readonly name: string;
  readonly data: unknown;
  readonly ts: number;
  readonly user?: unknown;
  readonly v?: string;
  readonly meta?: unknown;
}

/** The explicit forms; `input` = not finished, run it with these arguments. */
export type MemoEntry =
  | { readonly type: "data"; readonly data: unknown }
  | { readonly type: "error"; readonly error: PlainError }
  | { readonly type: "input"; readonly input: readonly unknown[] };

/** Ours, inside `ctx`, only for workers that offered the checkpoint extension. */
export interface ExtendedContext {
  readonly v: 1;
  /** Steps that failed before and may be tried again: their next attempt (zero-based) and when it is due. */
  readonly retries: Readonly<Record<string, { readonly attempt: number; readonly notBeforeMs: number }>>;
  /** Ids of steps whose result was the JavaScript value undefined (their memo data is null). */
  readonly undefinedSteps?: readonly string[];
  /** Kind and name of each memoized step, for the determinism check. */
  readonly signatures?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
  readonly appVersion?: string;
  /** The gateway's time when it made the request: due times are judged by it, whatever the worker's clock says. */
  readonly nowMs?: number;
  /** With "lookahead": how often in a row this work was lost by the workers that had it; absent: never. */
  readonly losses?: number;
  /** How the gateway spaces attempts, without the jitter; workers only say so in their logs. */
  readonly retry?: { readonly baseMs: number; readonly factor: number; readonly maxMs: number };
}

export interface ExecutionContext {
  readonly run_id: string;
  /** Its presence turns checkpointing over HTTP on in workers of the plain protocol. */
  readonly fn_id?: string;
  readonly env?: string;
  readonly step_id?: string;
  /** Zero-based. */
  readonly attempt: number;
  readonly max_attempts?: number;
  readonly stack: { readonly stack: readonly string[]; readonly current: number };
  readonly qi_id?: string;
  readonly request_id?: string;
  readonly job_id?: string;
  readonly disable_immediate_execution: boolean;
  readonly use_api: boolean;
  readonly holdfast?: ExtendedContext;
}

export interface ExecutionPayload {
  /** -1 = undecided, else the version of the run's first ops reply. */
  readonly version: number;
  readonly event: EventPayload;
  readonly events: readonly EventPayload[];
  readonly steps: Readonly<Record<string, MemoEntry | unknown>>;
  readonly ctx: ExecutionContext;
  readonly use_api?: boolean;
}

export const OP_NAMES = [
  "StepRun",
  "StepError",
  "StepFailed",
  "StepPlanned",
  "Sleep",
  "WaitForEvent",
  "WaitForSignal",
  "InvokeFunction",
  "AIGateway",
  "Gateway",
  "RunComplete",
  "DeferAdd",
  "DeferAbort",
  "DiscoveryRequest",
  "SyncRunComplete",
  "None",
  "Step",
] as const;
export type OpName = (typeof OP_NAMES)[number];

export interface Op {
  /** sha1 of the author's id, 40 hex digits. */
  readonly id: string;
  readonly op: OpName;
  readonly name?: string;
  readonly displayName?: string;
  readonly opts?: Readonly<Record<string, unknown>>;
  readonly userland?: { readonly id: string; readonly index?: number };
  readonly data?: unknown;
  readonly error?: PlainError & Readonly<Record<string, unknown>>;
  /** `a` = start in ns since the epoch, `b` = duration in ns. */
  readonly timing?: { readonly a: number; readonly b: number };
  /** Ours: zero-based attempt of this step that the op reports. */
  readonly attempt?: number;
  /** Ours: when a failed attempt may be tried again (StepError), whole seconds or an ISO 8601 instant. */
  readonly retryAfter?: string;
  /** Ours, of a StepError: how many attempts the step has in all, where these are more than its function's. */
  readonly maxAttempts?: number;
  /** Ours: the result was the JavaScript value undefined. */
  readonly undefinedResult?: boolean;
  /** Ours: the pass that reports the result has gone on over it, so that it needs no other one. */
  readonly seen?: boolean;
  /** Ours: 0-based order in which the run's code met the step. */
  readonly ordinal?: number;
  /**
   * Ours, of a result: how many results of the run its handler had been given before this one. A result without it
   * follows the one before it in the list.
   */
  readonly position?: number;
}

/**
 * sha1 of `complete`: the id of the op that says how the handler ended (RunComplete, StepFailed, StepError without
 * `userland`), where its end comes together with ops of steps.
 */
export const HANDLER_END_ID = "0737c22d3bfae812339732d14d8c7dbd6dc4e09c";

/** A step of that id has a name as well. */
export function isHandlerEnd({ id, op, userland }: Op): boolean {
  return id === HANDLER_END_ID && userland === undefined && HANDLER_ENDS.has(op);
}

const HANDLER_ENDS: ReadonlySet<OpName> = new Set(["RunComplete", "StepError", "StepFailed"] as const);

/** @throws HoldfastError `FRAME_INVALID` when the bytes are not UTF-8 JSON or nest too deep. */
export function parseJsonBytes(bytes: Uint8Array, what: string): unknown {
  if (nestsDeeperThan(bytes, WIRE_LIMITS.maxJsonDepth)) {
    throw new HoldfastError("FRAME_INVALID", `${what} nests deeper than ${WIRE_LIMITS.maxJsonDepth} levels.`);
  }
  try {
    return JSON.parse(strictUtf8.decode(bytes));
  } catch (cause) {
    throw new HoldfastError("FRAME_INVALID", `${what} is not JSON.`, { cause });
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

const utf8 = new TextEncoder();

export function encodeJsonBytes(value: unknown): Uint8Array {
  return utf8.encode(JSON.stringify(value) ?? "null");
}

/** Reads the ops of a reply, a checkpoint frame or a checkpoint call; junk keys are left behind. */
export function parseOps(value: unknown, what: string): Op[] {
  if (!Array.isArray(value)) throw new HoldfastError("FRAME_INVALID", `${what} is not an array of ops.`);
  return value.map((entry, index) => parseOp(entry, () => `${what}[${index}]`));
}

const KNOWN_OPS: ReadonlySet<string> = new Set(OP_NAMES);

/** An op that only its reader knows so far. Fields are set one by one: objects spread into it cost as much as the rest. */
type ReadOp = { -readonly [Name in keyof Op]: Op[Name] };

const isAttempts = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) <= WIRE_LIMITS.maxRetries + 1;

function parseOp(value: unknown, what: () => string): Op {
  if (!isRecord(value)) throw new HoldfastError("FRAME_INVALID", `${what()} is not an object.`);
  const { id, op, name, displayName, opts, error, attempt, retryAfter, maxAttempts, ordinal, position } = value;
  if (typeof op !== "string" || !KNOWN_OPS.has(op)) {
    throw new HoldfastError("FRAME_INVALID", `${what()}.op is not a known op: ${JSON.stringify(op)}.`);
  }
  if (op !== "None" && (typeof id !== "string" || id.length === 0 || id.length > 256 || id.includes("\0"))) {
    throw new HoldfastError("FRAME_INVALID", `${what()}.id is not a step id.`);
  }
  const read: ReadOp = { id: typeof id === "string" ? id : "", op: op as OpName };
  if (typeof name === "string") read.name = name;
  if (typeof displayName === "string") read.displayName = displayName;
  if (isRecord(opts)) read.opts = opts;
  const userland = parseUserland(value.userland);
  if (userland !== undefined) read.userland = userland;
  if ("data" in value) read.data = value.data;
  if (isRecord(error)) read.error = normalizeError(error);
  const timing = parseTiming(value.timing);
  if (timing !== undefined) read.timing = timing;
  if (Number.isInteger(attempt)) read.attempt = attempt as number;
  if (typeof retryAfter === "string") read.retryAfter = retryAfter;
  if (isAttempts(maxAttempts)) read.maxAttempts = maxAttempts;
  if (value.undefinedResult === true) read.undefinedResult = true;
  if (value.seen === true) read.seen = true;
  if (Number.isSafeInteger(ordinal)) read.ordinal = ordinal as number;
  if (Number.isSafeInteger(position) && (position as number) >= 0) read.position = position as number;
  return read;
}

function parseUserland(value: unknown): Op["userland"] {
  if (!isRecord(value) || typeof value.id !== "string") return undefined;
  const { id, index } = value;
  return typeof index === "number" ? { id, index } : { id };
}

function parseTiming(value: unknown): Op["timing"] {
  if (!isRecord(value) || typeof value.a !== "number" || typeof value.b !== "number") return undefined;
  return { a: value.a, b: value.b };
}

/** Gives an error object from a peer a name and a message, whatever it holds. */
export function normalizeError(value: unknown): PlainError & Record<string, unknown> {
  if (!isRecord(value)) {
    return { name: "Error", message: typeof value === "string" ? value : "Unknown error" };
  }
  const message = typeof value.message === "string" ? value.message : value.error;
  return {
    ...value,
    name: typeof value.name === "string" && value.name !== "" ? value.name : "Error",
    message: typeof message === "string" ? message : "Unknown error",
  };
}

/** The same of bytes, which are looked at before anything is built from them. */
function nestsDeeperThan(bytes: Uint8Array, maxDepth: number): boolean {
  // What opens more than it closes is no JSON, which its parser says.
  if (bytes.length <= 2 * maxDepth) return false;
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) at = endOfBytes(bytes, at + 1);
    else if (isOpener(byte)) {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (isCloser(byte)) depth -= 1;
  }
  return false;
}

/** A search costs as much as looking at so many bytes, which most strings have not. */
const SEARCH_FROM = 48;

function endOfBytes(bytes: Uint8Array, from: number): number {
  let at = from;
  for (const end = Math.min(from + SEARCH_FROM, bytes.length); at < end; at += 1) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) at += 1;
  }
  // The last of these bytes may have been escaped; what follows is no part of it.
  const rest = at;
  for (at = bytes.indexOf(QUOTE, rest); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let before = at - 1;
    while (before >= rest && bytes[before] === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 1) return at;
  }
  return bytes.length;
}
