import { parseGoDurationMs } from "@holdfast/core";
import type { Op, OpName } from "@holdfast/protocol";

/** Steps that end without an agent: by time, by something from outside, by a call that the gateway makes. */
export const PARKED_OPS: ReadonlySet<OpName> = new Set([
  "Sleep",
  "WaitForEvent",
  "WaitForSignal",
  "InvokeFunction",
  "Gateway",
  "AIGateway",
] as const);

export const isParked = (op: Op): boolean => PARKED_OPS.has(op.op);

/** Ops that are no step: they come along with others, and count for nothing in how the run goes on. */
export const isLazy = (op: Op): boolean => op.op === "DeferAdd" || op.op === "DeferAbort";

/** sha1 of `complete`. */
const COMPLETE_KEY = "0737c22d3bfae812339732d14d8c7dbd6dc4e09c";

/** The handler threw, outside of steps: told as an op because others come along. A step of that id has a name, too. */
export const isHandlerFailure = ({ id, op, userland }: Op): boolean =>
  id === COMPLETE_KEY && userland === undefined && (op === "StepError" || op === "StepFailed");

/** What people call a step. */
export function nameOf(op: Op): string | undefined {
  return op.displayName ?? op.userland?.id;
}

/** Names that are looked up in the database: short enough for an index, and without the one character it cannot have. */
export function isStorableName(name: string, maxLength: number): boolean {
  return name.length <= maxLength && !name.includes("\0");
}

export interface Due {
  readonly delayMs?: number;
  readonly untilMs?: number;
}

/** The longest wait: 366 days. */
const MAX_WAIT_MS = 366 * 86_400_000;

/** A duration ("1m30s"; "" = none) or an ISO 8601 instant; undefined when it is neither, or too far away. */
export function parseDue(text: string, nowMs: number): Due | undefined {
  if (text === "") return {};
  const delayMs = parseGoDurationMs(text);
  if (delayMs !== undefined) return delayMs > MAX_WAIT_MS ? undefined : { delayMs };
  const untilMs = Date.parse(text);
  if (Number.isNaN(untilMs) || untilMs - nowMs > MAX_WAIT_MS) return undefined;
  return { untilMs: Math.max(1, untilMs) };
}

const MIN_RETRY_AFTER_MS = 1000;
const MAX_RETRY_AFTER_MS = 86_400_000;

/** Whole seconds or an ISO 8601 instant, clamped to 1 s … 24 h; undefined when there is none or it cannot be read. */
export function parseRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value === "") return undefined;
  const delayMs = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  if (Number.isNaN(delayMs)) return undefined;
  return Math.min(Math.max(Math.round(delayMs), MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS);
}
