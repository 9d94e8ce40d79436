/** What someone should look at, in words; nothing is said of what is well. Pure. */
import {
  type Causes,
  hasNoWorker,
  isWanted,
  lateText,
  type ServedFunction,
  STRANDED_MS,
  type Stranded,
  strandedText,
} from "./causes.ts";
import { countOf, countText, durationText } from "./format.ts";
import type { RunStats } from "./stats.ts";
import type { Worker } from "./types.ts";

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
  readonly functions: readonly ServedFunction[] | null;
  readonly newest: RunStats | null;
  /** What open runs wait for; null: it is not known. */
  readonly causes: Causes | null;
  /** Apps that have been without a worker for more than a moment. */
  readonly stranded: readonly Stranded[];
}

/** What waits for longer is worth a word: a burst has been worked off. */
const LATE_MS = 10_000;
const VERY_LATE_MS = 30_000;
/** From so many ended runs on a part of them says something. */
const ENOUGH = 10;
const MANY_FAILED = 0.2;

const isLate = (queue: Queue): boolean => queue.due > 0 && queue.oldestDueMs !== null && queue.oldestDueMs > LATE_MS;

/** Whether it is to be asked what open runs wait for: something is open that may never go on by itself, or is late. */
export const asksForCauses = (metrics: Metrics | null, functions: readonly ServedFunction[] | null): boolean => {
  const queue = metrics?.queue ?? null;
  if (queue === null || functions === null) return false;
  return isLate(queue) || (queue.due + queue.leased > 0 && functions.some(hasNoWorker));
};

export function alertsOf(situation: Situation): Alert[] {
  const { metrics, workers, functions, newest } = situation;
  const alerts: Alert[] = [];
  if (metrics) alerts.push(...ofGateway(metrics), ...ofQueue(metrics, situation));
  if (newest && newest.ended >= ENOUGH && newest.failed / newest.ended >= MANY_FAILED) {
    const text = `${newest.failed} of the last ${newest.ended} runs that ended have failed.`;
    alerts.push({ text, href: "/ui/runs?status=FAILED", isBad: true });
  }
  const paused = functions?.filter((fn) => fn.paused) ?? [];
  if (paused.length > 0) {
    const text = `Paused: ${paused.map(({ id }) => id).join(", ")}.`;
    alerts.push({ text, href: "/ui/functions", isBad: false });
  }
  const drained = workers?.filter((worker) => worker.drained).length ?? 0;
  if (drained > 0)
    alerts.push({ text: `${countOf(drained, "worker")} drained.`, href: "/ui/connections", isBad: false });
  return alerts;
}

function ofGateway({ database, dispatcher, store }: Metrics): Alert[] {
  const texts: string[] = [];
  if (!database.ok)
    texts.push(`The database has been away for ${durationText(database.awayMs)}: ${database.error ?? "no answer"}`);
  if (Number(dispatcher.orphans ?? 0) > 0)
    texts.push(`${countOf(Number(dispatcher.orphans), "run")} cannot go on: nothing moves them.`);
  if (Number(store.lostBatches ?? 0) > 0) texts.push("The database has forgotten commits that it had acknowledged.");
  return texts.map((text) => ({ text, isBad: true }));
}

function ofQueue({ queue }: Metrics, { workers, causes, stranded }: Situation): Alert[] {
  const alerts: Alert[] = stranded.map((one) => ({
    text: strandedText(one, causes?.isMore ?? false),
    href: strandedHref(one),
    isBad: true,
  }));
  if (!queue) return alerts;
  const known = causes?.causes ?? [];
  if (isLate(queue)) {
    const oldestMs = queue.oldestDueMs ?? 0;
    const what = `Work is late: ${countText(queue.due)} due, the oldest for ${durationText(oldestMs)}.`;
    const isBad = oldestMs > VERY_LATE_MS && !isWanted(known);
    // What has no worker is named already.
    const text = what + lateText(known.filter(({ appId }) => !stranded.some((one) => one.appId === appId)));
    alerts.push({ text, href: "/ui/runs?status=PENDING", isBad });
  }
  // An app that is started again is away for a moment.
  const isDueForLong = queue.due > 0 && (queue.oldestDueMs ?? 0) >= STRANDED_MS;
  if (workers?.length === 0 && isDueForLong && stranded.length === 0)
    alerts.push({ text: "Work is due, and no worker is connected.", href: "/ui/connections", isBad: true });
  return alerts;
}

const strandedHref = ({ functionIds: [id = "", ...others] }: Stranded): string =>
  others.length > 0 ? "/ui/connections" : `/ui/runs?status=PENDING,RUNNING,WAITING&function=${encodeURIComponent(id)}`;
