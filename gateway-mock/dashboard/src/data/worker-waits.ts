/** When a run that had begun was due and no worker went on with it, as far as its log tells. Pure. */
import { type Fact, isEnded, type RunDetail } from "./types.ts";

export interface WorkerWait {
  /** `lost`: the worker that had it was lost, and another one took over in the end. */
  readonly kind: "queue" | "lost";
  readonly fromMs: number;
  readonly toMs: number;
}

/** Handing out work takes some milliseconds; that is not what people call waiting. */
export const LATE_MS = 1_000;

interface FactData {
  readonly kind?: string;
  readonly delayMs?: number;
  readonly untilMs?: number;
  readonly step?: { readonly startedMs?: number; readonly kept?: boolean };
}

const dataOf = ({ data }: Fact): FactData => (data ?? {}) as FactData;

/** When a pass that follows another one, or a sleep or wait, may begin; null of other facts. */
function dueOf(fact: Fact): number | null {
  const { kind, delayMs = 0, untilMs = 0 } = dataOf(fact);
  if (fact.kind !== "DISPATCHED" || kind !== "pass" || fact.iteration < 2) return null;
  return Math.max(fact.atMs + delayMs, untilMs);
}

/** That a worker has the run, whichever of its steps it is at. */
const AT_WORK: ReadonlySet<string> = new Set([
  ...["STEP_BEGUN", "STEP_PLANNED", "STEP_WAITING", "STEP_ATTEMPT_FAILED", "PASS_REPORTED", "PASS_FAILED", "STALLED"],
  ...["RUN_COMPLETED", "RUN_FAILED", "RUN_CANCELLED"],
]);

/** When a worker is known to have had it; a fact is stored once what it tells of is over. */
function signsOf(fact: Fact): number[] {
  const { step } = dataOf(fact);
  if (step?.kept) return [];
  // A sleep or wait that ends is none.
  if (step?.startedMs !== undefined) return [step.startedMs, fact.atMs];
  return AT_WORK.has(fact.kind) ? [fact.atMs] : [];
}

export function workerWaits({ log = [], createdMs, startedMs }: RunDetail): WorkerWait[] {
  const signs = log.flatMap(signsOf).sort((a, b) => a - b);
  const losses = log.filter(({ kind }) => kind === "LEASE_LOST").map(({ atMs }) => atMs);
  const dues = log.flatMap((fact) => dueOf(fact) ?? []);
  const late = dues.flatMap((dueMs): WorkerWait[] => {
    const nextMs = signs.find((ms) => ms > dueMs);
    const isLost = losses.some((ms) => ms >= dueMs && ms <= (nextMs ?? ms));
    return nextMs === undefined || isLost ? [] : [{ kind: "queue", fromMs: dueMs, toMs: nextMs }];
  });
  const lost = losses.map((lostMs): WorkerWait => {
    const before = [...signs, ...dues, ...losses].filter((ms) => ms < lostMs);
    return { kind: "lost", fromMs: Math.max(startedMs ?? createdMs, ...before), toMs: lostMs };
  });
  return [...late, ...lost].filter(({ fromMs, toMs }) => toMs - fromMs >= LATE_MS).sort((a, b) => a.fromMs - b.fromMs);
}

/** The reasons for which no worker has a run that is due (docs/waiting.md). */
const UNTAKEN: ReadonlySet<string> = new Set([
  ...["FUNCTION_PAUSED", "NO_WORKER", "NO_WORKER_IN_QUEUE", "VERSION", "LIMITS", "THROTTLED", "NO_ROOM", "BACKLOG"],
  ...["GATEWAY_DRAINING", "STARTING"],
]);

/**
 * What a run that has begun waits for now, if that is a worker: from when it is due, or from what is known last of the
 * worker that had it. Null: it does not. `lastMs`: when that ended which went on before.
 */
export function workerWaitNow(run: RunDetail, { lastMs, nowMs }: { readonly lastMs: number; readonly nowMs: number }) {
  const { status, startedMs, waiting, log = [] } = run;
  if (isEnded(status) || startedMs === null || !waiting || !UNTAKEN.has(waiting.reason)) return null;
  const dueMs = Math.max(startedMs, ...log.flatMap((fact) => dueOf(fact) ?? []));
  const isTaken = log.some((fact) => signsOf(fact).some((ms) => ms > dueMs));
  const fromMs = Math.max(dueMs, lastMs);
  const wait: WorkerWait = { kind: isTaken ? "lost" : "queue", fromMs, toMs: nowMs };
  return fromMs < nowMs ? wait : null;
}
