/**
 * A run as a score: what went on when, step by step, as bars on staves. Steps that ran at the same time are on staves of
 * their own. Pure.
 */
import { pastOf } from "./revivals.ts";
import { isEnded, type RunDetail, type Stall, type Step } from "./types.ts";

export type BarKind = "queue" | "attempt" | "failed" | "backoff" | "sleep" | "wait" | "active";

export interface Bar {
  readonly kind: BarKind;
  readonly fromMs: number;
  readonly toMs: number;
  /** It goes on. */
  readonly isOpen: boolean;
}

/** A step, or what is not one: the time before the first, and what goes on now. */
export interface Voice {
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

export interface Score {
  readonly fromMs: number;
  readonly toMs: number;
  readonly staves: readonly (readonly Voice[])[];
  readonly blocks: readonly Block[];
}

export function scoreOf(run: RunDetail, nowMs: number): Score {
  const endMs = run.endedMs ?? Math.max(nowMs, run.createdMs);
  const childIds = childRunIds(run);
  const attempts = failedSpans(run);
  const steps = run.steps
    .map((step) =>
      voiceOf(step, { endMs, attempts: attempts.get(step.id) ?? [], childRunId: childIds.get(step.id) ?? null }),
    )
    .filter((voice): voice is Voice => voice !== null);
  const firstMs = Math.min(run.startedMs ?? endMs, ...steps.map(({ fromMs }) => fromMs));
  const voices = [...queueVoice(run.createdMs, firstMs, run.startedMs === null && run.endedMs === null), ...steps];
  const active = activeVoice(run, steps, endMs);
  if (active) voices.push(active);
  const toMs = Math.max(endMs, ...voices.map((voice) => voice.toMs), run.createdMs + 1);
  return { fromMs: run.createdMs, toMs, staves: stavesOf(voices), blocks: blocksOf(run.stalls) };
}

function queueVoice(fromMs: number, toMs: number, isOpen: boolean): Voice[] {
  if (toMs <= fromMs) return [];
  const bars: Bar[] = [{ kind: "queue", fromMs, toMs, isOpen }];
  return [{ step: null, name: "in the queue", bars, fromMs, toMs, childRunId: null }];
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
  /** Null: the run ended with it, and went on later. */
  readonly dueMs: number | null;
}

interface StepContext {
  readonly endMs: number;
  readonly attempts: readonly Span[];
  readonly childRunId: string | null;
}

/** Null: nothing of it has begun. */
function voiceOf(step: Step, { endMs, attempts, childRunId }: StepContext): Voice | null {
  const bars: Bar[] = [];
  const stepEndMs = step.endedMs ?? endMs;
  for (const [index, { fromMs, toMs, dueMs }] of attempts.entries()) {
    bars.push({ kind: "failed", fromMs, toMs, isOpen: false });
    if (dueMs === null) continue;
    const nextMs = attempts[index + 1]?.fromMs ?? (step.endedMs === null ? Math.min(dueMs, endMs) : step.startedMs);
    if (nextMs !== null && nextMs > toMs) {
      bars.push({ kind: "backoff", fromMs: toMs, toMs: nextMs, isOpen: step.endedMs === null && dueMs > endMs });
    }
  }
  const last = lastBar(step, stepEndMs, attempts.length);
  if (last) bars.push(last);
  const [first] = bars;
  const end = bars.at(-1);
  if (!first || !end) return null;
  return { step, name: step.name ?? step.id, bars, fromMs: first.fromMs, toMs: end.toMs, childRunId };
}

/** The attempt that ended it, or the wait. Of a step whose result was kept from another run nothing went on here. */
function lastBar(step: Step, stepEndMs: number, failedBefore: number): Bar | null {
  const { op, endedMs, startedMs, openedMs, durationMs, status } = step;
  const isOpen = endedMs === null;
  if (step.kept) return null;
  if (op !== "StepRun" && openedMs !== null) {
    const kind = op === "Sleep" ? "sleep" : "wait";
    return { kind, fromMs: openedMs, toMs: Math.max(openedMs, stepEndMs), isOpen };
  }
  if (startedMs === null || (isOpen && failedBefore > 0)) return null;
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

/** What a worker does now is stored when it is done; until then the run's own word says what it is. */
function activeVoice(run: RunDetail, steps: readonly Voice[], endMs: number): Voice | null {
  if (isEnded(run.status) || run.status !== "RUNNING" || run.startedMs === null) return null;
  if (steps.some(({ bars }) => bars.some(({ kind, isOpen }) => isOpen && kind !== "backoff"))) return null;
  const fromMs = Math.max(run.startedMs, ...steps.map(({ toMs }) => toMs));
  if (fromMs >= endMs) return null;
  const bars: Bar[] = [{ kind: "active", fromMs, toMs: endMs, isOpen: true }];
  return { step: null, name: run.waiting?.step ?? "with a worker", bars, fromMs, toMs: endMs, childRunId: null };
}

/** Each voice on the first stave that is free. */
function stavesOf(voices: readonly Voice[]): Voice[][] {
  const staves: Voice[][] = [];
  for (const voice of [...voices].sort((a, b) => a.fromMs - b.fromMs)) {
    const free = staves.find((stave) => (stave.at(-1)?.toMs ?? 0) <= voice.fromMs);
    if (free) free.push(voice);
    else staves.push([voice]);
  }
  return staves;
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
