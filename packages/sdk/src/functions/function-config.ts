/** What an app registers of a function: its options, checked and in the form of the wire protocol. */
import { describeValue, messageOf } from "@holdfast/core";
import { DEFAULT_QUEUE, matchPathProblem, queueNameProblem, WIRE_LIMITS } from "@holdfast/protocol";
import { isStandardSchema } from "../events/event-types.ts";
import { instantOf } from "../steps/points-in-time.ts";
import { type RetryPolicy, readRetries } from "../steps/retry-policy.ts";
import { cronProblem } from "./cron-text.ts";
import {
  batchOf,
  concurrencyOf,
  debounceOf,
  optionalExpression,
  priorityOf,
  rateLimitOf,
  singletonOf,
  throttleOf,
} from "./flow-options.ts";
import { compact, DAY_MS, FunctionChecks } from "./function-checks.ts";
import { DEFAULT_RETRIES, type FunctionOptions } from "./function-options.ts";
import { inngestOptionProblem } from "./inngest-options.ts";

/** One element of what an app registers: plain JSON, as the wire protocol has it. */
export interface FunctionConfig {
  /** The slug: `<app id>-<function id>`. */
  readonly id: string;
  readonly name: string;
  readonly triggers: readonly Readonly<Record<string, string>>[];
  readonly steps: {
    readonly step: {
      readonly id: "step";
      readonly name: "step";
      readonly runtime: { readonly type: "ws"; readonly url: string };
      readonly retries: { readonly attempts: number };
    };
  };
  readonly [key: string]: unknown;
}

const KNOWN = [
  "id",
  "name",
  "triggers",
  "retries",
  "retryIf",
  "idempotency",
  "batchEvents",
  "rateLimit",
  "throttle",
  "concurrency",
  "debounce",
  "priority",
  "timeouts",
  "deadline",
  "queue",
  "retention",
  "singleton",
  "cancelOn",
  "onFailure",
  "description",
  "isolate",
];

const MAX_TRIGGERS = 10;
const MAX_CANCELS = 5;

/**
 * The function's configuration for the gateway.
 * @throws HoldfastError `FUNCTION_INVALID` that names the function and the option
 */
export function functionConfig(appId: string, options: FunctionOptions, hints: readonly string[] = []): FunctionConfig {
  const check = new FunctionChecks(options);
  const problem = inngestOptionProblem(options ?? {});
  if (problem !== undefined) check.fail(`\`options\` ${problem}`);
  check.object(options, "options", KNOWN);
  const id = check.label(options.id, "id", 200).trim();
  const slug = `${appId}-${id}`;
  const name = options.name === undefined ? id : check.label(options.name, "name", 500);
  checkTogether(check, options);
  return {
    id: slug,
    name,
    triggers: triggersOf(check, options.triggers),
    steps: stepsOf(slug, retryPolicyOf(check, options).attempts ?? DEFAULT_RETRIES),
    ...compact({
      idempotency: optionalExpression(check, options.idempotency, "idempotency"),
      batchEvents: batchOf(check, options.batchEvents),
      rateLimit: rateLimitOf(check, options.rateLimit),
      throttle: throttleOf(check, options.throttle),
      concurrency: concurrencyOf(check, options.concurrency),
      debounce: debounceOf(check, options.debounce),
      priority: priorityOf(check, options.priority),
      timeouts: timeoutsOf(check, options.timeouts),
      singleton: singletonOf(check, options.singleton),
      cancel: cancelsOf(check, options.cancelOn),
      // Known to our gateway only.
      holdfast: oursOf(check, options, hints),
    }),
  };
}

/** How the app retries its steps; the gateway learns of the attempts only. */
export function retryPolicyOf(check: FunctionChecks, { retries }: Pick<FunctionOptions, "retries">): RetryPolicy {
  return retries === undefined ? {} : readRetries(retries, (problem) => check.fail(`${problem}.`));
}

