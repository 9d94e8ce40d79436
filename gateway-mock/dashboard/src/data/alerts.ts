/** What someone should look at, in words; nothing is said of what is well. Pure. */
import { countOf, durationText } from "./format.ts";
import type { RunStats } from "./stats.ts";
import type { FunctionDetail, Worker } from "./types.ts";

export interface Metrics {
  readonly dispatcher: Readonly<Record<string, number>>;
  readonly store: Readonly<Record<string, unknown>>;
  readonly database: { readonly ok: boolean; readonly awayMs: number; readonly error: string | null };
  readonly queue: Queue | null;
  readonly tables: readonly { readonly table: string; readonly bytes: number; readonly rows: number }[] | null;
}

export interface Queue {
  readonly due: number;
  readonly leased: number;
  readonly later: number;
  readonly oldestDueMs: number | null;
}

export interface Alert {
  readonly text: string;
  readonly href?: string;
  readonly isBad: boolean;
}

export interface Situation {
  readonly metrics: Metrics | null;
  readonly workers: readonly Worker[] | null;
  readonly functions: readonly FunctionDetail[] | null;
  readonly newest: RunStats | null;
}

const LATE_MS = 30_000;
/** From so many ended runs on a part of them says something. */
const ENOUGH = 10;
const MANY_FAILED = 0.2;

export function alertsOf({ metrics, workers, functions, newest }: Situation): Alert[] {
  const alerts: Alert[] = [];
  const bad = (text: string, href?: string): void => void alerts.push({ text, isBad: true, ...(href ? { href } : {}) });
  const note = (text: string, href?: string): void =>
    void alerts.push({ text, isBad: false, ...(href ? { href } : {}) });
  if (metrics) {
    const { database, queue, dispatcher, store } = metrics;
    if (!database.ok)
      bad(`The database has been away for ${durationText(database.awayMs)}: ${database.error ?? "no answer"}`);
    if (Number(dispatcher.orphans ?? 0) > 0)
      bad(`${countOf(Number(dispatcher.orphans), "run")} cannot go on: nothing moves them.`);
    if (Number(store.lostBatches ?? 0) > 0) bad("The database has forgotten commits that it had acknowledged.");
    if (queue && queue.due > 0 && queue.oldestDueMs !== null && queue.oldestDueMs > LATE_MS) {
      bad(`The oldest work that is due has waited for ${durationText(queue.oldestDueMs)}.`, "/ui/runs?status=PENDING");
    }
    if (workers?.length === 0 && queue && queue.due > 0)
      bad("Work is due, and no worker is connected.", "/ui/connections");
  }
  if (newest && newest.ended >= ENOUGH && newest.failed / newest.ended >= MANY_FAILED) {
    bad(`${newest.failed} of the last ${newest.ended} runs that ended have failed.`, "/ui/runs?status=FAILED");
  }
  const paused = functions?.filter((fn) => fn.paused) ?? [];
  if (paused.length > 0) note(`Paused: ${paused.map(({ id }) => id).join(", ")}.`, "/ui/functions");
  const drained = workers?.filter((worker) => worker.drained).length ?? 0;
  if (drained > 0) note(`${countOf(drained, "worker")} drained.`, "/ui/connections");
  return alerts;
}
