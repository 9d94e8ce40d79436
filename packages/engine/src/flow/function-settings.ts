/**
 * What an app registers of a function that concerns more than one run: triggers and flow control. Read and checked
 * once, at the handshake.
 */
import { DEFAULT_QUEUE, isRecord, queueNameProblem, WIRE_LIMITS } from "@holdfast/protocol";
import { checkCron } from "./cron.ts";
import { type EventSchemas, readEventSchemas } from "./event-schemas.ts";
import { type Fields, SettingsChecks } from "./settings-checks.ts";

/** What starts a function's runs. */
export type Trigger =
  | { readonly type: "event"; readonly pattern: string; readonly condition: string | null }
  | { readonly type: "cron"; readonly cron: string; readonly jitterMs: number };

/** At most `limit` steps at once of all jobs with the same key; without a key, of all jobs in the scope. */
export interface ConcurrencyLimit {
  readonly limit: number;
  readonly key: string | null;
  readonly scope: "fn" | "env" | "account";
}

/** `limit` + `burst` runs may start at once, then one each `periodMs / limit`. Others wait. */
export interface Throttle {
  readonly limit: number;
  readonly periodMs: number;
  readonly burst: number;
  readonly key: string | null;
}

/** At most `limit` runs in a period, which begins with its first run. Others are skipped. */
export interface RateLimit {
  readonly name: "rate" | "idempotency";
  readonly limit: number;
  readonly periodMs: number;
  readonly key: string | null;
}

/** One run with the last event, once none has come for `periodMs`; at the latest `timeoutMs` after the first. */
export interface Debounce {
  readonly periodMs: number;
  readonly timeoutMs: number | null;
  readonly key: string | null;
}

/** One run for up to `maxSize` events that come within `timeoutMs`. Events that do not fulfil `condition` run alone. */
export interface BatchEvents {
  readonly maxSize: number;
  readonly timeoutMs: number;
  readonly key: string | null;
  readonly condition: string | null;
}

/** One run at a time. */
export interface Singleton {
  readonly mode: "skip" | "cancel";
  readonly key: string | null;
}

/** How a function is started and held back, as its app registered it. Expressions are CEL and known to compile. */
export interface FunctionSettings {
  readonly triggers: readonly Trigger[];
  readonly concurrency: readonly ConcurrencyLimit[];
  readonly throttle: Throttle | null;
  /** The function's own idempotency is one of these: one run in 24 hours. */
  readonly rateLimits: readonly RateLimit[];
  readonly debounce: Debounce | null;
  readonly batch: BatchEvents | null;
  readonly singleton: Singleton | null;
  /** Its value shifts the place in the queue by as many seconds. */
  readonly priority: string | null;
  /** A run that has not started after this is cancelled. */
  readonly startTimeoutMs: number | null;
  /** Workers that serve this queue run it; null = the default one. */
  readonly queue: string | null;
  /** How long its runs are kept after they have ended; what is left out is as for all functions. */
  readonly retention: FunctionRetention;
  /** JSON Schema of the data of events that start it, by name, as far as its app said it. Forms are made of it. */
  readonly eventSchemas: EventSchemas;
  /** What its app says may be wrong with it, in sentences. */
  readonly hints: readonly string[];
}

/** Milliseconds; null = without end. */
export interface FunctionRetention {
  readonly completedMs?: number | null;
  readonly failedMs?: number | null;
}

export const NO_SETTINGS: FunctionSettings = {
  triggers: [],
  concurrency: [],
  throttle: null,
  rateLimits: [],
  debounce: null,
  batch: null,
  singleton: null,
  priority: null,
  startTimeoutMs: null,
  queue: null,
  retention: {},
  eventSchemas: {},
  hints: [],
};

const SECOND_MS = 1000;
const DAY_MS = 86_400_000;
const MAX_CRON_LENGTH = 255;
const MAX_HINTS = 15;
const MAX_HINT = 1_000;
const MAX_TRIGGERS = 10;
const MAX_CANCELS = 5;
const MAX_LIMITS = 2;
const MAX_BATCH = 1000;
const MAX_PERIOD_MS = 7 * DAY_MS;
const MAX_RETENTION_MS = 3650 * DAY_MS;

/**
 * Reads and checks what was registered for a function, with the limits that the reference server has.
 * @throws HoldfastError `FUNCTION_INVALID` that names function and option
 */
