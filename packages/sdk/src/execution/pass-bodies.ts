/**
 * Starts the bodies of a pass, each in its turn, and tells its machine what they came to. `watched-body.ts` runs one.
 */
import type { Timers } from "@holdfast/core";
import type { OpText, PassEvent } from "../steps/pass-types.ts";
import type { TracedExecution } from "./current.ts";
import type { FailureLog } from "./failure-log.ts";
import { warnOfLoss } from "./lossy-results.ts";
import { inMicrotask } from "./microtasks.ts";
import type { PassOptions } from "./pass-options.ts";
import { LONG_BODY_MS } from "./pass-times.ts";
import type { AfterFailure, RetryRules } from "./retry-rules.ts";
import type { StepRecord } from "./step-record.ts";
import type { Thrown } from "./thrown.ts";
import { type BodyContext, type BodyEnd, runWatched, startInTurn } from "./watched-body.ts";

export interface PassBodiesDeps {
  readonly options: PassOptions;
  readonly rules: RetryRules;
  readonly execution: TracedExecution;
  readonly runSignal: () => AbortSignal;
  readonly timers: Timers;
  readonly isOpen: () => boolean;
  /** Nothing is left on record that a replay would settle before what ends now. */
  readonly isReplayed: () => boolean;
  /** Tells the gateway of a step that can be undone before its body begins; undefined: it need not know. */
  readonly announce: ((record: StepRecord, begin: () => void) => void) | undefined;
  readonly send: (event: PassEvent) => void;
  readonly failures: Pick<FailureLog, "step">;
}

export class PassBodies {
  readonly #deps: PassBodiesDeps;
  /** Of all bodies: what is of one of them comes with its record. */
  readonly #context: BodyContext;

  constructor(deps: PassBodiesDeps) {
    this.#deps = deps;
    const { options, rules, execution, runSignal, timers } = deps;
    const { input, mode, ports, port } = options;
    this.#context = {
      execution,
      runSignal,
      timers,
      ports,
      port,
      isExtended: mode.type === "in-place" || input.extended !== undefined,
      rules,
      onResult: ({ identity }, value) =>
        warnOfLoss(options.log, `step "${identity.id}" of function "${execution.functionSlug}"`, value),
      onFailed: (record, thrown, after) => this.#onFailed(record, thrown, after),
      onEnd: (record, end) => this.#onEnd(record, end),
    };
  }

  start(record: StepRecord): void {
    const { options, announce } = this.#deps;
    const { mode, ports, port } = options;
    record.isRunning = true;
    const run = startInTurn(ports.turns, port, record.context, () => this.#begin(record));
    const isUndoable = record.call.compensate !== undefined && mode.type === "in-place";
    if (isUndoable && announce !== undefined) announce(record, run);
    else inMicrotask(run);
  }

  #begin(record: StepRecord): void {
    const { options, isOpen } = this.#deps;
    if (isOpen()) return runWatched(record, options, this.#context);
    // Stopped in between: it counts as running, but must not begin.
    this.#finish({ hash: record.identity.hash, text: "", bytes: 0 }, 0);
  }

  #onEnd(record: StepRecord, end: BodyEnd): void {
    const { options, send } = this.#deps;
    if (end.type === "failed") record.isRunning = false;
    const isFinal = end.type === "finished" || (end.final && options.mode.type === "in-place");
    if (isFinal) this.#finish(end.op, end.durationMs);
    else send(end);
  }

  #onFailed(record: StepRecord, thrown: Thrown, { final: isFinal, retryAfter }: AfterFailure): void {
    const { isOpen, failures, rules } = this.#deps;
    // The work is another worker's now, or not wanted: what became of it here says nothing of the run.
    if (!isOpen()) return;
    const { identity, attempt } = record;
    failures.step(identity.fullId, { thrown, attempt, limit: rules.limitOf(record), isFinal, retryAfter });
  }

  #finish(op: OpText, durationMs: number): void {
    const { isReplayed, send } = this.#deps;
    send({ type: "finished", op, maySettle: isReplayed() && durationMs < LONG_BODY_MS });
  }
}
