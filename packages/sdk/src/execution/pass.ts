/**
 * One pass of a function: runs the handler, replays finished steps from the memo, runs due ones, and replies. What
 * follows from what is decided in `steps/pass-machine.ts`; the order of steps is checked in `step-order-check.ts`,
 * failed runs are undone in `compensation.ts`.
 */
import { createDriver, type Driver, unreachable } from "@holdfast/core";
import type { ExtendedContext } from "@holdfast/protocol";
import { NonDeterminismError, type RunDeadlineError } from "../steps/errors.ts";
import { Journal } from "../steps/journal.ts";
import { initialPass } from "../steps/open-pass.ts";
import { passStep } from "../steps/pass-machine.ts";
import type { PassEffect, PassEvent, PassState } from "../steps/pass-types.ts";
import { rejectedStep, type StepCall } from "../steps/step-call.ts";
import { type StepIdentity, StepNames } from "../steps/step-id.ts";
import type { StepTools } from "../steps/step-types.ts";
import { LazyAbortController } from "./abort.ts";
import { abandonedEnd, Compensation, readFailure, undoingEnd, undoSteps } from "./compensation.ts";
import { Continuing } from "./continuing.ts";
import { executionOf, runAs, type TracedExecution } from "./current.ts";
import { type EndedWaits, hearEnds } from "./ended-waits.ts";
import type { ExecutionResult } from "./execution.ts";
import { FailureLog } from "./failure-log.ts";
import { follow } from "./follow.ts";
import { failedEnd, returnedEnd } from "./handler-end.ts";
import { SettleQueue } from "./idle-detector.ts";
import { afterMicrotasks } from "./microtasks.ts";
import { beyondLimit, misplacedCall } from "./misplaced-call.ts";
import { PassBodies } from "./pass-bodies.ts";
import { PassCheckpoints } from "./pass-checkpoints.ts";
import type { HandlerTools, PassHandler, PassHost } from "./pass-host.ts";
import type { PassOptions } from "./pass-options.ts";
import { PassQuiet } from "./pass-quiet.ts";
import { PassTimers } from "./pass-timers.ts";
import { MISSING_GRACE_MS } from "./pass-times.ts";
import { stepToolsOf } from "./pass-tools.ts";
import { type ReplayWatch, watchReplay } from "./replay-watch.ts";
import { resultOf } from "./result-of.ts";
import { RetryRules } from "./retry-rules.ts";
import { RunTime } from "./run-time.ts";
import { signatureConflict } from "./signature.ts";
import { StepOrderCheck } from "./step-order-check.ts";
import { StepRecord } from "./step-record.ts";
import { readThrown } from "./thrown.ts";
import { warnOfLateCall } from "./unfinished-steps.ts";

export class Pass implements PassHost, HandlerTools {
  readonly step: StepTools;
  readonly #options: PassOptions;
  readonly #journal: Journal;
  readonly #names = new StepNames();
  readonly #records = new Map<string, StepRecord>();
  readonly #settling = new SettleQueue(this);
  readonly #quiet: PassQuiet;
  readonly #driver: Driver<PassState, PassEvent>;
  readonly #checkpoints: PassCheckpoints;
  readonly #bodies: PassBodies;
  readonly #rules: RetryRules;
  readonly #order: StepOrderCheck;
  readonly #compensation: Compensation | undefined;
  /** Called steps that can be undone. */
  readonly #undoable: StepRecord[] = [];
  readonly #controller = new LazyAbortController();
  readonly #execution: TracedExecution;
  readonly #time: RunTime;
  /** Steps that failed and are tried again. */
  readonly #retries: ExtendedContext["retries"];
  readonly #undefinedSteps: ReadonlySet<string> | undefined;
  readonly #timers: PassTimers;
  readonly #replay: ReplayWatch;
  readonly #failures: FailureLog;
  readonly #continuing: Continuing;
  #hasReturned = false;
  /** Why no step begins any more. */
  #over: Error | undefined;
  /** Null: this pass is given nothing, or does not wait. */
  #ended: EndedWaits | null = null;
  #resolve: (result: ExecutionResult) => void = () => {};

