/**
 * Runs a body and tells a watch of it, before it begins and when it has ended: in a pool thread, which may be ended in the
 * middle of a body, what is then to be said of the step has been said before.
 */
import type { OpText } from "../steps/pass-types.ts";
import { OpWriter } from "./op-text.ts";
import type { BodyWatch, PassOptions } from "./pass-options.ts";
import type { AfterFailure } from "./retry-rules.ts";
import { type BodyContext, type BodyEnd, runBody, startInTurn } from "./run-body.ts";
import type { StepRecord } from "./step-record.ts";
import type { Thrown } from "./thrown.ts";

export { type BodyContext, type BodyEnd, startInTurn };

export function runWatched(record: StepRecord, options: PassOptions, context: BodyContext): void {
  const { watch } = options;
  if (watch === undefined) return runBody(record, context);
  watch.onBegun(record.identity.hash, lostOp(record, options, context));
  runBody(record, new WatchedContext(context, watch));
}

/** The context of a body whose end is told to a watch. */
class WatchedContext implements BodyContext {
  readonly #context: BodyContext;
  readonly #watch: BodyWatch;
  readonly execution: BodyContext["execution"];
  readonly ports: BodyContext["ports"];
  readonly timers: BodyContext["timers"];
  readonly run: BodyContext["run"];
  readonly port: BodyContext["port"];
  readonly isExtended: boolean;
  readonly rules: BodyContext["rules"];

  constructor(context: BodyContext, watch: BodyWatch) {
    this.#context = context;
    this.#watch = watch;
    this.execution = context.execution;
    this.ports = context.ports;
    this.timers = context.timers;
    this.run = context.run;
    this.port = context.port;
    this.isExtended = context.isExtended;
    this.rules = context.rules;
  }

  onResult(record: StepRecord, value: unknown): void {
    this.#context.onResult(record, value);
  }

  onFailed(record: StepRecord, thrown: Thrown, after: AfterFailure): void {
    this.#context.onFailed(record, thrown, after);
  }

  onEnd(record: StepRecord, end: BodyEnd): void {
    this.#watch.onEnded(end.op);
    this.#context.onEnd(record, end);
  }
}

/** The op of a failed attempt, without the error. It repeats no arguments: they are on record, or come again. */
function lostOp(record: StepRecord, { ports }: PassOptions, { isExtended, rules }: BodyContext): OpText {
  const { identity, call, ordinal, attempt } = record;
  const timing = { startedMs: ports.clock.nowMs(), durationMs: 0 };
  const writer = new OpWriter({ identity, call, args: undefined, ordinal });
  const { final, ...again } = rules.ofLostBody(record);
  return writer.failed({ name: "", message: "" }, final, isExtended ? { timing, attempt, ...again } : { timing });
}
