/** Schedules in memory: the next tick of each is a job of `queue.ts`. */
import {
  type CronTick,
  cronKey,
  type NewCron,
  type RegisteredCron,
  type ScheduledFunction,
  type StoredCron,
  scheduleText,
} from "../port/events.ts";
import type { Queue } from "./queue.ts";
import type { TableClock } from "./rows.ts";

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
  readonly #clock: TableClock;

  constructor(queue: Queue, clock: TableClock) {
    this.#queue = queue;
    this.#clock = clock;
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
      // A tick that is past is due now, as all that comes into the queue late.
      const delayMs = Math.max(0, Math.max(nextMs, dueMs) - this.#clock.nowMs());
      this.#queue.insert({ ...job, delayMs });
    }
  }

  /** Those of one graph; one that stays keeps its tick. */
  saveOf(owner: string, crons: readonly NewCron[]): void {
    const wanted = new Set(crons.map(({ functionId, cron }) => cronKey(functionId, cron)));
    for (const [key, { functionId }] of [...this.rows]) {
      if (functionId !== owner || wanted.has(key)) continue;
      this.rows.delete(key);
      this.#queue.removeKey({ runId: "", kind: "cron", key });
    }
    this.#make(crons);
  }

  /** Makes those that are missing, or whose job is. */
  repairThese(crons: readonly NewCron[]): void {
    this.#make(
      crons.filter(({ functionId, cron }) => {
        const key = cronKey(functionId, cron);
        return !this.rows.has(key) || !this.#queue.has({ runId: "", kind: "cron", key });
      }),
    );
  }

  move({ functionId, cron, next }: CronTick): void {
    const row = this.rows.get(cronKey(functionId, cron));
    if (row && next) row.nextMs = next.tickMs;
  }

  load(functionId: string, cron: string): StoredCron | null {
    const row = this.rows.get(cronKey(functionId, cron));
    return row ? { functionId, cron, jitterMs: row.jitterMs, tickMs: row.nextMs, nowMs: this.#clock.nowMs() } : null;
  }
}
