/**
 * Starts the bodies of a pass, each in its turn, and tells its machine what they came to. `watched-body.ts` runs one.
 */
import type { Timers } from "@holdfast/core";
import type { OpText } from "../steps/pass-types.ts";
import type { SignalSource } from "./abort.ts";
import type { TracedExecution } from "./current.ts";
import type { CheckpointPort } from "./execution.ts";
import type { FailureLog } from "./failure-log.ts";
import { warnOfLoss } from "./lossy-results.ts";
import { inMicrotask } from "./microtasks.ts";
import type { PassCheckpoints } from "./pass-checkpoints.ts";
import type { PassHost } from "./pass-host.ts";
import type { PassOptions, PassPorts } from "./pass-options.ts";
import { LONG_BODY_MS } from "./pass-times.ts";
import type { AfterFailure, RetryRules } from "./retry-rules.ts";
import type { StepRecord } from "./step-record.ts";
import type { Thrown } from "./thrown.ts";
import { type BodyContext, type BodyEnd, runWatched, startInTurn } from "./watched-body.ts";

export interface PassBodiesDeps {
  readonly options: PassOptions;
  readonly rules: RetryRules;
  readonly execution: TracedExecution;
  readonly timers: Timers;
  /** Tell the gateway of a step that can be undone before its body begins; undefined: it need not know. */
  readonly announcing: PassCheckpoints | undefined;
  readonly failures: Pick<FailureLog, "step">;
}

type BodiesHost = Pick<PassHost, "signal" | "isOpen" | "isReplayed" | "find" | "send">;

/** The context of all bodies: what is of one of them comes with its record. */
export class PassBodies implements BodyContext {
  readonly execution: TracedExecution;
  readonly rules: RetryRules;
  readonly timers: Timers;
  readonly #options: PassOptions;
  readonly #announcing: PassCheckpoints | undefined;
  readonly #failures: Pick<FailureLog, "step">;
  readonly #host: BodiesHost;

  constructor(deps: PassBodiesDeps, host: BodiesHost) {
    this.execution = deps.execution;
    this.rules = deps.rules;
    this.timers = deps.timers;
    this.#options = deps.options;
    this.#announcing = deps.announcing;
    this.#failures = deps.failures;
    this.#host = host;
  }

  get ports(): PassPorts {
    return this.#options.ports;
  }

  get port(): CheckpointPort {
    return this.#options.port;
  }

  get run(): SignalSource {
    return this.#host;
  }

  get isExtended(): boolean {
    const { input, mode } = this.#options;
    return mode.type === "in-place" || input.extended !== undefined;
  }

  start(hash: string): void {
    const { mode, ports, port } = this.#options;
    const record = this.#host.find(hash);
    if (record === undefined) return;
    record.isRunning = true;
    const run = startInTurn(ports.turns, port, record.context, () => this.#begin(record));
    const isUndoable = record.call.compensate !== undefined && mode.type === "in-place";
    if (isUndoable && this.#announcing !== undefined) this.#announcing.announce(record, run);
    else inMicrotask(run);
  }

  #begin(record: StepRecord): void {
    if (this.#host.isOpen) return runWatched(record, this.#options, this);
    // Stopped in between: it counts as running, but must not begin.
    this.#finish({ hash: record.identity.hash, text: "", bytes: 0 }, 0);
  }

  onResult({ identity }: StepRecord, value: unknown): void {
    const { log } = this.#options;
    warnOfLoss(log, () => `step "${identity.id}" of function "${this.execution.functionSlug}"`, value);
  }

  onEnd(record: StepRecord, end: BodyEnd): void {
    if (end.type === "failed") record.isRunning = false;
    const isFinal = end.type === "finished" || (end.final && this.#options.mode.type === "in-place");
    if (isFinal) this.#finish(end.op, end.durationMs);
    else this.#host.send(end);
  }

  onFailed(record: StepRecord, thrown: Thrown, { final: isFinal, retryAfter }: AfterFailure): void {
    // The work is another worker's now, or not wanted: what became of it here says nothing of the run.
    if (!this.#host.isOpen) return;
    const { identity, attempt } = record;
    const limit = this.rules.limitOf(record);
    this.#failures.step(identity.fullId, { thrown, attempt, limit, isFinal, retryAfter });
  }

  #finish(op: OpText, durationMs: number): void {
    const { isReplayed } = this.#host;
    this.#host.send({ type: "finished", op, maySettle: isReplayed && durationMs < LONG_BODY_MS });
  }
}
