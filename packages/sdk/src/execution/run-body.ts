/**
 * Runs the body of a step in its turn and says what it came to, as an op. `Pass` calls it for each attempt;
 * `running-body.ts` has its time limit and its signal.
 */
import type { Timers } from "@holdfast/core";
import type { StepTimeoutError } from "../steps/errors.ts";
import type { OpText } from "../steps/pass-types.ts";
import type { SignalSource } from "./abort.ts";
import type { AsyncContext } from "./async-context.ts";
import { type CurrentStep, runAs, type TracedExecution } from "./current.ts";
import type { CheckpointPort } from "./execution.ts";
import type { Turns } from "./fair-turns.ts";
import { follow } from "./follow.ts";
import { type BodyTiming, IsolatedFailure, IsolatedValue, runIsolated } from "./isolated-body.ts";
import type { OpExtras } from "./op-text.ts";
import type { PassPorts } from "./pass-options.ts";
import { encodeResult, isLater, type ResultJson } from "./result-json.ts";
import type { AfterFailure, RetryRules } from "./retry-rules.ts";
import { type BodyOwner, RunningBody } from "./running-body.ts";
import type { RunningStepEntry } from "./running-steps.ts";
import { isEndHeard, isStartHeard, publishEnd, startPublished } from "./step-messages.ts";
import type { StepRecord } from "./step-record.ts";
import { readThrown, type Thrown } from "./thrown.ts";

export interface BodyContext {
  readonly execution: TracedExecution;
  readonly ports: Pick<PassPorts, "clock" | "isolation" | "runningSteps">;
  /** Those that are set with it are cancelled when the pass ends. */
  readonly timers: Timers;
  /** Has the run's signal. */
  readonly run: SignalSource;
  readonly port: Pick<CheckpointPort, "whenConfirmed">;
  /** The gateway knows our extensions. */
  readonly isExtended: boolean;
  readonly rules: RetryRules;
  /** A body returned this, and JSON can have it: an `IsolatedValue` where it ran in another thread. */
  onResult(record: StepRecord, value: unknown): void;
  onFailed(record: StepRecord, thrown: Thrown, after: AfterFailure): void;
  onEnd(record: StepRecord, end: BodyEnd): void;
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

/** Runs a step's body, keeps its outcome in the record and reports it as an op, exactly once. */
export function runBody(record: StepRecord, context: BodyContext): void {
  new Attempt(record, context).start();
}

/**
 * One attempt of a body. An object, not a closure for each thing that may become of it: there is nothing that an app
 * makes more of.
 */
class Attempt implements BodyOwner {
  readonly #record: StepRecord;
  readonly #context: BodyContext;
  readonly #step: CurrentStep;
  readonly #startedMs: number;
  readonly #fromMs: number;
  readonly #running: RunningBody;
  /** Of a body that goes on. */
  #entry: RunningStepEntry | undefined;

  constructor(record: StepRecord, context: BodyContext) {
    const { ports } = context;
    const { fullId, hash } = record.identity;
    this.#record = record;
    this.#context = context;
    this.#step = { id: fullId, hash, attempt: record.attempt, active: true };
    this.#startedMs = ports.clock.nowMs();
    this.#fromMs = ports.clock.monotonicMs();
    this.#running = new RunningBody(this);
  }

  get fullId(): string {
    return this.#record.identity.fullId;
  }

  get timeoutMs(): number | undefined {
    return this.#record.call.timeoutMs;
  }

  get timers(): Timers {
    return this.#context.timers;
  }

  get run(): SignalSource {
    return this.#context.run;
  }

  onTimeout(error: StepTimeoutError): void {
    this.#failed(error);
  }

  /** Runs it in another thread. Its time counts from when its code begins there. */
  get isolate(): BodyOwner["isolate"] {
    const { execution, ports, port } = this.#context;
    const { isolation } = ports;
    if (isolation === undefined) return undefined;
    const running = this.#running;
    const { id, hash, attempt } = this.#step;
    const subject = { ...execution, step: { id, hash, attempt } };
    const whenConfirmed = (): Promise<void> | undefined => port.whenConfirmed?.();
    return (mark, args) => {
      const onBegun = running.holdTimeout();
      return runIsolated(isolation, { mark, args, subject, signal: running.signal, whenConfirmed, onBegun });
    };
  }