export function readFunctionSettings(slug: string, triggers: unknown, config: Fields): FunctionSettings {
  const check = new SettingsChecks(slug);
  const throttle = check.optional(config.throttle, (value) => readThrottle(check, value));
  checkCancels(check, config.cancel);
  checkTogether(check, config);
  const ours = isRecord(config.holdfast) ? config.holdfast : {};
  return {
    triggers: readTriggers(check, triggers ?? []),
    concurrency: check.optional(config.concurrency, (value) => readConcurrency(check, value)) ?? [],
    throttle,
    rateLimits: readRateLimits(check, config),
    debounce: check.optional(config.debounce, (value) => readDebounce(check, value)),
    batch: check.optional(config.batchEvents, (value) => readBatch(check, value)),
    singleton: check.optional(config.singleton, (value) => readSingleton(check, value)),
    priority: check.optional(config.priority, (value) =>
      check.expression(check.record(value, "priority").run, "priority.run"),
    ),
    startTimeoutMs: check.optional(config.timeouts, (value) => readTimeouts(check, value)),
    queue: check.optional(ours.queue, (value) => readQueue(check, value)),
    retention: readRetention(check, ours.retention),
    eventSchemas: check.optional(ours.eventSchemas, (value) => readEventSchemas(check, value)) ?? {},
    hints: readHints(ours.hints),
  };
}

function readTriggers(check: SettingsChecks, value: unknown): Trigger[] {
  const seen = new Set<string>();
  return check.list(value, "triggers", MAX_TRIGGERS).map((entry, index): Trigger => {
    const name = `triggers[${index}]`;
    const trigger = readTrigger(check, check.record(entry, name), name);
    const identity = JSON.stringify(trigger.type === "cron" ? [trigger.cron] : [trigger.pattern, trigger.condition]);
    if (seen.has(identity)) check.fail(`\`${name}\` is listed twice.`);
    seen.add(identity);
    return trigger;
  });
}

function readTrigger(check: SettingsChecks, fields: Fields, name: string): Trigger {
  if (fields.cron !== undefined) {
    const cron = check.text(fields.cron, `${name}.cron`, MAX_CRON_LENGTH).trim();
    const problem = checkCron(cron);
    if (problem) check.fail(`\`${name}.cron\`: ${problem}`);
    const readJitter = (value: unknown): number => check.durationMs(value, `${name}.jitter`, SECOND_MS, 300_000);
    return { type: "cron", cron, jitterMs: check.optional(fields.jitter, readJitter) ?? 0 };
  }
  return {
    type: "event",
    pattern: check.text(fields.event, `${name}.event`, WIRE_LIMITS.maxEventNameLength),
    // As its author wrote it: SDKs send the option `if` under another name.
    condition: check.optional(fields.expression, (value) => check.expression(value, `${name}.if`)),
  };
}

function readKey(check: SettingsChecks, fields: Fields, name: string): string | null {
  return check.optional(fields.key, (value) => check.expression(value, `${name}.key`));
}

function readConcurrency(check: SettingsChecks, value: unknown): ConcurrencyLimit[] {
  const entries = Array.isArray(value) ? check.list(value, "concurrency", MAX_LIMITS) : [value];
  return entries.flatMap((entry, index): ConcurrencyLimit[] => {
    const name = Array.isArray(value) ? `concurrency[${index}]` : "concurrency";
    if (typeof entry === "number") {
      const limit = check.integer(entry, name, 0);
      return limit === 0 ? [] : [{ limit, key: null, scope: "fn" }];
    }
    const fields = check.record(entry, name);
    const limit = check.integer(fields.limit, `${name}.limit`, 0);
    const scopes = ["fn", "env", "account"] as const;
    const scope = check.optional(fields.scope, (given) => check.oneOf(given, `${name}.scope`, scopes)) ?? "fn";
    const key = readKey(check, fields, name);
    // As in the reference, no limit is written as 0.
    return limit === 0 ? [] : [{ limit, key, scope }];
  });
}

function readThrottle(check: SettingsChecks, value: unknown): Throttle {
  const fields = check.record(value, "throttle");
  return {
    limit: check.integer(fields.limit, "throttle.limit", 1),
    periodMs: check.durationMs(fields.period, "throttle.period", SECOND_MS, MAX_PERIOD_MS),
    burst: check.optional(fields.burst, (given) => check.integer(given, "throttle.burst", 0)) ?? 0,
    key: readKey(check, fields, "throttle"),
  };
}

