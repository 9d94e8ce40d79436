/**
 * The rules of a pass as a pure machine: which steps run, what is reported, when the pass ends.
 * `../execution/pass.ts` drives it.
 */
import { type Next, type Step, unreachable } from "@holdfast/core";
import type { CheckpointOutcome } from "@holdfast/protocol";
import { type AppendList, concat, listLength, push, toArray } from "./append-list.ts";

/**
 * One pass over a handler: which found steps run, what is reported and when the pass ends. Steps that are finished
 * from earlier passes never come here.
 *
 * In place (`checkpoint` agreed on):
 * PASS-1. A found step that has a body and is due starts at once; others are parked and reported when the pass ends. While
 *      bodies run, what was newly parked is reported in a checkpoint too, so that a sleep or a retry is timed from now
 *      on.
 * PASS-2. At most one checkpoint is unanswered; what finishes meanwhile goes into the next one, in the order of finishing.
 * PASS-3. A step settles only after the checkpoint that carries it was stored.
 * PASS-4. The pass ends with all parked ops when nothing runs, nothing is unanswered or unsent, and it is quiet.
 * PASS-5. A stale answer, or `stop`, ends it without a reply, once no body runs any more.
 * PASS-6. After an invalid answer nothing starts and nothing is checkpointed; the reply carries what finished.
 * PASS-7. The handler's value or final failure ends it at once. A failure that will be tried again, or after which steps
 *      are undone, waits for the bodies that run and for their checkpoints: the next pass must not run them a second
 *      time. So does a value as long as steps are unfinished that were never awaited; if such a step is parked, the parked
 *      ops end the pass instead of the value.
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

export interface FoundStep {
  readonly hash: string;
  /** False for sleeps and the like: they are reported, never run. */
  readonly hasBody: boolean;
  /** A sleep, or a wait for an event or signal: it does nothing but end. */
  readonly isWait?: boolean;
}

/** A step's result as it goes over the wire: JSON text of one op. */
export interface OpText {
  readonly hash: string;
  readonly text: string;
  readonly bytes: number;
}

export type StepReport =
  | { readonly type: "step"; readonly step: FoundStep }
  | { readonly type: "op"; readonly op: OpText; readonly final: boolean; readonly retryAfter?: string };

export type HandlerEnd =
  /** `awaits`: hashes of steps that belong to the run although they were never awaited. */
  | { readonly type: "returned"; readonly body: string; readonly awaits?: ReadonlySet<string> }
  | { readonly type: "failed"; readonly body: string; readonly final: boolean; readonly retryAfter?: string }
  /** The last item to be reported is a step's op. */
  | { readonly type: "op"; readonly op: OpText; readonly final: boolean };

export type PassReply =
  | { readonly type: "end"; readonly end: Exclude<HandlerEnd, { type: "op" }> }
  | { readonly type: "ops"; readonly finished: readonly OpText[]; readonly reports: readonly StepReport[] }
  | { readonly type: "missing"; readonly found: readonly FoundStep[] }
  | { readonly type: "stale" };

export type PassMode =
  | { readonly type: "in-place" }
  | { readonly type: "plain"; readonly planOnly: boolean }
  | { readonly type: "targeted"; readonly hash: string };

interface OpenPass {
  readonly phase: "open";
  readonly mode: PassMode;
  readonly running: number;
  readonly unsent: AppendList<OpText>;
  readonly unanswered: readonly OpText[] | null;
  readonly reports: AppendList<StepReport>;
  /** Those of `reports` that no checkpoint has contained. */
  readonly untold: AppendList<StepReport>;
  /** A flush was asked for and has not come yet. */
  readonly flushing: boolean;
  /** The gateway does not take checkpoints of this pass. */
  readonly refused: boolean;
  /** The end that waits for running bodies. */
  readonly ending: HandlerEnd | null;
  /** Rises with everything new; a `quiet` with an older one says nothing. */
  readonly serial: number;
}

export type PassState =
  | OpenPass
  | { readonly phase: "stopping"; readonly running: number }
  | { readonly phase: "ended" };

export type PassEvent =
  /** `due` is false for a failed step whose next attempt is not due yet. */
  | { readonly type: "found"; readonly step: FoundStep; readonly due: boolean }
  | { readonly type: "finished"; readonly op: OpText }
  | { readonly type: "failed"; readonly op: OpText; readonly final: boolean; readonly retryAfter?: string }
  | { readonly type: "flush" }
  | { readonly type: "answered"; readonly outcome: CheckpointOutcome }
  | { readonly type: "quiet"; readonly serial: number }
  | { readonly type: "missing"; readonly serial: number }
  | { readonly type: "handler-ended"; readonly end: HandlerEnd }
  | { readonly type: "stop" };