/** What only our gateway knows; undefined = nothing. */
function oursOf(
  check: FunctionChecks,
  options: FunctionOptions,
  hints: readonly string[],
): Record<string, unknown> | undefined {
  const { deadline, queue, retention } = options;
  const ours = compact({
    deadline: deadline === undefined ? undefined : check.duration(deadline, "deadline"),
    queue: queue === undefined ? undefined : queueNameOf(check, queue),
    retention: retention === undefined ? undefined : retentionOf(check, retention),
    hints: hints.length === 0 ? undefined : hints,
  });
  return Object.keys(ours).length === 0 ? undefined : ours;
}

/** How long its runs are kept; as the wire has durations, or `off`. */
function retentionOf(check: FunctionChecks, retention: unknown): Record<string, unknown> {
  const fields = check.object(retention, "retention", ["completed", "failed"]);
  const period = (name: "completed" | "failed"): string | undefined => {
    const value = fields[name];
    if (value === undefined || value === "off") return value;
    return check.duration(value, `retention.${name}`, { maxMs: 3650 * DAY_MS });
  };
  const periods = compact({ completed: period("completed"), failed: period("failed") });
  check.ensure(Object.keys(periods).length > 0, "`retention` needs `completed`, `failed` or both.");
  return periods;
}

function queueNameOf(check: FunctionChecks, queue: unknown): string {
  const problem = queueNameProblem(queue);
  check.ensure(problem === null, `\`queue\` ${problem}, not ${describeValue(queue)}.`);
  return String(queue);
}

/** The queue of a function. */
export const queueOf = ({ queue = DEFAULT_QUEUE }: Pick<FunctionOptions, "queue">): string => queue;

/** The configuration of the handler for failed runs of a function: a function of its own, in the same queue. */
export function failureConfig(config: FunctionConfig, queue: string): FunctionConfig {
  const slug = `${config.id}-failure`;
  return {
    id: slug,
    name: `${config.name} (failure)`,
    triggers: [{ event: "inngest/function.failed", expression: `event.data.function_id == '${config.id}'` }],
    steps: stepsOf(slug, 1),
    ...(queue === DEFAULT_QUEUE ? {} : { holdfast: { queue } }),
  };
}

function stepsOf(slug: string, attempts: number): FunctionConfig["steps"] {
  const runtime = { type: "ws", url: `wss://connect/?fnId=${slug}&stepId=step` } as const;
  return { step: { id: "step", name: "step", runtime, retries: { attempts } } };
}

function checkTogether(check: FunctionChecks, options: FunctionOptions): void {
  if (options.batchEvents === undefined) return;
  for (const other of ["cancelOn", "debounce", "singleton", "priority"] as const) {
    check.ensure(options[other] === undefined, `\`batchEvents\` cannot be combined with \`${other}\`.`);
  }
}

function triggersOf(check: FunctionChecks, triggers: unknown): FunctionConfig["triggers"] {
  if (triggers === undefined) return [];
  const list: unknown[] = Array.isArray(triggers) ? triggers : [triggers];
  check.ensure(list.length <= MAX_TRIGGERS, `there are more than ${MAX_TRIGGERS} triggers.`);
  const made = list.map((trigger, index) => triggerOf(check, trigger, `triggers[${index}]`));
  const seen = new Set<string>();
  for (const trigger of made) {
    const key = JSON.stringify([trigger.event, trigger.cron, trigger.expression]);
    check.ensure(!seen.has(key), `the trigger ${trigger.event ?? trigger.cron} is listed twice.`);
    seen.add(key);
  }
  return made;
}

