import {
  type CronTick,
  cronKey,
  type FlowRuleKey,
  type FlowRuleState,
  flowRuleKeyOf,
  type NewCron,
  type OpenWindow,
  type RegisteredCron,
  type ScheduledFunction,
  type StoredCron,
  scheduleText,
  type WindowKey,
} from "@holdfast/store";

import type { Queue } from "./queue.ts";
import type { Now } from "./rows.ts";
import type { Runs } from "./runs.ts";

/** What events pass on their way to a run. */
export class FlowRules {
  readonly rows = new Map<string, FlowRuleState>();
  readonly #runs: Runs;
  readonly #now: Now;

  constructor(runs: Runs, now: Now) {
    this.#runs = runs;
    this.#now = now;
  }

  /** Rows as a batch finds them: those that are missing are made with it. */
  find(keys: readonly FlowRuleKey[]): Map<string, FlowRuleState> {
    return new Map(
      keys.map((key) => {
        const row = this.rows.get(flowRuleKeyOf(key)) ?? this.#fresh(key);
        return [
          flowRuleKeyOf(key),
          { ...row, live: this.#runs.isLive(row.runId), expiresMs: Number.POSITIVE_INFINITY },
        ];
      }),
    );
  }

  make(keys: readonly FlowRuleKey[]): void {
    for (const key of keys) if (!this.rows.has(flowRuleKeyOf(key))) this.write(this.#fresh(key));
  }

  write(state: FlowRuleState): void {
    this.rows.set(flowRuleKeyOf(state), { ...state, changed: false });
  }

  /** When the next start would be due at an even pace. */
  startMs(functionId: string, key: string): number | undefined {
    return this.rows.get(flowRuleKeyOf({ functionId, kind: "throttle", key }))?.atMs;
  }

  pace(functionId: string, key: string, byMs: number): void {
    const nowMs = this.#now();
    const flowRule = { functionId, kind: "throttle", key };
    const atMs = Math.max(this.startMs(functionId, key) ?? nowMs, nowMs) + byMs;
    this.write({ ...this.#fresh(flowRule), ...this.rows.get(flowRuleKeyOf(flowRule)), atMs, expiresMs: atMs });
  }

  /** The first moment at which a throttle of the function that is full lets someone start. */
  nextStartMs(functionId: string, toleranceMs: number): number {
    const full = [...this.rows.values()].filter(
      (flowRule) =>
        flowRule.functionId === functionId && flowRule.kind === "throttle" && flowRule.atMs - toleranceMs > this.#now(),
    );
    return Math.min(...full.map(({ atMs }) => Math.round(atMs - toleranceMs)));
  }

  window({ functionId, kind, key, id }: WindowKey & { readonly id: string }): OpenWindow | null {
    const row = this.rows.get(flowRuleKeyOf({ functionId, kind, key }));
    if (!row || row.runId !== id) return null;
    const [, ...eventIds] = row.data.split(" ");
    const dueInMs = Math.max(0, Math.ceil((row.dueMs ?? this.#now()) - this.#now()));
    return { functionId, kind, key, id, count: row.count, eventIds, dueInMs };
  }

  tidy(): void {
    for (const [name, flowRule] of this.rows) {
      const isHeld = flowRule.kind === "single" && this.#runs.isLive(flowRule.runId);
      if (flowRule.expiresMs < this.#now() && !isHeld) this.rows.delete(name);
    }
  }

  #fresh(key: FlowRuleKey): FlowRuleState {
    const nowMs = this.#now();
    const { functionId, kind } = key;
    const nothing = { count: 0, runId: "", data: "", dueMs: null, live: false, changed: false };
    return { functionId, kind, key: key.key, ...nothing, atMs: nowMs, expiresMs: nowMs };
  }
}

interface CronRow {
  appId: string;
  jitterMs: number;
  nextMs: number;
  readonly functionId: string;
  readonly cron: string;
}

/** Schedules: the next tick of each is a job. */
export class Crons {
  readonly rows = new Map<string, CronRow>();
  readonly #queue: Queue;
  readonly #now: Now;

  constructor(queue: Queue, now: Now) {
    this.#queue = queue;
    this.#now = now;
  }

  /** @param current the apps' functions as they are now */
  save(
    appIds: readonly string[],
    crons: readonly NewCron[],
    read: readonly ScheduledFunction[],
    current: readonly ScheduledFunction[],
  ): void {
    const known = new Set(read.map(scheduleText));
    if (!current.every((fn) => known.has(scheduleText(fn)))) return;
    const wanted = new Set(crons.map(({ functionId, cron }) => cronKey(functionId, cron)));
    const owned = new Set(current.map(({ slug }) => slug));
    for (const [key, { appId, functionId }] of [...this.rows]) {
      if (!(appIds.includes(appId) || owned.has(functionId)) || wanted.has(key)) continue;
      this.rows.delete(key);
      this.#queue.removeKey({ runId: "", kind: "cron", key });
    }
    this.#make(crons);
  }

  repair(crons: readonly RegisteredCron[], triggersOf: (functionId: string) => string | undefined): void {
    this.#make(
      crons.filter(({ functionId, cron, triggersJson }) => {
        const key = cronKey(functionId, cron);
        const isThere = this.rows.has(key) && this.#queue.has({ runId: "", kind: "cron", key });
        return !isThere && triggersOf(functionId) === triggersJson;
      }),
    );
  }

  #make(crons: readonly NewCron[]): void {
    for (const { functionId, appId, cron, jitterMs, tickMs, dueMs, jobId } of crons) {
      const key = cronKey(functionId, cron);
      const nextMs = this.rows.get(key)?.nextMs ?? tickMs;
      this.rows.set(key, { functionId, cron, appId, jitterMs, nextMs });
      const job = { id: jobId, runId: "", kind: "cron", key, functionId: "", attempt: 0, iteration: 0 } as const;
      // A tick that is past is due since then.
      const delayMs = Math.max(nextMs, dueMs) - this.#now();
      this.#queue.insert({ ...job, delayMs });
    }
  }

  move({ functionId, cron, next }: CronTick): void {
    const row = this.rows.get(cronKey(functionId, cron));
    if (row && next) row.nextMs = next.tickMs;
  }

  load(functionId: string, cron: string): StoredCron | null {
    const row = this.rows.get(cronKey(functionId, cron));
    return row ? { functionId, cron, jitterMs: row.jitterMs, tickMs: row.nextMs, nowMs: this.#now() } : null;
  }
}
