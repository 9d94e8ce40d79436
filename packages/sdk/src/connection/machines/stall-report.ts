/**
 * Makes the report of a stall from what is known: main's stack where it could be read, else a guess from what is
 * running. See docs/decisions/0012.
 */
import { type IsOwnFile, isInstalledHoldfast, isNodeInternal } from "@holdfast/core";
import type { RunningRequest, StallExecution, StallFrame, StallReport } from "../shared/stall.ts";
import type { StallCause } from "./stall-machine.ts";
import { culpritOf } from "./stall-text.ts";

export interface ReportFacts {
  readonly sequence: number;
  readonly atMs: number;
  readonly stalledMs: number;
  readonly cause: StallCause;
  readonly waitedMs: number;
  readonly suppressed: number;
  readonly leasesGivenUp: boolean;
  /** What is in flight and has no reply yet. */
  readonly running: readonly RunningRequest[];
  /** The only request that is running may be taken for the one that blocks. Default true. */
  readonly mayGuess?: boolean;
  /** Null = main could not be asked. */
  readonly seen: { readonly stack: readonly StallFrame[]; readonly execution: unknown } | null;
  readonly problem: string | null;
  readonly isOwnFile?: IsOwnFile;
}

/** Puts together what is known about a stall. */
export function makeReport(facts: ReportFacts): StallReport {
  const { sequence, atMs, stalledMs, cause, waitedMs, suppressed, leasesGivenUp, running, seen, problem } = facts;
  const asked = seen !== null && seen.execution !== undefined;
  const [only, ...others] = running;
  const guessed = !asked && facts.mayGuess !== false && only !== undefined && others.length === 0;
  const execution = asked ? readExecution(seen.execution) : guessed ? { ...pick(only), stepId: null } : null;
  const isOwn = facts.isOwnFile ?? isInstalledHoldfast;
  const stack = withoutOwn(seen?.stack ?? [], isOwn);
  return {
    sequence,
    atMs,
    cause,
    stalledMs: Math.round(stalledMs),
    waitedMs: Math.round(waitedMs),
    execution,
    foundBy: asked ? "stack" : guessed ? "only-request" : "none",
    culprit: culpritOf(stack),
    stack,
    problem,
    waiting: running.filter(({ requestId }) => requestId !== execution?.requestId).length,
    leasesGivenUp,
    suppressed,
  };
}

/** What Node did to get to the app's code is the same for all, and so is what Holdfast did. */
function withoutOwn(stack: readonly StallFrame[], isOwn: IsOwnFile): readonly StallFrame[] {
  const others = stack.filter(({ file }) => !isOwn(file));
  const outermost = others.findLastIndex(({ file }) => file !== "" && !file.startsWith("node:"));
  // Node's alone: what they were called for was Holdfast's.
  if (outermost < 0) return others.length < stack.length ? [] : others;
  return others.slice(0, outermost + 1).filter(({ file }) => !isNodeInternal(file));
}

function pick({ requestId, runId, functionSlug }: RunningRequest): RunningRequest {
  return { requestId, runId, functionSlug };
}

/** `CurrentExecution` of the execution, as it comes out of the paused code; anything else names no execution. */
export function readExecution(value: unknown): StallExecution | null {
  if (typeof value !== "object" || value === null) return null;
  const { requestId, runId, functionSlug, step } = value as Record<string, unknown>;
  if (typeof requestId !== "string" || typeof runId !== "string" || typeof functionSlug !== "string") return null;
  const { id, active } = (typeof step === "object" && step !== null ? step : {}) as Record<string, unknown>;
  return { requestId, runId, functionSlug, stepId: active === true && typeof id === "string" ? id : null };
}
