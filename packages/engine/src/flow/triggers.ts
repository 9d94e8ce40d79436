/**
 * What an event does to a function: whether it triggers it, and through which flow rules, window and lane its run
 * starts. Pure.
 */
import { unreachable } from "@holdfast/core";
import {
  type ClaimLimits,
  DEFAULT_ENVIRONMENT,
  environmentOf,
  type FlowRule,
  type Lane,
  type WindowEntry,
} from "@holdfast/store";

import { digestText as digest, type EventReader, NO_KEY } from "./event-reader.ts";
import type { FunctionSettings, Throttle } from "./function-settings.ts";

/** What a run keeps of how it is held back, for all its jobs. */
export interface RunFlow {
  readonly slots: readonly string[];
  readonly priority: number;
}

/** How an event starts a run of a function. */
export interface Start {
  readonly flow: RunFlow | null;
  /** Of the first pass. */
  readonly lane: Lane | null;
  readonly flowRules: readonly FlowRule[];
  /** The event joins others; a run is made later. */
  readonly window: WindowEntry | null;
}

/** Where a start comes from. */
export type StartStage = "event" | "window" | "invoked" | "rerun";

export const PLAIN_START: Start = { flow: null, lane: null, flowRules: [], window: null };

export function isPlain(settings: FunctionSettings): boolean {
  const { concurrency, throttle, rateLimits, debounce, batch, singleton, priority } = settings;
  return (
    concurrency.length + rateLimits.length === 0 && !throttle && !debounce && !batch && !singleton && priority === null
  );
}

/** Whether the function's triggers fit the event. */
export function isTriggered(settings: FunctionSettings, eventName: string, reader: EventReader): boolean {
  return settings.triggers.some(
    (trigger) =>
      trigger.type === "event" &&
      eventMatches(trigger.pattern, eventName) &&
      (trigger.condition === null || reader.holds(trigger.condition)),
  );
}

/** Whether every event of this name triggers the function. */
export function isAlwaysTriggered({ triggers }: FunctionSettings, eventName: string): boolean {
  return triggers.some(
    (trigger) => trigger.type === "event" && trigger.condition === null && eventMatches(trigger.pattern, eventName),
  );
}

/** Exact, or a prefix up to a "/" or "." before the final "*". */
export function eventMatches(pattern: string, eventName: string): boolean {
  if (!pattern.endsWith("*")) return pattern === eventName;
  const prefix = pattern.slice(0, -1);
  return (prefix === "" || /[/.]$/.test(prefix)) && eventName.startsWith(prefix);
}

/**
 * How one event starts a run. `stage`: an event that has just come; what was collected in a window, whose flow rules
 * for events it has passed; an invocation, which is wanted for certain; or a rerun, whose events have been in their
 * windows and have had their idempotency key, and which rate limits and singletons hold back as any run.
 */
export function startOf(
  functionId: string,
  settings: FunctionSettings,
  reader: EventReader,
  stage: StartStage,
  newId: () => string,
): Start {
  const window = stage === "event" ? windowOf(functionId, settings, reader, newId) : null;
  if (window) return { ...PLAIN_START, window };
  const slots = settings.concurrency.map((limit) =>
    slotOf(functionId, limit, reader.key(limit.key, { functionId, option: "concurrency" })),
  );
  const priority = reader.priority(settings.priority);
  const throttle = settings.throttle
    ? digest(reader.key(settings.throttle.key, { functionId, option: "throttle" }))
    : null;
  const isLimited = slots.length > 0 || throttle !== null;
  return {
    flow: slots.length > 0 || priority !== 0 ? { slots, priority } : null,
    lane: isLimited ? laneOf(slots, throttle) : null,
    flowRules: stage === "invoked" ? [] : flowRulesOf(functionId, settings, reader, stage, newId),
    window: null,
  };
}

/** What a run of a chain hands over; see `ContinuedRun`. */
interface LinkFlow {
  readonly flow: RunFlow | null;
  readonly chain: { readonly from: string; readonly singletonKey?: string };
}

/** A run that goes on for another one has its place: its slots, its priority, and what it is the only one of. */
export function startOfLink(
  functionId: string,
  settings: FunctionSettings,
  { flow, chain }: LinkFlow,
  newId: () => string,
): Start {
  const { singleton, concurrency, throttle } = settings;
  const isLimited = concurrency.length > 0 || throttle !== null;
  const { singletonKey: key, from: continues } = chain;
  return {
    flow,
    lane: isLimited ? laneOf(onlyLaneOf(functionId, settings)?.slots ?? flow?.slots ?? []) : null,
    flowRules:
      singleton && key !== undefined
        ? [{ type: "single", functionId, key, mode: singleton.mode, jobId: newId(), continues }]
        : [],
    window: null,
  };
}

/** The key under which a run of this event is its function's singleton; undefined: it is none. */
export function singletonKeyOf(
  functionId: string,
  { singleton }: FunctionSettings,
  reader: EventReader,
): string | undefined {
  return singleton ? reader.sameKey(singleton.key, { functionId, option: "singleton" })?.key : undefined;
}

