import { type Clock, createDriver, type Driver, HoldfastError, type Timers, unreachable } from "@holdfast/core";
import { type CheckpointOutcome, encodeJsonBytes } from "@holdfast/protocol";
import type { RegisteredFunction } from "../functions/registry.ts";
import { isFinalError, NonDeterminismError, RetryAfterError, StepError, StepNestedError } from "../steps/errors.ts";
import { Journal } from "../steps/journal.ts";
import {
  initialPass,
  type PassEffect,
  type PassEvent,
  type PassMode,
  type PassState,
  passStep,
} from "../steps/pass-machine.ts";
import { StepNames } from "../steps/step-id.ts";
import { createStepTools, rejectedStep, type StepCall, type StepTools } from "../steps/step-tools.ts";
import { type CurrentExecution, currentExecution, runAs } from "./current.ts";
import type { CheckpointPort, ExecutionRequest, ExecutionResult } from "./execution.ts";
import type { PassInput } from "./pass-input.ts";
import { afterMicrotasks, PacedQueue, QuietWatch } from "./quiet.ts";
import { encodeResult, errorObject } from "./result-json.ts";
import { resultOf, textOf } from "./result-of.ts";
import { signatureConflict } from "./signature.ts";
import { type BodyEnd, runBody, StepRecord } from "./step-record.ts";

export interface PassPorts {
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface PassOptions {
  readonly request: ExecutionRequest;
  readonly input: PassInput;
  readonly fn: RegisteredFunction;
  readonly mode: PassMode;
  readonly port: CheckpointPort;
  /** Fires when the work is not wanted any more. */
  readonly signal: AbortSignal;
  readonly ports: PassPorts;
}

/** What the handler is called with; the pass supplies the tools. */
export type PassHandler = (tools: { readonly step: StepTools; readonly signal: () => AbortSignal }) => unknown;

/** How long a targeted pass waits, all being quiet, for a step that has not been found. */
const MISSING_GRACE_MS = 1000;

const utf8 = new TextEncoder();

/** The shell around the pass machine: runs handler and bodies, settles steps, talks to the checkpoint port. */
export class Pass {
  readonly #options: PassOptions;
  readonly #journal: Journal;
  readonly #names = new StepNames();
  readonly #records = new Map<string, StepRecord>();
  readonly #settling: PacedQueue<StepRecord>;
  readonly #quiet: QuietWatch;
  readonly #driver: Driver<PassState, PassEvent>;
  #abort: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  readonly #execution: CurrentExecution;
  readonly #startedMs: number;
  readonly #undefinedSteps: ReadonlySet<string>;
  readonly #cleanups: (() => void)[] = [];
  #quietSerial: number | null = null;
  #resolve: (result: ExecutionResult) => void = () => {};

