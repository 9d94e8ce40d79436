/**
 * Runs the body of a step in its turn and says what it came to, as an op. `Pass` calls it for each attempt;
 * `running-body.ts` has its time limit and its signal.
 */
import { messageOf, type Timers } from "@holdfast/core";
import type { OpText } from "../steps/pass-types.ts";
import type { AsyncContext } from "./async-context.ts";
import { type CurrentStep, runAs, type TracedExecution } from "./current.ts";
import type { CheckpointPort } from "./execution.ts";
import type { Turns } from "./fair-turns.ts";
import {
  type BodyTiming,
  type IsolatedBodies,
  type IsolatedCall,
  IsolatedFailure,
  IsolatedValue,
  runIsolated,
} from "./isolated-body.ts";
import type { OpExtras } from "./op-text.ts";
import type { PassPorts } from "./pass-options.ts";
import { encodeResult, type ResultJson, unusableResult } from "./result-json.ts";
import type { AfterFailure, RetryRules } from "./retry-rules.ts";
import { RunningBody, type RunningBodyDeps } from "./running-body.ts";
import { isEndHeard, isStartHeard, publishEnd, startPublished } from "./step-messages.ts";
import type { StepRecord } from "./step-record.ts";
import { readThrown, type Thrown } from "./thrown.ts";

export interface BodyContext {
  readonly execution: TracedExecution;
  readonly ports: Pick<PassPorts, "clock" | "isolation" | "runningSteps">;
  /** Those that are set with it are cancelled when the pass ends. */
  readonly timers: Timers;
  readonly runSignal: () => AbortSignal;
  readonly port: Pick<CheckpointPort, "whenConfirmed">;
  /** The gateway knows our extensions. */
  readonly isExtended: boolean;
  readonly rules: RetryRules;
  readonly onFailed: (thrown: Thrown, after: AfterFailure) => void;
}

export type BodyEnd =
  | { readonly type: "finished"; readonly op: OpText; readonly final: false; readonly durationMs: number }
  | {
      readonly type: "failed";
      readonly op: OpText;
      readonly final: boolean;
      readonly retryAfter?: string;
      readonly durationMs: number;
    };

/**
 * Calls `start` when it is its turn and the work is known to be this worker's, or is not wanted any more: at once,
 * nearly always.
 */
export function startInTurn(
  turns: Turns,
  port: CheckpointPort,
  context: AsyncContext | undefined,
  start: () => void,
): () => void {
  const confirm = (): void => {
    const wait = port.whenConfirmed?.();
    if (wait) void wait.then(run);
    else start();
  };
  const run = (): void => turns.start(confirm, context);
  return run;
}

/**
 * Runs a step's body, keeps its outcome in the record and reports it as an op, exactly once. A synchronous result is
 * reported at once, which saves a promise for each step that only computes.
 */
