/** Where a failure came from: the step that the run failed in, and the runs that such steps had invoked, down to the first. */
import { childRunIds } from "./timeline.ts";
import type { RunDetail } from "./types.ts";

export interface FailedCall {
  /** As people call it. */
  readonly step: string;
  readonly runId: string;
}

/** A run on the way down. */
export interface TrailRun extends FailedCall {
  /** The step, in the run above, that had invoked it. */
  readonly step: string;
  readonly functionId: string;
  /** Of the last one: the step of its own that it failed in, where it says so. */
  readonly failedStep: string | null;
}

/** The way down ends here, however deep it goes. */
export const MAX_LEVELS = 16;

interface Failure {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly data?: { readonly stepId?: unknown } | null;
}

const MAX_CAUSES = 8;

/** An error and what caused it. */
function causesOf(error: unknown): Failure[] {
  const found: Failure[] = [];
  let next: unknown = error;
  while (typeof next === "object" && next !== null && found.length < MAX_CAUSES) {
    const failure: Failure = next;
    found.push(failure);
    next = failure.cause;
  }
  return found;
}

/** The step that the error of a run says it comes from. */
export function failedStepOf({ status, error }: Pick<RunDetail, "status" | "error">): string | null {
  if (status !== "FAILED") return null;
  const named = causesOf(error).map(({ data }) => data?.stepId);
  return named.find((one): one is string => typeof one === "string") ?? null;
}

/** The invocation that the run failed with; null: it failed by itself, or had caught what that threw. */
export function failedCallOf(run: RunDetail): FailedCall | null {
  if (run.status !== "FAILED") return null;
  const childIds = childRunIds(run);
  const named = failedStepOf(run);
  const causes = causesOf(run.error);
  const failed = run.steps.filter(({ op, status, error, name }) => {
    if (op !== "InvokeFunction" || status !== "failed") return false;
    return (named !== null && name === named) || causes.some((cause) => isSame(cause, error));
  });
  const step = failed.at(-1);
  const runId = step && childIds.get(step.id);
  return step === undefined || runId === undefined ? null : { step: step.name ?? step.id, runId };
}

function isSame({ name, message }: Failure, error: unknown): boolean {
  const [other] = causesOf(error);
  return message !== undefined && message === other?.message && name === other.name;
}

/** Down to the run that failed by itself. A run that is gone, or did not fail, ends it. */
export async function trailOf(
  run: RunDetail,
  read: (runId: string) => Promise<RunDetail | null>,
): Promise<readonly TrailRun[]> {
  const trail: TrailRun[] = [];
  const seen = new Set([run.id]);
  let call = failedCallOf(run);
  while (call !== null && trail.length < MAX_LEVELS && !seen.has(call.runId)) {
    seen.add(call.runId);
    const child = await read(call.runId);
    if (child === null) break;
    const next = failedCallOf(child);
    trail.push({ ...call, functionId: child.functionId, failedStep: next === null ? failedStepOf(child) : null });
    call = next;
  }
  return trail;
}
