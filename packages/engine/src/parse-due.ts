/** Reads durations and instants as functions write them, within the longest wait. */
import { parseGoDurationMs } from "@holdfast/core";

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

/**
 * Seconds or an ISO 8601 instant, at most 24 h; undefined when there is none or it cannot be read. Whole seconds and
 * instants are at least 1 s, as in the reference; a decimal fraction is taken as it is.
 */
export function parseRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value === "") return undefined;
  const [, fraction] = /^\d+(\.\d+)?$/.exec(value) ?? [];
  const isNumber = fraction !== undefined || /^\d+$/.test(value);
  const delayMs = isNumber ? Number(value) * 1000 : Date.parse(value) - nowMs;
  if (Number.isNaN(delayMs)) return undefined;
  const minMs = fraction === undefined ? MIN_RETRY_AFTER_MS : 0;
  return Math.min(Math.max(Math.round(delayMs), minMs), MAX_RETRY_AFTER_MS);
}