function readRateLimits(check: SettingsChecks, config: Fields): RateLimit[] {
  const limits: RateLimit[] = [];
  if (config.idempotency !== undefined && config.idempotency !== null) {
    limits.push({
      name: "idempotency",
      limit: 1,
      periodMs: DAY_MS,
      key: check.expression(config.idempotency, "idempotency"),
    });
  }
  if (config.rateLimit !== undefined && config.rateLimit !== null) {
    const fields = check.record(config.rateLimit, "rateLimit");
    limits.push({
      name: "rate",
      limit: check.integer(fields.limit, "rateLimit.limit", 1),
      periodMs: check.durationMs(fields.period, "rateLimit.period", SECOND_MS, DAY_MS),
      key: readKey(check, fields, "rateLimit"),
    });
  }
  return limits;
}

function readDebounce(check: SettingsChecks, value: unknown): Debounce {
  const fields = check.record(value, "debounce");
  return {
    periodMs: check.durationMs(fields.period, "debounce.period", SECOND_MS, MAX_PERIOD_MS),
    timeoutMs: check.optional(fields.timeout, (given) => check.durationMs(given, "debounce.timeout", SECOND_MS)),
    key: readKey(check, fields, "debounce"),
  };
}

function readBatch(check: SettingsChecks, value: unknown): BatchEvents {
  const fields = check.record(value, "batchEvents");
  const maxSize = check.integer(fields.maxSize, "batchEvents.maxSize", 2);
  if (maxSize > MAX_BATCH) check.fail(`\`batchEvents.maxSize\` must be at most ${MAX_BATCH}.`);
  return {
    maxSize,
    timeoutMs: check.durationMs(fields.timeout, "batchEvents.timeout", SECOND_MS, MAX_PERIOD_MS),
    key: readKey(check, fields, "batchEvents"),
    condition: check.optional(fields.if, (given) => check.expression(given, "batchEvents.if")),
  };
}

function readSingleton(check: SettingsChecks, value: unknown): Singleton {
  const fields = check.record(value, "singleton");
  const mode = check.oneOf(fields.mode ?? "skip", "singleton.mode", ["skip", "cancel"]);
  return { mode, key: readKey(check, fields, "singleton") };
}

function readTimeouts(check: SettingsChecks, value: unknown): number | null {
  const fields = check.record(value, "timeouts");
  check.optional(fields.finish, (given) => check.durationMs(given, "timeouts.finish", 0));
  return check.optional(fields.start, (given) => check.durationMs(given, "timeouts.start", 0));
}

function readQueue(check: SettingsChecks, value: unknown): string | null {
  const problem = queueNameProblem(value);
  if (problem) check.fail(`\`queue\` ${problem}.`);
  return value === DEFAULT_QUEUE ? null : check.text(value, "queue", 64);
}

/** For people only, so what is none is left out. */
function readHints(value: unknown): readonly string[] {
  const hints: unknown[] = Array.isArray(value) ? value.slice(0, MAX_HINTS) : [];
  return hints.flatMap((hint) => (typeof hint === "string" ? [hint.slice(0, MAX_HINT)] : []));
}

function readRetention(check: SettingsChecks, value: unknown): FunctionRetention {
  if (value === undefined || value === null) return {};
  const fields = check.record(value, "retention");
  const period = (name: "completed" | "failed"): number | null =>
    fields[name] === "off" ? null : check.durationMs(fields[name], `retention.${name}`, SECOND_MS, MAX_RETENTION_MS);
  return {
    ...(fields.completed === undefined ? {} : { completedMs: period("completed") }),
    ...(fields.failed === undefined ? {} : { failedMs: period("failed") }),
  };
}

function checkCancels(check: SettingsChecks, value: unknown): void {
  if (value === undefined || value === null) return;
  for (const [index, entry] of check.list(value, "cancel", MAX_CANCELS).entries()) {
    const name = `cancel[${index}]`;
    const fields = check.record(entry, name);
    check.text(fields.event, `${name}.event`, WIRE_LIMITS.maxEventNameLength);
    check.optional(fields.if, (given) => check.expression(given, `${name}.if`));
  }
}

function checkTogether(check: SettingsChecks, config: Fields): void {
  if (!isRecord(config.batchEvents)) return;
  for (const other of ["debounce", "singleton", "priority"]) {
    if (config[other] !== undefined) check.fail(`\`batchEvents\` cannot be combined with \`${other}\`.`);
  }
  if (Array.isArray(config.cancel) && config.cancel.length > 0) {
    check.fail("`batchEvents` cannot be combined with `cancel`.");
  }
}