  constructor(options: PassOptions) {
    const { input, request, ports } = options;
    this.#options = options;
    this.#journal = new Journal(input.steps, input.stack);
    this.#execution = { requestId: request.requestId, runId: request.runId, functionSlug: request.functionSlug };
    this.#startedMs = ports.clock.monotonicMs();
    this.#undefinedSteps = new Set(input.extended?.undefinedSteps ?? []);
    this.#settling = new PacedQueue((record) => this.#settle(record));
    this.#quiet = new QuietWatch(
      () => !this.#settling.isIdle,
      () => this.#onQuiet(),
    );
    this.#driver = createDriver<PassState, PassEvent, PassEffect>({
      initial: initialPass(options.mode),
      step: passStep,
      run: (effect) => this.#run(effect),
      nowMs: ports.clock.nowMs,
      traceSize: 20,
    });
  }

  run(handler: PassHandler): Promise<ExecutionResult> {
    const { request, fn, signal, mode } = this.#options;
    this.#linkSignal(signal);
    const step = createStepTools({
      find: (call) => this.#find(call),
      runId: request.runId,
      exactSleep: mode.type === "in-place",
      send: (events) => fn.client.sendEvents(events),
    });
    return new Promise((resolve) => {
      this.#resolve = resolve;
      void this.#runHandler(() => handler({ step, signal: () => this.#signal }));
    });
  }

  #linkSignal(signal: AbortSignal): void {
    const onAbort = (): void => {
      this.#abortWith(signal.reason);
      this.#driver.send({ type: "stop" });
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#cleanups.push(() => signal.removeEventListener("abort", onAbort));
    const { deadlineMs } = this.#options.input.extended ?? {};
    if (deadlineMs === undefined) return;
    const late = (): void => this.#abortWith(new HoldfastError("RUN_CANCELLED", "The run's deadline is over."));
    this.#setTimer(Math.max(0, deadlineMs - this.#nowMs()), late);
  }

  #setTimer(delayMs: number, fire: () => void): void {
    const timer = this.#options.ports.timers.set(delayMs, fire);
    this.#cleanups.push(() => timer.cancel());
  }

  /** The gateway's time where it told it. */
  #nowMs(): number {
    const { clock } = this.#options.ports;
    const toldMs = this.#options.input.extended?.nowMs;
    return toldMs === undefined ? clock.nowMs() : toldMs + (clock.monotonicMs() - this.#startedMs);
  }

  async #runHandler(handler: () => unknown): Promise<void> {
    try {
      const value = await runAs(this.#execution, handler);
      const body = encodeResult(value, `function "${this.#options.request.functionSlug}"`).text;
      this.#driver.send({ type: "handler-ended", end: { type: "returned", body } });
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #fail(thrown: unknown): void {
    const { attempt, maxAttempts } = this.#options.input;
    const used = maxAttempts !== undefined && attempt + 1 >= maxAttempts;
    const final = used || StepError.is(thrown) || isFinalError(thrown);
    const retryAfter = !final && RetryAfterError.is(thrown) ? { retryAfter: thrown.retryAfter } : {};
    const body = JSON.stringify(errorObject(thrown));
    this.#driver.send({ type: "handler-ended", end: { type: "failed", body, final, ...retryAfter } });
  }

  #find(call: StepCall): Promise<unknown> {
    // One promise for all would keep every handler that awaits it.
    if (this.#driver.state.phase !== "open") return new Promise(() => {});
    try {
      const outer = currentExecution()?.step;
      if (outer?.active) throw new StepNestedError(String(call.id), outer.id);
      return this.#open(call).promise;
    } catch (error) {
      return rejectedStep(error);
    }
  }

  #open(call: StepCall): StepRecord {
    const identity = this.#names.next(call.id);
    const { hash } = identity;
    const memo = this.#journal.lookup(hash);
    const record = new StepRecord(identity, call, memo?.type === "input" ? memo.input : call.args);
    this.#records.set(hash, record);
    this.#quiet.note();
    if (memo === undefined || memo.type === "input") {
      this.#meet(record);
      return record;
    }
    const conflict = signatureConflict(this.#options.input.extended?.signatures?.[hash], record);
    if (conflict) {
      this.#fail(new NonDeterminismError(conflict.recorded, conflict.found));
      return record;
    }
    record.outcome =
      memo.type === "error"
        ? { type: "error", error: memo.error }
        : { type: "memo", value: this.#undefinedSteps.has(hash) ? undefined : memo.data };
    for (const ready of this.#journal.ask(hash)) this.#settleLater(ready);
    if (this.#journal.heldCount > 0) this.#quiet.want();
    return record;
  }

  /** A step that is not finished. */
  #meet(record: StepRecord): void {
    const { input, mode } = this.#options;
    const retry = mode.type === "in-place" ? input.extended?.retries?.[record.identity.hash] : undefined;
    record.attempt = mode.type === "in-place" ? (retry?.attempt ?? 0) : input.attempt;
    const due = retry === undefined || !(retry.notBeforeMs > this.#nowMs());
    const step = { hash: record.identity.hash, hasBody: record.call.body !== undefined };
    this.#driver.send({ type: "found", step, due });
  }

  #settleLater(hash: string): void {
    const record = this.#records.get(hash);
    if (record) this.#settling.add(record);
  }

  #settle(record: StepRecord): void {
    if (this.#driver.state.phase !== "open") return;
    this.#quiet.note();
    record.settle();
  }

  #onQuiet(): void {
    if (this.#journal.heldCount > 0) {
      for (const hash of this.#journal.releaseEarliest()) this.#settleLater(hash);
      if (this.#journal.heldCount > 0 || this.#quietSerial !== null) this.#quiet.want();
      return;
    }
    const serial = this.#quietSerial;
    this.#quietSerial = null;
    if (serial !== null) this.#driver.send({ type: "quiet", serial });
  }

  #run(effect: PassEffect): void {
    switch (effect.do) {
      case "start":
        return this.#start(effect.step.hash);
      case "flush-soon":
        return afterMicrotasks(() => this.#driver.send({ type: "flush" }));
      case "checkpoint":
        return this.#checkpoint(effect);
      case "settle":
        for (const { hash } of effect.ops) this.#settleLater(hash);
        return;
      case "watch":
        this.#quietSerial = effect.serial;
        return this.#quiet.want();
      case "watch-missing":
        return this.#setTimer(MISSING_GRACE_MS, () => this.#driver.send({ type: "missing", serial: effect.serial }));
      case "abort":
        return this.#abortWith();
      case "reply": {
        this.#quiet.stop();
        this.#settling.clear();
        for (const cleanup of this.#cleanups) cleanup();
        const records = this.#records;
        return this.#resolve(resultOf(effect.reply, this.#options, (hash) => records.get(hash)));
      }
      default:
        return unreachable(effect);
    }
  }

  #start(hash: string): void {
    const record = this.#records.get(hash);
    if (!record) return;
    const { input, mode, ports } = this.#options;
    const { maxAttempts, extended } = input;
    const isFinal = (thrown: unknown): boolean =>
      isFinalError(thrown) || (maxAttempts !== undefined && record.attempt + 1 >= maxAttempts);
    const isExtended = mode.type === "in-place" || extended !== undefined;
    const tell = (end: BodyEnd): void => {
      const settles = end.type === "finished" || (end.final && mode.type === "in-place");
      this.#driver.send(settles ? { type: "finished", op: end.op } : { ...end, type: "failed", final: end.final });
    };
    const context = { execution: this.#execution, clock: ports.clock, isExtended, isFinal };
    queueMicrotask(() => {
      if (this.#driver.state.phase === "open") return runBody(record, context, tell);
      // Stopped in between: it counts as running, but must not begin.
      return this.#driver.send({ type: "finished", op: { hash, text: "", bytes: 0 } });
    });
  }

  #checkpoint({ ops, parked }: Extract<PassEffect, { do: "checkpoint" }>): void {
    const find = (hash: string): StepRecord | undefined => this.#records.get(hash);
    const texts = [...ops.map((op) => op.text), ...parked.map((report) => textOf(report, find))];
    const answered = (outcome: CheckpointOutcome): void => this.#driver.send({ type: "answered", outcome });
    // When the connection cannot say what became of it, the reply carries the ops; the gateway knows them by id.
    this.#options.port.checkpoint(utf8.encode(`[${texts.join(",")}]`)).then(answered, () => answered("invalid"));
  }

  /** Made when it is asked for: most handlers never look at it. */
  get #signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#aborted) this.#abort.abort(this.#aborted.reason);
    }
    return this.#abort.signal;
  }

  #abortWith(reason?: unknown): void {
    this.#aborted ??= { reason };
    this.#abort?.abort(this.#aborted.reason);
  }
}

/** The answer to a targeted request for a step that has a result already: nothing new. */
export function nothingNew(requestVersion: number): ExecutionResult {
  return { status: "NOT_COMPLETED", body: encodeJsonBytes([]), noRetry: false, requestVersion };
}
