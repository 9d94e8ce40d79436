/**
 * A run's timeline: what went on when, step by step, as bars on tracks. Steps that ran at the same time are on tracks of
 * their own. Pure.
 */
import { durationText } from "./format.ts";
import { pastOf } from "./revivals.ts";
import { isEnded, type RunDetail, type Stall, type Step } from "./types.ts";
import { LATE_MS, type WorkerWait, workerWaitNow, workerWaits } from "./worker-waits.ts";

export type BarKind = "queue" | "attempt" | "failed" | "backoff" | "lost" | "sleep" | "wait" | "active";

export interface Bar {
  readonly kind: BarKind;
  readonly fromMs: number;
  readonly toMs: number;
  /** It goes on. */
  readonly isOpen: boolean;
}

/** A step, or what is not one: the time before the first, and what goes on now. */
export interface Entry {
  /** Null where it is no step. */
  readonly step: Step | null;
  readonly name: string;
  readonly bars: readonly Bar[];
  readonly fromMs: number;
  readonly toMs: number;
  /** The run that it waits for, or waited. */
  readonly childRunId: string | null;
}

/** Time in which the worker's main thread did not move. */
export interface Block {
  readonly fromMs: number;
  readonly toMs: number;
  readonly stall: Stall;
}

export interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Timeline extends Interval {
  readonly tracks: readonly (readonly Entry[])[];
  readonly blocks: readonly Block[];
  /** In which the run had ended, until it was resumed. */
  readonly ended: readonly Interval[];
  /** Its function limits how many runs go on at once: in the queue a run may wait for a slot, not for a worker. */
  readonly isLimited: boolean;
}

export function timelineOf(run: RunDetail, nowMs: number): Timeline {
  const endMs = run.endedMs ?? Math.max(nowMs, run.createdMs);
  const childIds = childRunIds(run);
  const attempts = failedSpans(run);
  const waits = workerWaits(run);
  const steps = run.steps
    .map((step) =>
      entryOf(step, {
        endMs,
        isOver: isEnded(run.status),
        attempts: attempts.get(step.id) ?? [],
        childRunId: childIds.get(step.id) ?? null,
        waits,
      }),
    )
    .filter((entry): entry is Entry => entry !== null);
  const firstMs = Math.min(run.startedMs ?? endMs, ...steps.map(({ fromMs }) => fromMs));
  const entries = [
    ...queueEntry(run.createdMs, firstMs, run.startedMs === null && run.endedMs === null),
    ...steps,
    ...waitEntries(waits, steps, run),
  ];
  const now = nowEntry(run, steps, endMs);
  if (now) entries.push(now);
  const toMs = Math.max(endMs, ...entries.map((entry) => entry.toMs), run.createdMs + 1);
  const ended = pastOf(run).revivals.map(({ endedMs, atMs }) => ({ fromMs: endedMs, toMs: atMs }));
  const [tracks, blocks] = [tracksOf(entries), blocksOf(run.stalls)];
  return { fromMs: run.createdMs, toMs, tracks, blocks, ended, isLimited: isLimited(run) };
}

function isLimited({ log = [] }: RunDetail): boolean {
  const { data } = log.find(({ kind }) => kind === "RUN_CREATED") ?? {};
  const { run } = (data ?? {}) as { readonly run?: { readonly flow?: { readonly slots?: readonly string[] } | null } };
  return (run?.flow?.slots ?? []).length > 0;
}

/** What is written beside a bar that is no step's own doing; null: nothing. */
export function barNote({ kind, fromMs, toMs, isOpen }: Bar, timeline: Pick<Timeline, "isLimited">): string | null {
  const lasted = durationText(toMs - fromMs);
  const what = timeline.isLimited ? "in the queue" : "for a worker";
  if (kind === "queue") return `${isOpen ? "waiting" : "waited"} ${lasted} ${what}`;
  if (kind !== "lost") return null;
  return isOpen ? "worker lost, no other has taken over yet" : `worker lost, another took over after ${lasted}`;
}

const overlaps = (one: Interval, other: Interval): boolean => one.fromMs < other.toMs && other.fromMs < one.toMs;