  constructor(options: PassOptions) {
    const { input, request, ports } = options;
    this.#options = options;
    this.#timers = new PassTimers(ports.timers);
    this.#continuing = new Continuing(request);
    this.#journal = new Journal(input.steps, input.stack);
    this.#execution = executionOf(request);
    this.#failures = new FailureLog(options, this.#execution);
    this.#undefinedSteps = input.extended?.undefinedSteps && new Set(input.extended.undefinedSteps);
    const failure = readFailure(this.#journal);
    this.#compensation = failure && new Compensation(failure, this.#journal);
    this.#retries = (options.mode.type === "in-place" && input.extended?.retries) || {};
    this.#time = new RunTime(ports.clock, input.extended ?? {}, failure === undefined);
    // What a handler that is replayed only to undo its steps asks for is not compared.
    this.#order = new StepOrderCheck(failure ? undefined : input.extended?.signatures);
    const quiet = {
      ...{ timers: this.#timers, journal: this.#journal, order: this.#order },
      ...{ compensation: this.#compensation, retries: this.#retries },
    };
    this.#quiet = new PassQuiet(quiet, this);
    this.#replay = watchReplay(options, this.#retries, failure !== undefined);
    this.#checkpoints = new PassCheckpoints(options, this);
    this.#rules = new RetryRules(options);
    const bodies = {
      options,
      rules: this.#rules,
      execution: this.#execution,
      timers: this.#timers,
      announcing: this.#time.deadlineMs === undefined ? undefined : this.#checkpoints,
      failures: this.#failures,
    };
    this.#bodies = new PassBodies(bodies, this);
    this.#driver = createDriver<PassState, PassEvent, PassEffect>({
      initial: initialPass(options.mode, this.#journal.finished.length),
      step: passStep,
      run: (effect) => this.#run(effect),
      nowMs: ports.clock.nowMs,
      traceSize: 0,
    });
    this.step = stepToolsOf(options, this);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isReplaying(): boolean {
    return this.#replay.isReplaying;
  }

  get isOpen(): boolean {
    return this.#driver.state.phase === "open";
  }

  get isReplayed(): boolean {
    return this.#journal.isReplayed || this.#compensation?.isCollecting === false;
  }

  get isSettled(): boolean {
    return this.#settling.isIdle;
  }

  continueAs(data: unknown): unknown {
    return this.#continuing.continueAs(data);
  }

  find(hash: string): StepRecord | undefined {
    return this.#records.get(hash);
  }

  send(event: PassEvent): void {
    this.#driver.send(event);
  }

  run(handler: PassHandler): Promise<ExecutionResult> {
    this.#options.signal.addEventListener("abort", this.#onUnwanted);
    const { deadlineMs } = this.#time;
    if (deadlineMs !== undefined) {
      this.#timers.set(deadlineMs - this.#time.nowMs(), () => this.#onDeadline(this.#time.expire(deadlineMs)));
    }
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (this.#compensation) this.#quiet.await();
      this.#runHandler(handler);
    });
  }

  readonly #onUnwanted = (): void => {
    this.#controller.abort(this.#options.signal.reason);
    this.#driver.send({ type: "stop" });
  };

  #onDeadline(over: RunDeadlineError): void {
    this.#controller.abort(over);
    // The gateway waits a little for what it would undo.
    if (this.#undoable.some((record) => record.isUnderWay)) this.fail(over);
  }

  #runHandler(handler: PassHandler): void {
    this.#order.onHandlerStart();
    afterMicrotasks(() => this.#settling.isIdle && this.#order.onSettled());
    follow(
      () => runAs(this.#execution, this, () => handler.call(this)),
      (returned) => this.#onReturned(returned),
      (thrown) => (this.#compensation ? undefined : this.fail(thrown)),
    );
  }

  #onReturned(value: unknown): void {
    if (this.#compensation) return;
    this.#hasReturned = true;
    try {
      const overdue = this.#time.overdue();
      if (overdue) return this.fail(overdue);
      this.#continuing.check(value);
      this.#driver.send({ type: "handler-ended", end: returnedEnd(value, this.#records.values(), this.#options) });
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  fail(raw: unknown): void {
    const { mode } = this.#options;
    const thrown = readThrown(raw);
    const end = failedEnd(thrown, this.#rules.ofHandler({ thrown, raw }));
    this.#failures.noteThrown(thrown);
    const undoing = end.final ? undoingEnd(thrown.error, this.#undoable, this.#options) : undefined;
    if (undoing && mode.type !== "targeted" && this.isOpen) this.#failures.runIsUndone(undoing.steps);
    this.#driver.send({ type: "handler-ended", end: undoing?.end ?? end });
  }

  callStep(call: StepCall): Promise<unknown> {
    const misplaced = misplacedCall(call, this.#execution.runId);
    if (misplaced) return misplaced;
    if (!this.isOpen && this.#hasReturned) warnOfLateCall(call, this.#records.values(), this.#options);
    // One promise for all would keep every handler that awaits it.
    if (!this.isOpen || this.#over || this.#compensation?.isCollecting === false) return new Promise(() => {});
    try {
      const identity = this.#names.next(call.id);
      const asked = this.#rules.forGateway(identity.hash, call);
      return this.openStep(identity, this.#options.intercept?.(identity.fullId, asked) ?? asked).promise;
    } catch (error) {
      return rejectedStep(error);
    }
  }

  openStep(identity: StepIdentity, call: StepCall): StepRecord {
    const { hash } = identity;
    const memo = this.#journal.lookup(hash);
    const record = new StepRecord(identity, call, memo?.type === "input" ? memo.input : call.args, this.#records.size);
    record.isRecorded = memo !== undefined && memo.type !== "input";
    this.#records.set(hash, record);
    this.#quiet.noteActivity();
    this.#replay.onFound(memo !== undefined || hash in this.#retries);
    if (this.#compensation?.isCollecting) this.#quiet.await();
    this.#order.onFound(record);
    if (call.compensate !== undefined || call.undoStep !== undefined) this.#undoable.push(record);
    if (memo === undefined || memo.type === "input") {
      this.#onUnfinished(record, memo !== undefined);
      return record;
    }
    const conflict = signatureConflict(this.#options.input.extended?.signatures?.[hash], record);
    if (conflict && !this.#compensation) {
      this.fail(new NonDeterminismError(conflict.recorded, conflict.found));
      return record;
    }
    if (memo.type === "error") record.outcome = { type: "error", error: memo.error };
    else {
      const value = this.#undefinedSteps?.has(hash) ? undefined : memo.data;
      record.outcome = { type: "memo", value };
      this.#compensation?.collect(record, value);
    }
    for (const ready of this.#journal.ask(hash)) this.settleLater(ready);
    if (this.#journal.heldCount > 0) this.#quiet.await();
    for (const released of this.#order.releaseHeld()) this.#reportFound(released);
    return record;
  }

  /** A step that is not finished. */
  #onUnfinished(record: StepRecord, isKnown: boolean): void {
    const { input, mode } = this.#options;
    record.keepContext();
    const retry = this.#retries[record.identity.hash];
    record.attempt = mode.type === "in-place" ? (retry?.attempt ?? 0) : input.attempt;
    if (this.#compensation?.isCollecting) return this.#findUnfinished(record, this.#compensation);
    this.#over ??= this.#time.overdue() ?? beyondLimit(record, this.#compensation);
    if (this.#over) return this.fail(this.#over);
    if (isKnown || retry !== undefined || this.#order.mayStart(record)) return this.#reportFound(record);
    // Its place on record is another step's, unless the code still asks for that one.
    this.#quiet.await();
  }

  #reportFound(record: StepRecord): void {
    const retry = this.#retries[record.identity.hash];
    const due = retry === undefined || !(retry.notBeforeMs > this.#time.nowMs());
    this.#driver.send({ type: "found", step: record.found, due });
    if (record.call.body !== undefined || this.#compensation) return;
    this.#ended ??= hearEnds(this.#options, this.#journal, this);
    this.#ended?.deliver();
  }

  /**
   * While steps are only looked for to undo them, none starts but those that are needed for that; a gateway that planned
   * this one gets an op that says so.
   */
  #findUnfinished(record: StepRecord, compensation: Compensation): void {
    if (compensation.begin(record, this.#options)) return this.#reportFound(record);
    const end = abandonedEnd(this.#options, record.identity.hash);
    if (end) this.#driver.send({ type: "handler-ended", end });
  }

  settleLater(hash: string): void {
    const record = this.#records.get(hash);
    if (record) this.#settling.add(record);
  }

  settle(record: StepRecord): void {
    if (!this.isOpen) return;
    this.#quiet.noteActivity();
    this.#order.onSettling(record);
    this.#replay.onSettling(record);
    if (this.#compensation?.settle(record)) this.#quiet.await();
    record.settle();
  }

  onSettled(): void {
    this.#order.onSettled();
    this.#ended?.deliver();
  }

  undo(): void {
    if (this.#compensation) void undoSteps(this.#compensation, this, this.#failures);
  }

  #run(effect: PassEffect): void {
    switch (effect.do) {
      case "start":
        return this.#bodies.start(effect.step.hash);
      case "flush-soon":
        return this.#checkpoints.flushSoon();
      case "checkpoint":
        return this.#checkpoints.store(effect);
      case "settle":
        for (const { hash } of effect.ops) this.settleLater(hash);
        return;
      case "watch":
        return this.#quiet.watch(effect.serial);
      case "watch-missing":
        return void this.#timers.set(MISSING_GRACE_MS, () => this.send({ type: "missing", serial: effect.serial }));
      case "abort":
        return this.#controller.abort();
      case "reply": {
        this.#quiet.stop();
        this.#settling.clear();
        this.#timers.cancelAll();
        this.#options.signal.removeEventListener("abort", this.#onUnwanted);
        this.#replay.onReply(effect.reply, this.#records.values());
        this.#failures.onReply(effect.reply);
        return this.#resolve(resultOf(effect.reply, this.#options, (hash) => this.#records.get(hash)));
      }
      default:
        return unreachable(effect);
    }
  }
}
