/** When a failed attempt is followed by the next one, as far as the worker can tell: for log lines, the gateway decides. */
import { type BackoffPolicy, backoffDelayMs } from "@holdfast/core";

/** How gateways space attempts, without the jitter. */
export type AttemptSpacing = Pick<BackoffPolicy, "baseMs" | "factor" | "maxMs">;

export interface FailedAttempt {
  /** Zero-based. */
  readonly attempt: number;
  /** What the author or `retries` asked for: seconds, or an ISO 8601 instant. */
  readonly retryAfter?: string | undefined;
}

const evenly = (): number => 0.5;

/** Undefined: the gateway has not said how it spaces attempts. */
export function nextAttemptMs(
  { attempt, retryAfter }: FailedAttempt,
  spacing: AttemptSpacing | undefined,
  nowMs: number,
): number | undefined {
  if (retryAfter !== undefined) {
    const inMs = /^\d+(?:\.\d+)?$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs;
    if (Number.isFinite(inMs)) return Math.max(0, inMs);
  }
  return spacing && backoffDelayMs({ ...spacing, jitter: 0 }, attempt + 1, evenly);
}
