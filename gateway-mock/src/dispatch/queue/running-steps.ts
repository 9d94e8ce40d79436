/** Which steps of a run are at work, as far as this gateway knows (docs/decisions/0119). */
import { FAILURE_KEY, readStepRow } from "@holdfast/engine";
import type { RunningStep } from "@holdfast/protocol";
import type { RunDetail } from "@holdfast/store";
import { readWaitingSteps } from "../admission/waiting-steps.ts";
import type { Dispatch } from "../workers/dispatch.ts";
import type { Dispatches } from "../workers/dispatches.ts";
import { requestIdOf } from "../workers/request-id.ts";

export interface StepAtWork {
  /** As its author wrote it. */
  readonly name: string | null;
  readonly sinceMs: number;
}

interface Now {
  readonly nowMs: number;
  readonly monotonicMs: number;
  /** Its result was stored last, whatever was said of it before. */
  readonly lastStep: string | null;
}

/** The oldest first. */
export function runningSteps(
  { jobs, log }: Pick<RunDetail, "jobs" | "log">,
  dispatches: Pick<Dispatches, "get" | "continued">,
  { nowMs, monotonicMs, lastStep }: Now,
): StepAtWork[] {
  const found = jobs.flatMap(({ id, epoch, kind, key, leasedBy, claimedMs, availableMs }): StepAtWork[] => {
    if (kind === "step" && leasedBy !== null && claimedMs !== null && availableMs > nowMs) {
      return [{ name: readWaitingSteps(log).steps.get(key)?.name ?? null, sinceMs: claimedMs }];
    }
    const fence = { jobId: id, epoch };
    const request = dispatches.get(requestIdOf(fence)) ?? dispatches.continued.get(fence);
    if (kind !== "pass" || request === undefined) return [];
    const going = runningAt(request, monotonicMs).filter((step) => step.id !== lastStep);
    return going.map((step) => ({ name: step.id, sinceMs: Math.round(nowMs - step.runningMs) }));
  });
  return found.sort((a, b) => a.sinceMs - b.sinceMs);
}

/** As it is by now, if nothing has changed since the worker spoke of it. */
export function runningAt({ running }: Pick<Dispatch, "running">, nowMs: number): readonly RunningStep[] {
  if (running === undefined) return [];
  const agoMs = nowMs - running.saidMs;
  return running.steps.map(({ id, runningMs }) => ({ id, runningMs: runningMs + agoMs }));
}

/** The step whose result was stored last. */
export function lastStepOf(log: RunDetail["log"]): string | null {
  const last = log.findLast(({ kind }) => kind === "STEP_COMPLETED" || kind === "STEP_FAILED");
  if (last?.kind !== "STEP_COMPLETED" && last?.kind !== "STEP_FAILED") return null;
  return last.key === FAILURE_KEY ? null : (readStepRow(last.kind, last.dataJson).meta.name ?? null);
}
