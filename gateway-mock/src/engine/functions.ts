import { createHash } from "node:crypto";
import { type Log, parseGoDurationMs } from "@holdfast/core";
import { isRecord, WIRE_LIMITS } from "@holdfast/protocol";
import type { AppRecord, Store, StoredFunction } from "../store/index.ts";
import { type CancelRule, readCancelRules } from "./cancel-rules.ts";
import type { Expressions } from "./expressions.ts";

/** A function as the engine needs it. */
export interface KnownFunction {
  /** The slug. */
  readonly id: string;
  readonly uuid: string;
  readonly appId: string;
  readonly appVersion: string;
  readonly maxAttempts: number;
  /** Event names, some ending in a wildcard. Triggers with a condition or a schedule are not among them. */
  readonly events: readonly string[];
  /** Triggers with a condition. */
  readonly conditions: readonly { readonly event: string; readonly expression: string }[];
  /** Events that cancel its runs. */
  readonly cancelRules: readonly CancelRule[];
  /** A run fails when it is not over this long after its creation. */
  readonly deadlineInMs: number | null;
  /** A run is cancelled when it is not over this long after its start. */
  readonly finishInMs: number | null;
}

/** Attempts of a function that says nothing about retries: 4 retries. */
const DEFAULT_RETRIES = 4;

/** The registry: the store's, mirrored in memory. */
export class Functions {
  readonly #store: Store;
  readonly #log: Log;
  readonly #expressions: Expressions;
  #byId = new Map<string, KnownFunction>();
  readonly #saved = new Map<string, string>();
  #last: Promise<void> = Promise.resolve();
  readonly #matches = new Map<string, readonly KnownFunction[]>();

  constructor(store: Store, log: Log, expressions: Expressions) {
    this.#expressions = expressions;
    this.#store = store;
    this.#log = log;
  }

  get(functionId: string): KnownFunction | undefined {
    return this.#byId.get(functionId);
  }

  all(): Iterable<KnownFunction> {
    return this.#byId.values();
  }

  load(): Promise<void> {
    return this.#inTurn(async () => {
      this.#put(await this.#store.loadFunctions());
      this.#saved.clear();
    });
  }

  /** Stores what an agent brought; does nothing when it is known already. */
  save(apps: readonly AppRecord[]): Promise<void> {
    return this.#inTurn(async () => {
      const changed = apps.filter((app) => this.#saved.get(app.id) !== fingerprint(app));
      if (changed.length === 0) return;
      for (const app of changed) this.#warnOfGaps(app);
      this.#put(await this.#store.saveApps(changed), new Set(changed.map((app) => app.id)));
      for (const app of changed) this.#saved.set(app.id, fingerprint(app));
      this.#store.notify({ type: "functions" });
    });
  }

  /** One after the other: what was read before a save must not replace what the save brought. */
  #inTurn(task: () => Promise<void>): Promise<void> {
    const mine = this.#last.then(task, task);
    this.#last = mine;
    return mine;
  }

  /** Functions that an event of this name triggers. */
  triggeredBy(eventName: string): readonly KnownFunction[] {
    const known = this.#matches.get(eventName);
    if (known) return known;
    const found = [...this.#byId.values()].filter((fn) =>
      fn.events.some((pattern) => eventMatches(pattern, eventName)),
    );
    if (this.#matches.size >= 1000) this.#matches.clear();
    this.#matches.set(eventName, found);
    return found;
  }

  /** Functions that an event of the engine's own triggers. */
  toldOf(eventName: string, payloadJson: string, nowMs: number): readonly KnownFunction[] {
    let event: unknown;
    const holds = (expression: string): boolean => {
      event ??= JSON.parse(payloadJson);
      return this.#expressions.holds(expression, { event, nowMs });
    };
    return [...this.#byId.values()].filter(
      (fn) =>
        fn.events.some((pattern) => eventMatches(pattern, eventName)) ||
        fn.conditions.some((trigger) => eventMatches(trigger.event, eventName) && holds(trigger.expression)),
    );
  }

  /** Functions of the `replaced` apps that are not among the stored ones are no longer triggered. */
  #put(stored: readonly StoredFunction[], replaced?: ReadonlySet<string>): void {
    const kept = [...this.#byId].filter(([, fn]) => replaced !== undefined && !replaced.has(fn.appId));
    const next = new Map(kept);
    for (const fn of stored) next.set(fn.slug, knownFunction(fn));
    this.#byId = next;
    this.#matches.clear();
  }

  #warnOfGaps(app: AppRecord): void {
    for (const fn of app.functions) {
      const gaps = gapsOf(JSON.parse(fn.triggersJson), JSON.parse(fn.configJson));
      if (gaps.length > 0 && !fn.slug.endsWith("-failure")) {
        this.#log("warn", `Function ${fn.slug}: this gateway does not do ${gaps.join(", ")} yet.`, {
          functionId: fn.slug,
        });
      }
    }
  }
}

