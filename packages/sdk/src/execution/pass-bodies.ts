/**
 * Starts the bodies of a pass, each in its turn, and tells its machine what they came to. `watched-body.ts` runs one.
 */
import type { Timers } from "@holdfast/core";
import type { OpText, PassEvent } from "../steps/pass-types.ts";
import type { TracedExecution } from "./current.ts";
import type { FailureLog } from "./failure-log.ts";
import { inMicrotask } from "./microtasks.ts";
import type { PassOptions } from "./pass-options.ts";
import { LONG_BODY_MS } from "./pass-times.ts";
import type { RetryRules } from "./retry-rules.ts";
import type { StepRecord } from "./step-record.ts";
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

  constructor(deps: PassBodiesDeps) {
    this.#deps = deps;
  }

  start(record: StepRecord): void {
    const { options, rules, execution, runSignal, timers, isOpen, announce, send, failures } = this.#deps;
    const { input, mode, ports } = options;
    record.isRunning = true;
    const isExtended = mode.type === "in-place" || input.extended !== undefined;
    const onEnd = (end: BodyEnd): void => {
      if (end.type === "failed") record.isRunning = false;
      if (end.type === "finished" || (end.final && mode.type === "in-place")) this.#finish(end.op, end.durationMs);
      else send(end);
    };
    const onFailed: BodyContext["onFailed"] = (thrown, { final: isFinal, retryAfter }) => {
      // The work is another worker's now, or not wanted: what became of it here says nothing of the run.
      if (!isOpen()) return;
      const { identity, attempt } = record;
      failures.step(identity.fullId, { thrown, attempt, limit: rules.limitOf(record), isFinal, retryAfter });
    };
    const { port } = options;
    const context = { execution, runSignal, timers, ports, port, isExtended, rules, onFailed };
    const run = startInTurn(ports.turns, options.port, record.context, () => {
      if (isOpen()) return runWatched(record, options, context, onEnd);
      // Stopped in between: it counts as running, but must not begin.
      return this.#finish({ hash: record.identity.hash, text: "", bytes: 0 }, 0);
    });
    const isUndoable = record.call.compensate !== undefined && mode.type === "in-place";
    if (isUndoable && announce !== undefined) announce(record, run);
    else inMicrotask(run);
  }

  #finish(op: OpText, durationMs: number): void {
    const { isReplayed, send } = this.#deps;
    send({ type: "finished", op, maySettle: isReplayed() && durationMs < LONG_BODY_MS });
  }
}