function triggerOf(check: FunctionChecks, trigger: unknown, name: string): Record<string, string> {
  const given = (typeof trigger === "object" && trigger !== null ? trigger : {}) as Record<string, unknown>;
  if ("cron" in given) {
    const { cron, jitter } = check.object(given, name, ["cron", "jitter"]);
    const made: Record<string, string> = { cron: cronOf(check, cron, `${name}.cron`) };
    if (jitter !== undefined) made.jitter = check.duration(jitter, `${name}.jitter`, { maxMs: 300_000 });
    return made;
  }
  const inner = given.event;
  const declared = typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>) : undefined;
  const event = declared === undefined ? inner : declared.event;
  if (event === undefined) check.fail(`\`${name}\` must be { event: "name" }, { cron: "..." } or an eventType().`);
  // A declared event is a trigger as it stands, with all that it has.
  if (typeof given.create !== "function") check.object(given, name, ["event", "if", "schema"]);
  const schema = given.schema ?? declared?.schema;
  const fits = schema === undefined || isStandardSchema(schema);
  check.ensure(
    fits,
    `\`${name}.schema\` is not a Standard Schema (version 1); valibot, zod 3.24+ and arktype produce them.`,
  );
  const made: Record<string, string> = { event: patternOf(check, event, `${name}.event`) };
  if (given.if !== undefined) made.expression = check.expression(given.if, `${name}.if`);
  return made;
}

/** An event's name, or the beginning of names: up to a "/" or ".", then "*". Another "*" would stand for itself. */
function patternOf(check: FunctionChecks, value: unknown, name: string): string {
  const text = check.text(value, name, WIRE_LIMITS.maxEventNameLength);
  const star = text.indexOf("*");
  const fits = star === -1 || (star === text.length - 1 && /(^|[/.])\*$/.test(text));
  check.ensure(
    fits,
    `\`${name}\` is "${text}"; a "*" may only be the last character, after a "/" or ".", as in "shop/*".`,
  );
  return text;
}

function timeoutsOf(check: FunctionChecks, value: unknown): unknown {
  if (value === undefined) return undefined;
  const { start, finish } = check.object(value, "timeouts", ["start", "finish"]);
  return compact({
    start: start === undefined ? undefined : check.duration(start, "timeouts.start"),
    finish: finish === undefined ? undefined : check.duration(finish, "timeouts.finish"),
  });
}

function cancelsOf(check: FunctionChecks, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) check.fail("`cancelOn` must be an array.");
  check.ensure(value.length <= MAX_CANCELS, `\`cancelOn\` takes at most ${MAX_CANCELS} entries.`);
  return value.map((entry, index) => {
    const name = `cancelOn[${index}]`;
    const { event, timeout, match, if: condition } = check.object(entry, name, ["event", "timeout", "if", "match"]);
    check.ensure(match === undefined || condition === undefined, `\`${name}\` has both \`if\` and \`match\`.`);
    const path = optionalText(check, match, `${name}.match`);
    const wrongPath = path === undefined ? null : matchPathProblem(path);
    check.ensure(wrongPath === null, `\`${name}.match\` ${wrongPath}.`);
    const eventName = typeof event === "object" && event !== null ? (event as { event?: unknown }).event : event;
    return compact({
      event: check.text(eventName, `${name}.event`, WIRE_LIMITS.maxEventNameLength),
      timeout: timeout === undefined ? undefined : timeoutOf(check, timeout, `${name}.timeout`),
      if: path === undefined ? optionalExpression(check, condition, `${name}.if`) : `event.${path} == async.${path}`,
    });
  });
}

function timeoutOf(check: FunctionChecks, value: unknown, name: string): string {
  let instant: string | undefined;
  try {
    instant = instantOf(value);
  } catch (cause) {
    check.fail(`\`${name}\`: ${messageOf(cause)}`, cause);
  }
  return instant ?? check.duration(value, name);
}

function cronOf(check: FunctionChecks, value: unknown, name: string): string {
  const text = check.text(value, name, 255);
  const problem = cronProblem(text);
  check.ensure(problem === null, `\`${name}\` is "${text}": ${problem}.`);
  return text;
}

function optionalText(check: FunctionChecks, value: unknown, name: string): string | undefined {
  return value === undefined ? undefined : check.text(value, name);
}
