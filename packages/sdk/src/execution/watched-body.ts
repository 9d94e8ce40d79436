/**
 * Runs a body and tells a watch of it, before it begins and when it has ended: in a pool thread, which may be ended in the
 * middle of a body, what is then to be said of the step has been said before.
 */
import type { OpText } from "../steps/pass-types.ts";
import { OpWriter } from "./op-text.ts";
import type { PassOptions } from "./pass-options.ts";
import { type BodyContext, type BodyEnd, runBody, startInTurn } from "./run-body.ts";
import type { StepRecord } from "./step-record.ts";

export { type BodyContext, type BodyEnd, startInTurn };

export function runWatched(record: StepRecord, options: PassOptions, context: BodyContext): void {
  const { watch } = options;
  if (watch === undefined) return runBody(record, context);
  watch.onBegun(record.identity.hash, lostOp(record, options, context));
  const onEnd: BodyContext["onEnd"] = (ended, end) => {
    watch.onEnded(end.op);
    context.onEnd(ended, end);
  };
  runBody(record, { ...context, onEnd });
}

/** The op of a failed attempt, without the error. It repeats no arguments: they are on record, or come again. */
function lostOp(record: StepRecord, { ports }: PassOptions, { isExtended, rules }: BodyContext): OpText {
  const { identity, call, ordinal, attempt } = record;
  const timing = { startedMs: ports.clock.nowMs(), durationMs: 0 };
  const writer = new OpWriter({ identity, call, args: undefined, ordinal });
  const { final, ...retryAfter } = rules.ofLostBody(record);
  return writer.failed({ name: "", message: "" }, final, isExtended ? { timing, attempt, ...retryAfter } : { timing });
}
