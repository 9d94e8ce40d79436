import type { Random } from "./random.ts";

/** How long to wait before try number `attempt` (1 = the first retry). */
export interface BackoffPolicy {
  readonly baseMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** 0 = none; 0.2 = the delay is spread evenly over ±20 %. The cap holds after the jitter. */
  readonly jitter: number;
}

/** `min(base * factor^(attempt-1), max)`, then jitter, never above `maxMs`, never below 0. */
export function backoffDelayMs(policy: BackoffPolicy, attempt: number, random: Random): number {
  const exponent = Math.min(Math.max(attempt, 1) - 1, 64);
  const plain = Math.min(policy.baseMs * policy.factor ** exponent, policy.maxMs);
  const spread = plain * policy.jitter * (random() * 2 - 1);
  return Math.round(Math.min(Math.max(plain + spread, 0), policy.maxMs));
}
