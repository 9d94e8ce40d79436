/**
 * The rules of a pass as a pure machine: which steps run, what is reported, when the pass ends.
 * `../execution/pass.ts` drives it.
 */
import { type Next, type Step, unreachable } from "@holdfast/core";
import { listLength, push, toArray } from "./append-list.ts";
import {
  answer,
  endInPlace,
  endWaitInPlace,
  failInPlace,
  findInPlace,
  finishInPlace,
  flush,
  quietInPlace,
} from "./in-place-machine.ts";
import { endPass, endWithOps, isAwaited, stopPass } from "./pass-ends.ts";
import type { FoundStep, HandlerEnd, OpenPass, PassEffect, PassEvent, PassState, StepReport } from "./pass-types.ts";

/**
 * One pass over a handler: which found steps run, what is reported and when the pass ends. Steps that are finished
 * from earlier passes never come here.
 *
 * In place (`checkpoint` agreed on):
 * PASS-1. A found step that has a body and is due starts at once, unless PASS-12 or PASS-17 holds it; others are parked and
 *      reported when the pass ends. While bodies run, what was newly parked is reported in a checkpoint too, so that a
 *      sleep or a retry is timed from now on.
 * PASS-17. No body starts while a wait for an event or a signal that was found before it is not stored: what the body sends
 *      may be what is waited for.
 * PASS-2. At most one checkpoint is unanswered; what finishes meanwhile goes into the next one, in the order of finishing.
 * PASS-3. Without looking ahead a step settles only after the checkpoint that carries it was stored.
 * PASS-4. The pass ends with all parked ops when nothing runs, nothing is unanswered or unsent, and it is quiet.
 * PASS-5. A stale answer, or `stop`, ends it without a reply, once no body runs any more.
 * PASS-6. After an invalid answer nothing starts and nothing is checkpointed; the reply carries what finished.
 * PASS-7. The handler's value or final failure ends it at once. A failure that will be tried again, or after which steps
 *      are undone, waits for the bodies that run and for their checkpoints: the next pass must not run them a second
 *      time. So does a value as long as steps are unfinished that were never awaited; if such a step is parked, the parked
 *      ops end the pass instead of the value.
 * Looking ahead (`lookahead` agreed on as well, and the work not lost before):
 * PASS-12. A result that was quick to have settles its step at once, if all before it are settled and nothing on record is
 *      left that a replay would settle first; but a body starts only when every result is stored that the handler had been given when it asked
 *      for the step.
 * PASS-13. Results that are not stored go with the reply that ends the pass; those on their way are repeated in it. The end
 *      waits only for what is too large for that.
 * PASS-14. A result is held back for the reply until the end of the turn; while bodies run or are held it then goes into a
 *      checkpoint, and so it does while the handler is at work. If only waits are left the end of the pass takes it.
 * Told of what ends elsewhere (`results` agreed on as well):
 * PASS-16. A wait that the gateway has ended settles in the order in which that is heard: at once if all results before it
 *      have settled, else after them. It is not reported any more, and counts as stored when all before it are.
 * PASS-15. After a stale answer or `stop` nothing that was held starts, and no reply is sent: what follows from a result
 *      that was not stored has no effect.
 * Plain:
 * PASS-8. When it is quiet, a single new step with a body runs (unless planning is forced) and its op ends the pass;
 *      otherwise the ops of all new steps end it.
 * PASS-9. A handler that returns while new steps are unreported ends with their ops, unless they are only waits that lost
 *      a race: then the run need not last as long as they.
 * Targeted:
 * PASS-10. Exactly the step with the asked hash runs, and its op ends the pass; if it stays quiet without that step,
 *      the pass ends with an error.
 * All:
 * PASS-11. There is exactly one reply; after it no step starts and none settles.
 */

export const passStep: Step<PassState, PassEvent, PassEffect> = (state, event) => {
  switch (state.phase) {
    case "open":
      return openStep(state, event);
    case "stopping":
      return stoppingStep(state, event);
    case "ended":
      return [state, []];
    default:
      return unreachable(state);
  }
};

