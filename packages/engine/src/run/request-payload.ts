/**
 * The JSON of a request, from a run's state: events, memo, context. `../../../protocol/src/execution.ts` has its
 * types; the gateway's `dispatch/workers/request-frame.ts` puts it into a frame.
 */
import type { BackoffPolicy } from "@holdfast/core";
import { pooledText, WIRE_LIMITS } from "@holdfast/protocol";
import { environmentOf } from "@holdfast/store";

import { forcesPlan, type RunState } from "./run-state.ts";
import { isCompensating } from "./saga.ts";

export interface PayloadOptions {
  readonly requestId: string;
  readonly jobId: string;
  /** What workers of the plain protocol name in checkpoints over HTTP: the request and its lease. */
  readonly queueItem: string;
  readonly attempt: number;
  /** "step" for a pass, else the hashed id. */
  readonly stepId: string;
  /** Internal id of the function; null keeps workers of the plain protocol from checkpointing over HTTP. */
  readonly functionUuid: string | null;
  /** The worker keeps the pass going over checkpoints. */
  readonly inPlace: boolean;
  /** It may look ahead, so it is told how often the work was lost. */
  readonly looksAhead: boolean;
  /** So that workers judge by this clock what is due. */
  readonly nowMs: number;
  /** How attempts are spaced: workers say in their logs when the next one follows. */
  readonly retry?: BackoffPolicy;
}

/**
 * The JSON of a request, for a frame; small ones share memory. Where it would be too large, events and steps are left out, and the worker is told to fetch
 * them.
 */
export function requestPayload(state: RunState, options: PayloadOptions): Uint8Array {
  const limit = WIRE_LIMITS.maxRequestPayloadBytes;
  if (state.stateLength <= limit) {
    const whole = pooledText(payloadText(state, options, true));
    if (whole.byteLength <= limit) return whole;
  }
  return pooledText(payloadText(state, options, false));
}

/** The finished steps of a run, as requests have them: an object by hashed id. */
export function stepsText(state: RunState): string {
  let steps = "";
  for (const [stepId, memo] of state.memo) {
    steps += `${steps === "" ? "" : ","}${JSON.stringify(stepId)}:${memo.text}`;
  }
  return `{${steps}}`;
}

/** The events that a run was made with: an array. */
export function eventsText({ eventText, moreText }: RunState): string {
  return `[${eventText}${moreText === "" ? "" : `,${moreText}`}]`;
}

/** Those that are known already, so that workers do not report them again. */
function defersText({ defers }: RunState): string {
  if (defers.size === 0) return "";
  const known = [...defers].map(([key, { status }]) => [key, { abortable: status === "scheduled" }]);
  return `"defers":${JSON.stringify(Object.fromEntries(known))},`;
}

/** What was stored as text goes in as text. */
function payloadText(state: RunState, options: PayloadOptions, isWhole: boolean): string {
  let stack = "";
  for (const stepId of state.memo.keys()) stack += `${stack === "" ? "" : ","}${JSON.stringify(stepId)}`;
  // What is undefined is left out of the text.
  const fields = {
    run_id: state.runId,
    fn_id: options.functionUuid || undefined,
    env: environmentOf(state.functionId),
    step_id: options.stepId,
    attempt: options.attempt,
    max_attempts: state.maxAttempts,
    qi_id: options.queueItem,
    request_id: options.requestId,
    job_id: options.jobId,
    disable_immediate_execution: !options.inPlace && forcesPlan(state),
    use_api: !isWhole,
    holdfast: options.inPlace ? extendedContext(state, options) : undefined,
  };
  const ctx = JSON.stringify(fields);
  return (
    `{"version":${state.requestVersion},"event":${state.eventText},"events":${isWhole ? eventsText(state) : "[]"},` +
    `"steps":${isWhole ? stepsText(state) : "{}"},${defersText(state)}"use_api":${!isWhole},` +
    `"ctx":{"stack":{"stack":[${stack}],"current":${state.memo.size}},${ctx.slice(1)}}`
  );
}

function extendedContext(state: RunState, { nowMs, looksAhead, jobId, retry }: PayloadOptions): object {
  const losses = looksAhead ? (state.losses.get(jobId) ?? 0) : 0;
  return {
    v: 1,
    nowMs,
    retries: state.attempts.size === 0 ? NOTHING : retriesOf(state),
    undefinedSteps: undefinedSteps(state),
    signatures: state.memo.size === 0 ? NOTHING : signaturesOf(state),
    // What is left to do after the deadline is to undo.
    deadlineMs: state.deadlineMs === null || isCompensating(state) ? undefined : state.deadlineMs,
    appVersion: state.appVersion === "" ? undefined : state.appVersion,
    losses: losses > 0 ? losses : undefined,
    retry: retry && { baseMs: retry.baseMs, factor: retry.factor, maxMs: retry.maxMs },
  };
}

const NOTHING = {};

function retriesOf({ attempts, open }: RunState): object {
  const retries: Record<string, { attempt: number; notBeforeMs: number }> = {};
  for (const [stepId, attempt] of attempts) {
    // What the gateway tries again by itself is a wait for the worker.
    if (open.get(stepId)?.phase === "waiting") continue;
    retries[stepId] = { attempt, notBeforeMs: open.get(stepId)?.dueMs ?? 0 };
  }
  return retries;
}

function signaturesOf({ memo }: RunState): object {
  const signatures: Record<string, string> = {};
  for (const [stepId, { signature }] of memo) signatures[stepId] = signature;
  return signatures;
}

function undefinedSteps({ memo }: RunState): string[] | undefined {
  let steps: string[] | undefined;
  for (const [stepId, { isUndefined }] of memo) {
    if (!isUndefined) continue;
    steps ??= [];
    steps.push(stepId);
  }
  return steps;
}