export type PassEffect =
  | { readonly do: "start"; readonly step: FoundStep }
  /** Send `flush` once the microtasks that are due now have run. */
  | { readonly do: "flush-soon" }
  | { readonly do: "checkpoint"; readonly ops: readonly OpText[]; readonly parked: readonly StepReport[] }
  | { readonly do: "settle"; readonly ops: readonly OpText[] }
  /** Send `quiet` with this serial when nothing new has come for two turns of the event loop. */
  | { readonly do: "watch"; readonly serial: number }
  /** Send `missing` with this serial after a grace. */
  | { readonly do: "watch-missing"; readonly serial: number }
  /** Abort code that still runs: its result is no longer needed. */
  | { readonly do: "abort" }
  | { readonly do: "reply"; readonly reply: PassReply };

/** So that a checkpoint or reply fits a frame with room to spare; one result alone may be a little larger. */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;

export function initialPass(mode: PassMode): PassState {
  return {
    phase: "open",
    mode,
    running: 0,
    unsent: null,
    unanswered: null,
    reports: null,
    untold: null,
    flushing: false,
    refused: false,
    ending: null,
    serial: 0,
  };
}

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
  switch (event.type) {
    case "found":
      return found(state, event.step, event.due);
    case "finished": {
      const next = { ...state, running: state.running - 1 };
      if (state.mode.type !== "in-place") return endWithOps(next, [event.op], []);
      return proceed({ ...next, unsent: push(state.unsent, event.op), serial: state.serial + 1 });
    }
    case "failed": {
      const { op, final, retryAfter } = event;
      const report: StepReport = { type: "op", op, final, ...(retryAfter === undefined ? {} : { retryAfter }) };
      const next = { ...state, running: state.running - 1 };
      if (state.mode.type !== "in-place") return endWithOps(next, [], [report]);
      return proceed({ ...park(next, report), serial: state.serial + 1 });
    }
    case "flush":
      return flush({ ...state, flushing: false });
    case "answered":
      return answered(state, event.outcome);
    case "quiet":
      return event.serial === state.serial ? quiet(state) : [state, []];
    case "missing":
      if (event.serial !== state.serial || state.running > 0) return [state, []];
      return end(state, { type: "missing", found: stepsOf(toArray(state.reports)) });
    case "handler-ended":
      return handlerEnded(state, event.end);
    case "stop":
      return stop(state);
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
  const serial = state.serial + 1;
  const start = (): Next<PassState, PassEffect> => [
    { ...state, serial, running: state.running + 1 },
    [{ do: "start", step }],
  ];
  const report = (): OpenPass => ({ ...state, serial, reports: push(state.reports, { type: "step", step }) });
  switch (mode.type) {
    case "in-place":
      if (state.ending !== null) return [state, []];
      if (step.hasBody && due && !state.refused) return start();
      // A failed step that is not due was reported when it failed.
      return proceed(step.hasBody ? report() : { ...park(state, { type: "step", step }), serial });
    case "plain":
      return state.running > 0 ? [state, []] : [report(), [{ do: "watch", serial }]];
    case "targeted":
      if (state.running > 0) return [state, []];
      if (step.hash !== mode.hash) return [report(), [{ do: "watch", serial }]];
      return step.hasBody ? start() : endWithOps(state, [], [{ type: "step", step }]);
    default:
      return unreachable(mode);
  }
}

function park(state: OpenPass, report: StepReport): OpenPass {
  return { ...state, reports: push(state.reports, report), untold: push(state.untold, report) };
}

/** What a checkpoint would carry now. */
function hasNews({ unsent, untold, running }: OpenPass): boolean {
  return unsent !== null || (untold !== null && running > 0);
}

/** In place, after something changed: send what finished, end a failure that waited, or watch for the end. */
function proceed(state: OpenPass): Next<PassState, PassEffect> {
  const { unsent, unanswered, running, ending, reports, refused } = state;
  if (unanswered !== null) return [state, []];
  if (hasNews(state) && !refused) {
    return state.flushing ? [state, []] : [{ ...state, flushing: true }, [{ do: "flush-soon" }]];
  }
  if (running > 0) return [state, []];
  if (ending !== null) return unsent === null ? endAs(state, ending) : endWithAll(state);
  if (unsent === null && reports === null) return [state, []];
  return [state, [{ do: "watch", serial: state.serial }]];
}

