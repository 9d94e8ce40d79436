/**
 * Says on `holdfast:step:start` and `holdfast:step:end` when a body runs. `step-record.ts` asks whether either is heard
 * before it calls what makes a message.
 */
import type { PlainError } from "@holdfast/core";
import type { StepStartMessage } from "../diagnostics/channels.ts";
import { channels } from "../diagnostics/publisher.ts";
import type { StepCall } from "../steps/step-call.ts";
import type { StepIdentity } from "../steps/step-id.ts";
import type { CurrentExecution } from "./current.ts";

/** The step that a message is about. */
interface Attempt {
  readonly identity: StepIdentity;
  readonly call: StepCall;
  readonly attempt: number;
}

export const isStartHeard = (): boolean => channels.stepStart.isHeard;
export const isEndHeard = (): boolean => channels.stepEnd.isHeard;

/** Calls the body, which sees what subscribers have bound to the channel. */
export function startPublished<T>(step: Attempt, execution: CurrentExecution, startedAtMs: number, body: () => T): T {
  return channels.stepStart.publishAround(startOf(step, execution, startedAtMs), body);
}

/** `failure`: null when the attempt has a result. */
export function publishEnd(
  step: Attempt,
  execution: CurrentExecution,
  startedAtMs: number,
  durationMs: number,
  failure: { readonly error: PlainError; readonly willRetry: boolean } | null,
): void {
  const start = startOf(step, execution, startedAtMs);
  const { error, willRetry } = failure ?? { error: null, willRetry: false };
  channels.stepEnd.publish({ ...start, durationMs, status: failure ? "failed" : "completed", error, willRetry });
}

function startOf(
  { identity, call, attempt }: Attempt,
  { requestId, runId, functionSlug }: CurrentExecution,
  startedAtMs: number,
): StepStartMessage {
  const { fullId: stepId, hash: stepHash } = identity;
  const kind = call.kind === "sendEvent" || call.kind === "sendSignal" ? call.kind : "run";
  return { requestId, runId, functionSlug, stepId, stepHash, kind, attempt, startedAtMs };
}