/** Waits that no step's own bars show already. */
function waitEntries(waits: readonly WorkerWait[], steps: readonly Entry[], run: RunDetail): Entry[] {
  const shown = steps.flatMap(({ bars }) => bars.filter(({ kind }) => kind !== "sleep" && kind !== "wait"));
  return waits
    .filter((wait) => !shown.some((bar) => overlaps(bar, wait)))
    .map((wait) => notedEntry({ ...wait, isOpen: false }, run));
}

const notedEntry = (bar: Bar, run: RunDetail): Entry =>
  entryOfBar(bar, barNote(bar, { isLimited: isLimited(run) }) ?? "");

function entryOfBar(bar: Bar, name: string): Entry {
  return { step: null, name, bars: [bar], fromMs: bar.fromMs, toMs: bar.toMs, childRunId: null };
}

function queueEntry(fromMs: number, toMs: number, isOpen: boolean): Entry[] {
  if (toMs <= fromMs) return [];
  return [entryOfBar({ kind: "queue", fromMs, toMs, isOpen }, "in the queue")];
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  /** Null: the run ended with it, and went on later. */
  readonly dueMs: number | null;
}

interface StepContext {
  readonly endMs: number;
  /** The run has ended, and with it what went on. */
  readonly isOver: boolean;
  readonly attempts: readonly Span[];
  readonly childRunId: string | null;
  readonly waits: readonly WorkerWait[];
}

/** Null: nothing of it has begun. */
function entryOf(step: Step, { endMs, isOver, attempts, childRunId, waits }: StepContext): Entry | null {
  const bars: Bar[] = [];
  const stepEndMs = step.endedMs ?? endMs;
  for (const [index, { fromMs, toMs, dueMs }] of attempts.entries()) {
    bars.push({ kind: "failed", fromMs, toMs, isOpen: false });
    if (dueMs === null) continue;
    const nextMs = attempts[index + 1]?.fromMs ?? (step.endedMs === null ? Math.min(dueMs, endMs) : step.startedMs);
    if (nextMs !== null && nextMs > toMs) {
      const isOpen = !isOver && step.endedMs === null && dueMs > endMs;
      bars.push(...barsUntil({ fromMs: toMs, toMs: nextMs }, dueMs, { isOpen, waits }));
    }
  }
  const last = lastBar(step, { stepEndMs, isOver, failedBefore: attempts.length });
  if (last) bars.push(last);
  const [first] = bars;
  const end = bars.at(-1);
  if (!first || !end) return null;
  return { step, name: step.name ?? step.id, bars, fromMs: first.fromMs, toMs: end.toMs, childRunId };
}

/** Until the next attempt: first it is not due, then no worker begins it. */
function barsUntil(
  { fromMs, toMs }: Interval,
  dueMs: number,
  { isOpen, waits }: { readonly isOpen: boolean; readonly waits: readonly WorkerWait[] },
): Bar[] {
  const lateFromMs = Math.max(fromMs, dueMs);
  if (isOpen || toMs - lateFromMs < LATE_MS) return [{ kind: "backoff", fromMs, toMs, isOpen }];
  const late = { fromMs: lateFromMs, toMs };
  const isLost = waits.some((wait) => wait.kind === "lost" && overlaps(wait, late));
  const before: Bar[] = lateFromMs > fromMs ? [{ kind: "backoff", fromMs, toMs: lateFromMs, isOpen: false }] : [];
  return [...before, { kind: isLost ? "lost" : "queue", ...late, isOpen: false }];
}

/** The attempt that ended it, or the wait. Of a step whose result was kept from another run nothing went on here. */
function lastBar(
  step: Step,
  {
    stepEndMs,
    isOver,
    failedBefore,
  }: { readonly stepEndMs: number; readonly isOver: boolean; readonly failedBefore: number },
): Bar | null {
  const { op, endedMs, startedMs, openedMs, durationMs, status } = step;
  const isOpen = endedMs === null && !isOver;
  if (step.kept) return null;
  if (op !== "StepRun" && openedMs !== null) {
    const kind = op === "Sleep" ? "sleep" : "wait";
    return { kind, fromMs: openedMs, toMs: Math.max(openedMs, stepEndMs), isOpen };
  }
  if (startedMs === null || (endedMs === null && failedBefore > 0)) return null;
  // A step that failed finally is in the list of failed attempts too, or it is not.
  const toMs = durationMs === null ? stepEndMs : startedMs + durationMs;
  return { kind: status === "failed" ? "failed" : isOpen ? "active" : "attempt", fromMs: startedMs, toMs, isOpen };
}