function flush(state: OpenPass): Next<PassState, PassEffect> {
  if (state.unanswered !== null || state.refused || !hasNews(state)) return proceed(state);
  const all = toArray(state.unsent);
  const count = batchSize(all);
  const ops = all.slice(0, count);
  const parked = state.running > 0 ? toArray(state.untold) : [];
  const next = { ...state, unsent: concat(null, all.slice(count)), unanswered: ops };
  return [parked.length > 0 ? { ...next, untold: null } : next, [{ do: "checkpoint", ops, parked }]];
}

function answered(state: OpenPass, outcome: CheckpointOutcome): Next<PassState, PassEffect> {
  const ops = state.unanswered ?? [];
  const serial = state.serial + 1;
  switch (outcome) {
    case "stored": {
      const [next, effects] = proceed({ ...state, serial, unanswered: null });
      return [next, [{ do: "settle", ops }, ...effects]];
    }
    case "stale":
      return stop(state);
    case "invalid": {
      const unsent = concat(concat(null, ops), toArray(state.unsent));
      return proceed({ ...state, serial, refused: true, unanswered: null, unsent });
    }
    default:
      return unreachable(outcome);
  }
}

function quiet(state: OpenPass): Next<PassState, PassEffect> {
  if (state.running > 0) return [state, []];
  const { mode } = state;
  switch (mode.type) {
    case "in-place":
      return state.unanswered === null && !state.flushing ? endWithAll(state) : [state, []];
    case "plain": {
      const first = state.reports?.last;
      const alone = listLength(state.reports) === 1 && first?.type === "step" && first.step.hasBody;
      if (!alone || mode.planOnly) return endWithAll(state);
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
  if (state.mode.type === "in-place") {
    return waitsForBodies(ended) ? proceed({ ...state, ending: ended }) : endAs(state, ended);
  }
  // The op of the step that runs ends the pass; the next one meets the same end.
  if (state.running > 0) return [state, []];
  const isLasting = state.mode.type === "plain" && ended.type === "returned" && toArray(state.reports).some(isWork);
  return isLasting ? endWithAll(state) : endAs(state, ended);
}

function isWork(report: StepReport): boolean {
  return report.type === "op" || report.step.isWait !== true;
}

function waitsForBodies(ended: HandlerEnd): boolean {
  switch (ended.type) {
    case "returned":
      return ended.awaits !== undefined;
    case "failed":
      return !ended.final;
    case "op":
      return true;
    default:
      return unreachable(ended);
  }
}

function endAs(state: OpenPass, ended: HandlerEnd): Next<PassState, PassEffect> {
  if (ended.type === "op") return endWithOps(state, [], [{ type: "op", op: ended.op, final: ended.final }]);
  const awaits = ended.type === "returned" ? ended.awaits : undefined;
  const isParked = awaits !== undefined && toArray(state.reports).some((report) => awaits.has(hashOf(report)));
  return isParked ? endWithAll(state) : end(state, { type: "end", end: ended });
}

function hashOf(report: StepReport): string {
  return report.type === "op" ? report.op.hash : report.step.hash;
}

function stop(state: OpenPass): Next<PassState, PassEffect> {
  if (state.running === 0) return end(state, { type: "stale" });
  return [{ phase: "stopping", running: state.running }, [{ do: "abort" }]];
}

function endWithAll(state: OpenPass): Next<PassState, PassEffect> {
  const finished = toArray(state.unsent);
  return endWithOps(state, finished.slice(0, batchSize(finished)), toArray(state.reports));
}

function endWithOps(
  state: OpenPass,
  finished: readonly OpText[],
  reports: readonly StepReport[],
): Next<PassState, PassEffect> {
  return end(state, { type: "ops", finished, reports });
}

function end(state: OpenPass, reply: PassReply): Next<PassState, PassEffect> {
  const aborts = state.running > 0 || reply.type === "stale";
  return [{ phase: "ended" }, [...(aborts ? [{ do: "abort" } as const] : []), { do: "reply", reply }]];
}

function batchSize(ops: readonly OpText[]): number {
  let bytes = 0;
  for (const [index, op] of ops.entries()) {
    bytes += op.bytes;
    if (index > 0 && bytes > MAX_BATCH_BYTES) return index;
  }
  return ops.length;
}

function stepsOf(reports: readonly StepReport[]): FoundStep[] {
  return reports.flatMap((report) => (report.type === "step" ? [report.step] : []));
}