const FLOW_OPTIONS = [
  "idempotency",
  "batchEvents",
  "rateLimit",
  "throttle",
  "concurrency",
  "debounce",
  "priority",
  "timeouts",
  "singleton",
];

function gapsOf(triggers: unknown, config: unknown): string[] {
  const gaps: string[] = [];
  const list = Array.isArray(triggers) ? triggers.filter(isRecord) : [];
  if (list.some((trigger) => typeof trigger.cron === "string")) gaps.push("cron triggers");
  if (list.some((trigger) => typeof trigger.expression === "string")) gaps.push("triggers with a condition");
  if (isRecord(config))
    gaps.push(...FLOW_OPTIONS.filter((option) => config[option] !== undefined).map((option) => `\`${option}\``));
  return gaps;
}

function knownFunction(fn: StoredFunction): KnownFunction {
  const triggers: unknown = JSON.parse(fn.triggersJson);
  const events = (Array.isArray(triggers) ? triggers : []).flatMap((trigger) => {
    if (!isRecord(trigger) || typeof trigger.event !== "string" || trigger.expression !== undefined) return [];
    return [trigger.event];
  });
  const conditions = (Array.isArray(triggers) ? triggers : []).flatMap((trigger) => {
    if (!isRecord(trigger) || typeof trigger.event !== "string" || typeof trigger.expression !== "string") return [];
    return [{ event: trigger.event, expression: trigger.expression }];
  });
  const config: unknown = JSON.parse(fn.configJson);
  const { slug: id, uuid, appId, appVersion } = fn;
  const ours = isRecord(config) && isRecord(config.holdfast) ? config.holdfast : {};
  const timeouts = isRecord(config) && isRecord(config.timeouts) ? config.timeouts : {};
  return {
    id,
    uuid,
    appId,
    appVersion,
    maxAttempts: maxAttemptsOf(config),
    events,
    conditions,
    cancelRules: readCancelRules(config),
    deadlineInMs: durationOf(ours.deadline),
    finishInMs: durationOf(timeouts.finish),
  };
}

function durationOf(value: unknown): number | null {
  if (typeof value === "number" && value > 0) return value;
  const durationMs = typeof value === "string" ? parseGoDurationMs(value) : undefined;
  return durationMs !== undefined && durationMs > 0 ? durationMs : null;
}

/** `retries.attempts` counts retries: attempts are one more. */
function maxAttemptsOf(config: unknown): number {
  const steps = isRecord(config) && isRecord(config.steps) ? config.steps.step : undefined;
  const retries = isRecord(steps) && isRecord(steps.retries) ? steps.retries.attempts : undefined;
  const count = Number.isInteger(retries) ? (retries as number) : DEFAULT_RETRIES;
  return Math.min(Math.max(count, 0), WIRE_LIMITS.maxRetries) + 1;
}

/** Exact, or a prefix up to a "/" or "." before the final "*". */
export function eventMatches(pattern: string, eventName: string): boolean {
  if (!pattern.endsWith("*")) return pattern === eventName;
  const prefix = pattern.slice(0, -1);
  return (prefix === "" || /[/.]$/.test(prefix)) && eventName.startsWith(prefix);
}

function fingerprint(app: AppRecord): string {
  return createHash("sha256").update(JSON.stringify(app)).digest("hex");
}