function openStep(state: OpenPass, event: PassEvent): Next<PassState, PassEffect> {
  const isInPlace = state.mode.type === "in-place";
  switch (event.type) {
    case "found":
      return found(state, event.step, event.due);
    case "finished":
      if (isInPlace) return finishInPlace(state, event.op, event.maySettle);
      return endWithOps({ ...state, running: state.running - 1 }, [event.op], []);
    case "failed": {
      const { op, final, retryAfter } = event;
      const report: StepReport = { type: "op", op, final, ...(retryAfter === undefined ? {} : { retryAfter }) };
      if (isInPlace) return failInPlace(state, report);
      return endWithOps({ ...state, running: state.running - 1 }, [], [report]);
    }
    case "ended":
      return isInPlace ? endWaitInPlace(state, event.hash) : [state, []];
    case "flush":
      return flush(state);
    case "answered":
      return answer(state, event.outcome);
    case "quiet":
      return event.serial === state.serial ? quiet(state) : [state, []];
    case "missing":
      if (event.serial !== state.serial || state.running > 0) return [state, []];
      return endPass(state, { type: "missing", found: stepsOf(toArray(state.reports)) });
    case "handler-ended":
      return handlerEnded(state, event.end);
    case "stop":
      return stopPass(state);
    default:
      return unreachable(event);
  }
}

function stoppingStep(state: PassState & { phase: "stopping" }, event: PassEvent): Next<PassState, PassEffect> {
  if (event.type !== "finished" && event.type !== "failed") return [state, []];
  const running = state.running - 1;
  return running > 0 ? [{ ...state, running }, []] : [{ phase: "ended" }, [{ do: "reply", reply: { type: "stale" } }]];
}

function found(state: OpenPass, step: FoundStep, due: boolean): Next<PassState, PassEffect> {
  const { mode } = state;
  if (mode.type === "in-place") return findInPlace(state, step, due);
  const serial = state.serial + 1;
  const report = (): OpenPass => ({ ...state, serial, reports: push(state.reports, { type: "step", step }) });
  switch (mode.type) {
    case "plain":
      return state.running > 0 ? [state, []] : [report(), [{ do: "watch", serial }]];
    case "targeted":
      if (state.running > 0) return [state, []];
      if (step.hash !== mode.hash) return [report(), [{ do: "watch", serial }]];
      if (!step.hasBody) return endWithOps(state, [], [{ type: "step", step }]);
      return [{ ...state, serial, running: state.running + 1 }, [{ do: "start", step }]];
    default:
      return unreachable(mode);
  }
}

function quiet(state: OpenPass): Next<PassState, PassEffect> {
  if (state.running > 0) return [state, []];
  const { mode } = state;
  switch (mode.type) {
    case "in-place":
      return quietInPlace(state);
    case "plain": {
      const first = state.reports?.last;
      const alone = listLength(state.reports) === 1 && first?.type === "step" && first.step.hasBody;
      if (!alone || mode.planOnly) return endWithOps(state, [], toArray(state.reports));
      return [{ ...state, running: 1 }, [{ do: "start", step: first.step }]];
    }
    case "targeted":
      return [state, [{ do: "watch-missing", serial: state.serial }]];
    default:
      return unreachable(mode);
  }
}

function handlerEnded(state: OpenPass, ended: HandlerEnd): Next<PassState, PassEffect> {
  if (state.ending !== null) return [state, []];
  if (state.mode.type === "in-place") return endInPlace(state, ended);
  // The op of the step that runs ends the pass; the next one meets the same end.
  if (state.running > 0) return [state, []];
  const reports = toArray(state.reports);
  const isLasting = state.mode.type === "plain" && ended.type === "returned" && reports.some(isWork);
  if (isLasting) return endWithOps(state, [], reports);
  if (ended.type === "op") return endWithOps(state, [], [{ type: "op", op: ended.op, final: ended.final }]);
  return isAwaited(ended, reports)
    ? endWithOps(state, [], reports)
    : endPass(state, { type: "end", end: ended, results: [], position: state.stored });
}

function isWork(report: StepReport): boolean {
  return report.type === "op" || report.step.isWait !== true;
}

function stepsOf(reports: readonly StepReport[]): FoundStep[] {
  return reports.flatMap((report) => (report.type === "step" ? [report.step] : []));
}
