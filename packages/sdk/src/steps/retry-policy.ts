/**
 * How often something that failed is tried again, and when: the `retries` and `retryIf` of functions and steps as they
 * are written, checked, and put together. The app computes the delay and says it to the gateway, which keeps to it.
 */
import { type BackoffPolicy, backoffDelayMs, describeValue, messageOf, type PlainError, unitOf } from "@holdfast/core";
import { WIRE_LIMITS } from "@holdfast/protocol";
import { type DurationLike, durationMsOf } from "./points-in-time.ts";

/** When something that failed is retried. The wait before retry n is `base * factor^(n - 1)`, at most `max`. */
export interface RetryOptions {
  /**
   * How often it is retried after the first attempt, 0 to 20: 3 means up to four attempts. Default 2.
   * @example attempts: 6
   */
  readonly attempts?: number;
  /**
   * The wait before the first retry. Default "1s".
   * @example base: "2s"
   */
  readonly base?: DurationLike;
  /**
   * Each further wait is this many times as long, 1 to 1000. Default 2.
   * @example factor: 3
   */
  readonly factor?: number;
  /**
   * The longest wait, at most 24 h. Default "1m", or `base` if that is longer.
   * @example max: "10m"
   */
  readonly max?: DurationLike;
  /**
   * The fraction by which a wait may be shorter or longer, 0 to 1, so that what failed together is not retried
   * together. It is derived from the run, the step and the attempt. Default 0.2.
   * @example jitter: 0.5
   */
  readonly jitter?: number;
}

/** Whether what was thrown is worth another attempt. Called where it was thrown; it may not be asynchronous. */
export type RetryIf = (error: Error) => boolean;

/** The same, checked. Plain data, since it goes to threads. What is not there is another's to say, or the default. */
export interface RetryPolicy {
  readonly attempts?: number;
  readonly baseMs?: number;
  readonly factor?: number;
  readonly maxMs?: number;
  readonly jitter?: number;
}

const KEYS = ["attempts", "base", "factor", "max", "jitter"] as const;
const DAY_MS = 86_400_000;
const DEFAULT_BACKOFF: BackoffPolicy = { baseMs: 1000, factor: 2, maxMs: 60_000, jitter: 0.2 };

/** Reads `retries`: a number of retries, or an object. `fail` throws what the caller's mistakes are. */
export function readRetries(given: unknown, fail: (problem: string) => never): RetryPolicy {
  if (typeof given !== "object" || given === null) return { attempts: readAttempts(given, "retries", fail) };
  const { attempts, base, factor, max, jitter } = given as Record<string, unknown>;
  const unknown = Object.keys(given).find((key) => !KEYS.some((known) => known === key));
  if (unknown !== undefined || Array.isArray(given)) {
    const problem = Array.isArray(given) ? "cannot be an array" : `has no option \`${unknown}\``;
    fail(`\`retries\` ${problem}; it is a number, or an object with ${KEYS.map((key) => `\`${key}\``).join(", ")}`);
  }
  const policy: RetryPolicy = {
    ...(attempts === undefined ? {} : { attempts: readAttempts(attempts, "retries.attempts", fail) }),
    ...(base === undefined ? {} : { baseMs: readDelay(base, "retries.base", fail) }),
    ...(factor === undefined ? {} : { factor: readNumber(factor, "retries.factor", [1, 1000], fail) }),
    ...(max === undefined ? {} : { maxMs: readDelay(max, "retries.max", fail) }),
    ...(jitter === undefined ? {} : { jitter: readNumber(jitter, "retries.jitter", [0, 1], fail) }),
  };
  if (policy.maxMs !== undefined && policy.baseMs !== undefined && policy.maxMs < policy.baseMs) {
    fail("`retries.max` is less than `retries.base`");
  }
  return policy;
}

/** Reads `retryIf`. */
export function readRetryIf(given: unknown, fail: (problem: string) => never): RetryIf {
  if (typeof given === "function") return given as RetryIf;
  return fail(`\`retryIf\` must be a function, (error) => boolean, not ${describeValue(given)}`);
}

/** Under this a `retryIf` that no author wrote, as that of graphs, has a function that says why it is `false`. */
const WHY_NOT = Symbol.for("holdfast.whyNotRetried");

/** Why this error is not tried again, where `retryIf` is one of Holdfast's own; undefined: an author's decision. */
export function whyNotRetried(retryIf: RetryIf | undefined, error: PlainError): string | undefined {
  const why: unknown = retryIf === undefined ? undefined : Reflect.get(retryIf, WHY_NOT);
  return typeof why === "function" ? String(why(error)) : undefined;
}

function readAttempts(value: unknown, name: string, fail: (problem: string) => never): number {
  const { maxRetries } = WIRE_LIMITS;
  const fits = typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= maxRetries;
  return fits ? value : fail(`\`${name}\` must be an integer from 0 to ${maxRetries}`);
}

function readNumber(
  value: unknown,
  name: string,
  [min, max]: readonly [number, number],
  fail: (problem: string) => never,
): number {
  const fits = typeof value === "number" && value >= min && value <= max;
  return fits ? value : fail(`\`${name}\` must be a number from ${min} to ${max}`);
}

function readDelay(value: unknown, name: string, fail: (problem: string) => never): number {
  let delayMs = 0;
  try {
    delayMs = durationMsOf(value, `\`${name}\``);
  } catch (cause) {
    fail(messageOf(cause).replace(/\.$/, ""));
  }
  return delayMs <= DAY_MS ? delayMs : fail(`\`${name}\` must be at most 24 h`);
}

/** What a step says itself comes first, then what its function says. Undefined: neither says when; the gateway does. */
export function backoffOf(step: RetryPolicy | undefined, fn: RetryPolicy | undefined): BackoffPolicy | undefined {
  const said = { ...fn, ...step };
  const { baseMs, factor, maxMs, jitter } = said;
  if (baseMs === undefined && factor === undefined && maxMs === undefined && jitter === undefined) return undefined;
  const first = baseMs ?? Math.min(DEFAULT_BACKOFF.baseMs, maxMs ?? Number.POSITIVE_INFINITY);
  return {
    baseMs: first,
    factor: factor ?? DEFAULT_BACKOFF.factor,
    maxMs: maxMs ?? Math.max(DEFAULT_BACKOFF.maxMs, first),
    jitter: jitter ?? DEFAULT_BACKOFF.jitter,
  };
}

/** What failed: the step of a run, or its handler (""), and which attempt it was, from 0. */
export interface FailedAttempt {
  readonly runId: string;
  readonly step: string;
  readonly attempt: number;
}

/** The wait before the next attempt: the same however often, and wherever, it is worked out. */
export function nextDelayMs(backoff: BackoffPolicy, { runId, step, attempt }: FailedAttempt): number {
  return backoffDelayMs(backoff, attempt + 1, () => unitOf(`${runId} ${step} ${attempt}`));
}

/**
 * As the wire has it: seconds. Our gateway takes a decimal fraction as it is; others know whole seconds from 1 on.
 */
export function retryAfterText(delayMs: number, exact: boolean): string {
  return exact ? (delayMs / 1000).toFixed(3) : String(Math.max(1, Math.ceil(delayMs / 1000)));
}