/** Of a function whose limits have no keys the lane of all of its jobs, as it is now; null: there are none, or several. */
export function onlyLaneOf(functionId: string, { concurrency, throttle }: FunctionSettings): Lane | null {
  if (concurrency.length === 0 && !throttle) return null;
  if (throttle?.key || concurrency.some(({ key }) => key !== null)) return null;
  return laneOf(
    concurrency.map((limit) => slotOf(functionId, limit, NO_KEY)),
    throttle ? digest(NO_KEY) : null,
  );
}

const slotOf = (functionId: string, limit: FunctionSettings["concurrency"][number], key: string): string =>
  digest(`${limit.scope}\n${ownerOf(limit, functionId)}${key}`);

/** Whose slots a limit counts: the function's, its environment's, or those of all environments. */
function ownerOf({ scope, key }: FunctionSettings["concurrency"][number], functionId: string): string {
  switch (scope) {
    case "fn":
      return `${functionId}\n${key ?? ""}\n`;
    case "env": {
      const environment = environmentOf(functionId);
      return environment === DEFAULT_ENVIRONMENT ? "" : `${environment}\n`;
    }
    case "account":
      return "";
    default:
      return unreachable(scope);
  }
}

function flowRulesOf(
  functionId: string,
  settings: FunctionSettings,
  reader: EventReader,
  stage: Exclude<StartStage, "invoked">,
  newId: () => string,
): FlowRule[] {
  const rates = stage === "window" ? [] : rateFlowRules(functionId, settings, reader);
  const flowRules: FlowRule[] = stage === "rerun" ? rates.filter(({ name }) => name === "rate") : rates;
  const { singleton } = settings;
  const same = singleton && reader.sameKey(singleton.key, { functionId, option: "singleton" });
  if (same) flowRules.push({ type: "single", functionId, ...same, mode: singleton.mode, jobId: newId() });
  return flowRules;
}

function rateFlowRules(
  functionId: string,
  settings: FunctionSettings,
  reader: EventReader,
): Extract<FlowRule, { type: "rate" }>[] {
  return settings.rateLimits.flatMap(({ name, limit, periodMs, key: source }) => {
    const key =
      name === "rate"
        ? reader.shownKey(source, { functionId, option: "rateLimit" })
        : reader.sameKey(source, { functionId, option: "idempotency" });
    return key ? [{ type: "rate", name, functionId, ...key, limit, periodMs }] : [];
  });
}

function windowOf(
  functionId: string,
  settings: FunctionSettings,
  reader: EventReader,
  newId: () => string,
): WindowEntry | null {
  const { debounce, batch } = settings;
  const ids = {
    functionId,
    jobIds: [newId(), newId()] as const,
    flowRules: rateFlowRules(functionId, settings, reader),
  };
  if (debounce) {
    const { periodMs, timeoutMs } = debounce;
    // A window of its own for an event without a value: the next one such is about something else.
    const key = reader.sameKey(debounce.key, { functionId, option: "debounce" })?.key ?? newId();
    return { ...ids, kind: "debounce", key, periodMs, timeoutMs, maxSize: 0 };
  }
  if (!batch || (batch.condition !== null && !reader.holds(batch.condition))) return null;
  const { timeoutMs: periodMs, maxSize } = batch;
  const key = reader.key(batch.key, { functionId, option: "batchEvents" });
  return { ...ids, kind: "batch", key, periodMs, timeoutMs: null, maxSize };
}

/** The lane of jobs with these slots; the same text for the same slots. */
export function laneOf(slots: readonly string[], throttle: string | null = null): Lane {
  const id = digest(slots.join("\n"));
  return { id: throttle === null ? id : `${id}~${throttle}`, slots, throttle };
}

/** Stores count places with 32 bits. A larger limit is none: one that cannot be counted would end the claims of all functions. */
const MOST_PLACES = 2 ** 31 - 1;
/** What a throttle may be ahead; databases know no time long before. */
const MOST_AHEAD_MS = 5_000 * 365 * 86_400_000;

function paceOf({ limit, burst, periodMs }: Throttle): NonNullable<ClaimLimits["throttle"]> {
  const everyMs = periodMs / limit;
  return { everyMs, burst: Math.min(limit + burst, MOST_PLACES, Math.floor(MOST_AHEAD_MS / everyMs) + 1) };
}

/** What claims of the function's jobs have to heed; null = nothing. */
export function limitsOf({ concurrency, throttle }: FunctionSettings): ClaimLimits | null {
  if (concurrency.length === 0 && !throttle) return null;
  return {
    slots: concurrency.map(({ limit }) => Math.min(limit, MOST_PLACES)),
    throttle: throttle ? paceOf(throttle) : null,
    shared: concurrency.some(({ scope }) => scope !== "fn"),
  };
}