/** When each failed attempt began and ended, as its worker measured it. */
function failedSpans(run: RunDetail): Map<string, Span[]> {
  const spans = new Map<string, Span[]>();
  for (const { kind, key, atMs, data } of run.log ?? []) {
    if (kind !== "STEP_ATTEMPT_FAILED") continue;
    const { step, delayMs = 0 } = (data ?? {}) as {
      readonly step?: { readonly startedMs?: number; readonly durationMs?: number };
      readonly delayMs?: number;
    };
    const fromMs = step?.startedMs ?? atMs;
    const toMs = step?.durationMs === undefined ? Math.max(fromMs, atMs) : fromMs + step.durationMs;
    spans.set(key, [...(spans.get(key) ?? []), { fromMs, toMs, dueMs: atMs + delayMs }]);
  }
  for (const [key, failures] of pastOf(run).failures) {
    // A wait that failed is no attempt.
    if (run.steps.some(({ id, op }) => id === key && op !== "StepRun")) continue;
    const ended = failures.map(({ fromMs, toMs }) => ({ fromMs, toMs, dueMs: null }));
    spans.set(
      key,
      [...(spans.get(key) ?? []), ...ended].sort((a, b) => a.fromMs - b.fromMs),
    );
  }
  return spans;
}

/** Of each step that invoked one: the run. */
export function childRunIds(run: RunDetail): Map<string, string> {
  const found = new Map<string, string>();
  for (const { kind, key, data } of run.log ?? []) {
    if (kind !== "STEP_WAITING") continue;
    const { wait } = (data ?? {}) as { readonly wait?: { readonly kind?: string; readonly name?: string } };
    if (wait?.kind === "invoke" && wait.name !== undefined) found.set(key, wait.name);
  }
  return found;
}

/** What goes on now: that no worker has the run, or what its worker does, which is stored only when it is done. */
function nowEntry(run: RunDetail, steps: readonly Entry[], endMs: number): Entry | null {
  const lastMs = Math.max(run.createdMs, ...steps.map(({ toMs }) => Math.min(toMs, endMs)));
  const wait = workerWaitNow(run, { lastMs, nowMs: endMs });
  return wait ? notedEntry({ ...wait, isOpen: true }, run) : activeEntry(run, steps, endMs);
}

function activeEntry(run: RunDetail, steps: readonly Entry[], endMs: number): Entry | null {
  if (isEnded(run.status) || run.status !== "RUNNING" || run.startedMs === null) return null;
  if (steps.some(({ bars }) => bars.some(({ kind, isOpen }) => isOpen && kind !== "backoff"))) return null;
  const fromMs = Math.max(run.startedMs, ...steps.map(({ toMs }) => toMs));
  if (fromMs >= endMs) return null;
  return entryOfBar({ kind: "active", fromMs, toMs: endMs, isOpen: true }, run.waiting?.step ?? "with a worker");
}

/** Each entry on the first track that is free. */
function tracksOf(entries: readonly Entry[]): Entry[][] {
  const tracks: Entry[][] = [];
  for (const entry of [...entries].sort((a, b) => a.fromMs - b.fromMs)) {
    const free = tracks.find((track) => (track.at(-1)?.toMs ?? 0) <= entry.fromMs);
    if (free) free.push(entry);
    else tracks.push([entry]);
  }
  return tracks;
}

/** A block is reported while it lasts and when it ends: what overlaps is one, and the longest report says it. */
function blocksOf(stalls: readonly Stall[]): Block[] {
  const blocks: Block[] = [];
  for (const stall of stalls) {
    const block = { fromMs: stall.atMs - stall.stalledMs, toMs: stall.atMs, stall };
    const last = blocks.at(-1);
    if (last && block.fromMs < last.toMs && last.stall.instanceId === stall.instanceId) {
      const named = stall.location === undefined && last.stall.location !== undefined ? last.stall : stall;
      blocks[blocks.length - 1] = {
        fromMs: Math.min(last.fromMs, block.fromMs),
        toMs: Math.max(last.toMs, block.toMs),
        stall: { ...named, stalledMs: Math.max(last.stall.stalledMs, stall.stalledMs) },
      };
    } else blocks.push(block);
  }
  return blocks;
}
