/** Options that say when events become runs, and how many at once: checked, in the form of the wire. */
import { describeValue } from "@holdfast/core";
import { wireDuration } from "../steps/wire-duration.ts";
import { compact, DAY_MS, type FunctionChecks } from "./function-checks.ts";

const MAX_CONCURRENCY = 2;

export function batchOf(check: FunctionChecks, value: unknown): unknown {
  if (value === undefined) return undefined;
  const {
    maxSize,
    timeout,
    key,
    if: condition,
  } = check.object(value, "batchEvents", ["maxSize", "timeout", "key", "if"]);
  return compact({
    maxSize: check.integer(maxSize, "batchEvents.maxSize", 2),
    timeout: check.duration(timeout, "batchEvents.timeout"),
    key: optionalExpression(check, key, "batchEvents.key"),
    if: optionalExpression(check, condition, "batchEvents.if"),
  });
}

export function rateLimitOf(check: FunctionChecks, value: unknown): unknown {
  if (value === undefined) return undefined;
  const { limit, period, key } = check.object(value, "rateLimit", ["limit", "period", "key"]);
  return compact({
    limit: check.integer(limit, "rateLimit.limit", 1),
    period: check.duration(period, "rateLimit.period", { maxMs: DAY_MS }),
    key: optionalExpression(check, key, "rateLimit.key"),
  });
}

export function throttleOf(check: FunctionChecks, value: unknown): unknown {
  if (value === undefined) return undefined;
  const { limit, period, burst, key } = check.object(value, "throttle", ["limit", "period", "burst", "key"]);
  return compact({
    limit: check.integer(limit, "throttle.limit", 1),
    period: check.duration(period, "throttle.period", { maxMs: 7 * DAY_MS }),
    burst: burst === undefined ? undefined : check.integer(burst, "throttle.burst", 0),
    key: optionalExpression(check, key, "throttle.key"),
  });
}

export function concurrencyOf(check: FunctionChecks, value: unknown): unknown {
  if (value === undefined) return undefined;
  const one = (entry: unknown, name: string): unknown => {
    if (typeof entry === "number") return check.integer(entry, name, 1);
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
      check.fail(`\`${name}\` must be an integer ≥ 1 or an object such as { limit: 2 }, not ${describeValue(entry)}.`);
    }
    const { limit, key, scope } = check.object(entry, name, ["limit", "key", "scope"]);
    return compact({
      limit: check.integer(limit, `${name}.limit`, 1),
      key: optionalExpression(check, key, `${name}.key`),
      scope: scope === undefined ? undefined : check.oneOf(scope, `${name}.scope`, ["fn", "env", "account"]),
    });
  };
  if (!Array.isArray(value)) return one(value, "concurrency");
  const fits = value.length >= 1 && value.length <= MAX_CONCURRENCY;
  check.ensure(fits, `\`concurrency\` takes 1 to ${MAX_CONCURRENCY} entries, not ${value.length}.`);
  return value.map((entry, index) => one(entry, `concurrency[${index}]`));
}

export function debounceOf(check: FunctionChecks, value: unknown): unknown {
  if (value === undefined) return undefined;
  const { period, timeout, key } = check.object(value, "debounce", ["period", "timeout", "key"]);
  const periodMs = check.durationMs(period, "debounce.period", { maxMs: 7 * DAY_MS });
  const timeoutMs = timeout === undefined ? undefined : check.durationMs(timeout, "debounce.timeout");
  // The run would always start at the timeout: no period is ever over before it.
  check.ensure(
    timeoutMs === undefined || timeoutMs >= periodMs,
    `\`debounce.timeout\` (${timeoutMs} ms) is shorter than \`debounce.period\` (${periodMs} ms), which would then have no effect.`,
  );
  return compact({
    period: wireDuration(periodMs),
    timeout: timeoutMs === undefined ? undefined : wireDuration(timeoutMs),
    key: optionalExpression(check, key, "debounce.key"),
  });
}

export function priorityOf(check: FunctionChecks, value: unknown): unknown {
  if (value === undefined) return undefined;
  return { run: check.expression(check.object(value, "priority", ["run"]).run, "priority.run") };
}

export function singletonOf(check: FunctionChecks, value: unknown): unknown {
  if (value === undefined) return undefined;
  const { mode, key } = check.object(value, "singleton", ["mode", "key"]);
  return compact({
    mode: check.oneOf(mode, "singleton.mode", ["skip", "cancel"]),
    key: optionalExpression(check, key, "singleton.key"),
  });
}

export function optionalExpression(check: FunctionChecks, value: unknown, name: string): string | undefined {
  return value === undefined ? undefined : check.expression(value, name);
}
