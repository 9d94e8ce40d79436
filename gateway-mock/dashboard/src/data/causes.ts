/** What open runs wait for, and which of it lasts until a worker comes. Pure. */
import { countOf } from "./format.ts";
import type { FunctionDetail, Run } from "./types.ts";

/** A gateway of an earlier version does not say how many workers serve it. */
export type ServedFunction = FunctionDetail & { readonly workers?: number };

/** Runs of a function that wait for one reason. */
export interface Cause {
  readonly functionId: string;
  readonly appId: string;
  readonly reason: string;
  readonly count: number;
}

/** Runs that wait for a worker of an app, and no worker is there. */
export interface Stranded {
  readonly appId: string;
  readonly functionIds: readonly string[];
  readonly count: number;
  /** Of all that the app has, none has a worker. */
  readonly isWholeApp: boolean;
}

export interface Causes {
  readonly causes: readonly Cause[];
  readonly stranded: readonly Stranded[];
  /** There are more open runs than were looked at. */
  readonly isMore: boolean;
}

export function causesOf(runs: readonly Run[]): Cause[] {
  const byKey = new Map<string, Cause>();
  for (const { functionId, appId, waiting } of runs) {
    if (!waiting) continue;
    const key = `${functionId}\n${waiting.reason}`;
    const count = (byKey.get(key)?.count ?? 0) + 1;
    byKey.set(key, { functionId, appId, reason: waiting.reason, count });
  }
  return [...byKey.values()].sort((a, b) => b.count - a.count);
}

/** What ends when a worker comes; the last two of a worker that has gone with the run. */
const FOR_A_WORKER: ReadonlySet<string> = new Set([
  "NO_WORKER",
  "NO_WORKER_IN_QUEUE",
  "VERSION",
  "WORKER_DISCONNECTED",
  "LEASE_SILENT",
]);

export const hasNoWorker = ({ active, workers }: ServedFunction): boolean => active && workers === 0;

export function strandedOf(causes: readonly Cause[], functions: readonly ServedFunction[]): Stranded[] {
  const alone = new Set(functions.filter(hasNoWorker).map(({ id }) => id));
  const waiting = causes.filter(({ functionId, reason }) => FOR_A_WORKER.has(reason) && alone.has(functionId));
  return [...new Set(waiting.map(({ appId }) => appId))].map((appId) => {
    const own = waiting.filter((cause) => cause.appId === appId);
    return {
      appId,
      functionIds: [...new Set(own.map(({ functionId }) => functionId))],
      count: own.reduce((sum, { count }) => sum + count, 0),
      isWholeApp: functions.filter((fn) => fn.appId === appId && fn.active).every(hasNoWorker),
    };
  });
}

/** An app that is started again is without workers for a moment. */
export const STRANDED_MS = 4_000;

/** Since when each app has been stranded, as far as it was seen. */
export const strandedSince = (
  before: ReadonlyMap<string, number>,
  stranded: readonly Stranded[],
  nowMs: number,
): ReadonlyMap<string, number> => new Map(stranded.map(({ appId }) => [appId, before.get(appId) ?? nowMs]));

const MOST_NAMED = 3;

export function strandedText({ appId, functionIds, count, isWholeApp }: Stranded, isMore: boolean): string {
  const named = functionIds.slice(0, MOST_NAMED).join(", ");
  const more = functionIds.length > MOST_NAMED ? ` and ${functionIds.length - MOST_NAMED} more` : "";
  const who = isWholeApp
    ? `The app ${appId} has no connected worker`
    : `No connected worker of the app ${appId} has it`;
  const runs = `${isMore ? "at least " : ""}${countOf(count, "run")} of ${named}${more}`;
  return `${who}: ${runs} ${count === 1 && !isMore ? "waits" : "wait"} for one.`;
}

const WORDS: Readonly<Record<string, string>> = {
  NO_ROOM: "all workers that may run it are busy",
  LIMITS: "its limits have no place free",
  THROTTLED: "its throttle holds it back",
  VERSION: "it waits for a worker of its version",
  NO_WORKER: "no connected worker has it",
  NO_WORKER_IN_QUEUE: "no connected worker serves its queue",
  FUNCTION_PAUSED: "it is paused",
  BACKLOG: "its runs wait for those before them",
};

/** What its author or a person has asked for. */
const WANTED: ReadonlySet<string> = new Set(["LIMITS", "THROTTLED", "FUNCTION_PAUSED"]);

/** What waits for no other work, of those that wait for something of Holdfast. */
const ofLateWork = (causes: readonly Cause[]): Cause[] => {
  const known = causes.filter(({ reason }) => reason in WORDS);
  const first = known.filter(({ reason }) => reason !== "BACKLOG");
  return first.length > 0 ? first : known;
};

/** Whether late work is late because of limits and pauses alone. */
export const isWanted = (causes: readonly Cause[]): boolean => {
  const late = ofLateWork(causes);
  return late.length > 0 && late.every(({ reason }) => WANTED.has(reason));
};

/** ` shop-order: all workers that may run it are busy.`, and so on; empty: nothing is known of it. */
export function lateText(causes: readonly Cause[]): string {
  const late = ofLateWork(causes).slice(0, MOST_NAMED);
  if (late.length === 0) return "";
  return ` ${late.map(({ functionId, reason }) => `${functionId}: ${WORDS[reason]}`).join("; ")}.`;
}