export function runBody(record: StepRecord, context: BodyContext, onEnd: (end: BodyEnd) => void): void {
  const { identity, call, attempt, args = [] } = record;
  const { timers, isExtended, runSignal } = context;
  const { clock, isolation, runningSteps } = context.ports;
  const { fullId, hash } = identity;
  const step: CurrentStep = { id: fullId, hash, attempt, active: true };
  const startedMs = clock.nowMs();
  const from = clock.monotonicMs();
  const entry = { requestId: context.execution.requestId, stepId: fullId, fromMs: from };
  const extras = (durationMs: number, timed?: BodyTiming | null): OpExtras => {
    const timing = timed ?? { startedMs, durationMs };
    return isExtended ? { timing, attempt } : { timing };
  };
  const failed = (raw: unknown): void => {
    runningSteps?.remove(entry);
    const isolated = IsolatedFailure.is(raw) ? raw : undefined;
    const thrown = isolated?.thrown ?? readThrown(raw);
    const { error } = thrown;
    const failure = isolated ? { thrown } : { thrown, raw };
    const after = context.rules.ofStep(record, failure);
    const { final, ...retryAfter } = after;
    record.outcome = { type: "error", error };
    context.onFailed(thrown, after);
    const durationMs = clock.monotonicMs() - from;
    if (isEndHeard()) publishEnd(record, context.execution, startedMs, durationMs, { error, willRetry: !final });
    const op = record.ops.failed(error, final, { ...extras(durationMs, isolated?.timing), ...retryAfter });
    onEnd({ type: "failed", op, final, ...retryAfter, durationMs });
  };
  const subject = { ...context.execution, step: { id: fullId, hash, attempt } };
  const isolate = isolation && isolateIn(isolation, subject, context.port);
  const running = new RunningBody({
    fullId,
    timeoutMs: call.timeoutMs,
    timers,
    runSignal,
    onTimeout: failed,
    ...(isolate ? { isolate } : {}),
  });
  const onError = (raw: unknown): void => {
    step.active = false;
    if (running.end()) failed(raw);
  };
  const onValue = (value: unknown): void => {
    const forgotten = step.nested?.find(({ promise }) => !promise.isAwaited);
    if (forgotten) return onError(forgotten.error);
    step.active = false;
    runningSteps?.remove(entry);
    if (!running.end()) return;
    const isolated = IsolatedValue.is(value) ? value : undefined;
    let json: ResultJson;
    try {
      json = isolated?.json ?? encodeResult(value, `step "${fullId}"`);
    } catch (unusable) {
      return failed(unusable);
    }
    record.outcome = { type: "fresh", json };
    const durationMs = clock.monotonicMs() - from;
    if (isEndHeard()) publishEnd(record, context.execution, startedMs, durationMs, null);
    onEnd({
      type: "finished",
      op: record.ops.finished(json, extras(durationMs, isolated?.timing)),
      final: false,
      durationMs,
    });
  };
  const body = (): unknown => call.body?.(hash, args, running);
  const start = isStartHeard() ? () => startPublished(record, context.execution, startedMs, body) : body;
  settle(
    fullId,
    () => runAs({ ...context.execution, step }, () => running.signal, start),
    onValue,
    onError,
    () => runningSteps?.add(entry),
  );
}

/** How the body of this step runs in another thread. Its time counts from when its code begins there. */
function isolateIn(
  bodies: IsolatedBodies,
  subject: IsolatedCall["subject"],
  port: BodyContext["port"],
): RunningBodyDeps["isolate"] {
  return (running) => (mark, args) => {
    const onBegun = running.holdTimeout();
    const whenConfirmed = (): Promise<void> | undefined => port.whenConfirmed?.();
    return runIsolated(bodies, { mark, args, subject, signal: running.signal, whenConfirmed, onBegun });
  };
}

/** Calls one of the two, once: at once when the body ends at once; else it says first that the body goes on. */
function settle(
  fullId: string,
  body: () => unknown,
  onValue: (value: unknown) => void,
  onError: (thrown: unknown) => void,
  onLater: () => void,
): void {
  let value: unknown;
  try {
    value = body();
  } catch (thrown) {
    return onError(thrown);
  }
  let isLater: boolean;
  try {
    isLater = isThenable(value);
  } catch (cause) {
    return onError(unusableResult(`step "${fullId}"`, messageOf(cause), cause));
  }
  if (!isLater) return onValue(value);
  onLater();
  void follow(value, onValue, onError);
}

function isThenable(value: unknown): boolean {
  const kind = typeof value;
  if ((kind !== "object" && kind !== "function") || value === null) return false;
  return typeof (value as { then?: unknown }).then === "function";
}

/** Calls one of the two, once, whatever the thenable does: `await` looks at it where nothing that it throws gets out. */
async function follow(
  value: unknown,
  onValue: (value: unknown) => void,
  onError: (thrown: unknown) => void,
): Promise<void> {
  let settled: unknown;
  try {
    settled = await value;
  } catch (thrown) {
    return onError(thrown);
  }
  onValue(settled);
}