  /** A synchronous result is reported at once, which saves a promise for each step that only computes. */
  start(): void {
    const { fullId } = this;
    let value: unknown;
    let isOver: boolean;
    try {
      value = this.#call();
      isOver = !isLater(value, `step "${fullId}"`);
    } catch (thrown) {
      return this.#onError(thrown);
    }
    if (isOver) return this.#onValue(value);
    const { execution, ports } = this.#context;
    const { requestId, runId } = execution;
    this.#entry = { requestId, runId, stepId: fullId, fromMs: this.#fromMs };
    ports.runningSteps?.add(this.#entry);
    follow(
      () => value,
      (settled) => this.#onValue(settled),
      (thrown) => this.#onError(thrown),
    );
  }

  #call(): unknown {
    const { execution } = this.#context;
    const record = this.#record;
    const running = this.#running;
    const body = (): unknown => record.call.body?.(record.identity.hash, record.args ?? [], running);
    const code = isStartHeard() ? () => startPublished(record, execution, this.#startedMs, body) : body;
    return runAs(execution, running, code, this.#step);
  }

  #onValue(value: unknown): void {
    const record = this.#record;
    const context = this.#context;
    const { execution } = context;
    const forgotten = this.#step.nested?.find(({ promise }) => !promise.isAwaited);
    if (forgotten) return this.#onError(forgotten.error);
    this.#step.active = false;
    this.#noteEnd();
    if (!this.#running.end()) return;
    const isolated = IsolatedValue.is(value) ? value : undefined;
    let json: ResultJson;
    try {
      json = isolated?.json ?? encodeResult(value, `step "${record.identity.fullId}"`);
    } catch (unusable) {
      return this.#failed(unusable);
    }
    context.onResult(record, value);
    record.outcome = { type: "fresh", json };
    const durationMs = this.#durationMs();
    if (isEndHeard()) publishEnd(record, execution, this.#startedMs, durationMs, null);
    const op = record.ops.finished(json, this.#extras(durationMs, isolated?.timing));
    context.onEnd(record, { type: "finished", op, final: false, durationMs });
  }

  #onError(raw: unknown): void {
    this.#step.active = false;
    if (this.#running.end()) this.#failed(raw);
  }

  #failed(raw: unknown): void {
    const record = this.#record;
    const context = this.#context;
    const { execution, rules } = context;
    this.#noteEnd();
    const isolated = IsolatedFailure.is(raw) ? raw : undefined;
    const thrown = isolated?.thrown ?? readThrown(raw);
    const { error } = thrown;
    const after = rules.ofStep(record, isolated ? { thrown } : { thrown, raw });
    const { final, maxAttempts, ...retryAfter } = after;
    const limit = maxAttempts === undefined ? {} : { maxAttempts };
    record.outcome = { type: "error", error };
    context.onFailed(record, thrown, after);
    const durationMs = this.#durationMs();
    if (isEndHeard()) publishEnd(record, execution, this.#startedMs, durationMs, { error, willRetry: !final });
    const op = record.ops.failed(error, final, {
      ...this.#extras(durationMs, isolated?.timing),
      ...retryAfter,
      ...limit,
    });
    context.onEnd(record, { type: "failed", op, final, ...retryAfter, durationMs });
  }

  #noteEnd(): void {
    if (this.#entry !== undefined) this.#context.ports.runningSteps?.remove(this.#entry);
  }

  #durationMs(): number {
    return this.#context.ports.clock.monotonicMs() - this.#fromMs;
  }

  #extras(durationMs: number, timed?: BodyTiming | null): OpExtras {
    const timing = timed ?? { startedMs: this.#startedMs, durationMs };
    return this.#context.isExtended ? { timing, attempt: this.#record.attempt } : { timing };
  }
}
