/**
 * The rules of a pass that goes on in place, over checkpoints: PASS-1 to PASS-7 and PASS-12 to PASS-17 of
 * `pass-machine.ts`, which hands its events on to here. See docs/decisions/0060 for looking ahead.
 */
import { type Next, unreachable } from "@holdfast/core";
import type { CheckpointOutcome } from "@holdfast/protocol";
import { type AppendList, concat, listLength, push, toArray } from "./append-list.ts";
import { copyOf, type NextOpenPass } from "./open-pass.ts";
import { endPass, endWithOps, isAwaited, stopPass } from "./pass-ends.ts";
import type {
  FoundStep,
  HandlerEnd,
  HeldStep,
  OpenPass,
  OpText,
  PassEffect,
  PassState,
  StepReport,
} from "./pass-types.ts";

type NextPass = Next<PassState, PassEffect>;

const NOTHING: readonly PassEffect[] = [];
const NO_OPS: readonly OpText[] = [];
const NO_REPORTS: readonly StepReport[] = [];
const FLUSH_SOON: readonly PassEffect[] = [{ do: "flush-soon" }];

/** So that a checkpoint or reply fits a frame with room to spare; one result alone may be a little larger. */
export const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** What is on its way already goes with the end a second time, rather than let the end wait, up to this. */
export const MAX_REPEATED_BYTES = 64 * 1024;

export function findInPlace(before: OpenPass, step: FoundStep, due: boolean): NextPass {
  if (before.ending !== null) return [before, []];
  const state = copyOf(before);
  state.serial += 1;
  if (!step.hasBody) return proceed(park(state, { type: "step", step }));
  // A failed step that is not due was reported when it failed.
  if (!due || state.refused) return proceed(plan(state, step));
  if (state.seen === state.stored && state.unstoredWaits === 0) return startNow(state, step);
  state.held = push(state.held, { step, seen: state.seen });
  return proceed(state);
}

function startNow(state: NextOpenPass, step: FoundStep): NextPass {
  state.running += 1;
  // What was parked before it is to be reported now that a body runs.
  const [next, effects] = proceed(state);
  return [next, joined([{ do: "start", step }], effects)];
}

export function finishInPlace(before: OpenPass, op: OpText, maySettle: boolean): NextPass {
  const settles = maySettle && looksAhead(before) && isAllSeen(before);
  const state = copyOf(before);
  state.running -= 1;
  state.unsent = push(before.unsent, op);
  state.serial += 1;
  if (settles) state.seen += 1;
  if (!settles) return proceed(state);
  const [next, effects] = proceed(state);
  return [next, joined([{ do: "settle", ops: [op] }], effects)];
}

export function failInPlace(before: OpenPass, report: StepReport): NextPass {
  return proceed({ ...park(before, report), running: before.running - 1, serial: before.serial + 1 });
}

/** `hash` is a wait of this pass, which the gateway has ended. */
export function endWaitInPlace(before: OpenPass, hash: string): NextPass {
  if (before.ending !== null) return [before, NOTHING];
  const settles = isAllSeen(before);
  const state = copyOf(before);
  const ended: OpText = { hash, text: "", bytes: 0 };
  state.serial += 1;
  state.reports = without(before.reports, hash);
  state.untold = without(before.untold, hash);
  if (state.untold !== before.untold) state.unstoredWaits -= listeningIn(toArray(before.untold), hash);
  if (before.unsent === null && before.unanswered === null) state.stored += 1;
  else state.unsent = push(before.unsent, ended);
  if (settles) state.seen += 1;
  const begun = begin(state);
  const [next, others] = proceed(state);
  const effects = joined(begun, others);
  return settles ? [next, joined([{ do: "settle", ops: [ended] }], effects)] : [next, effects];
}

/** Starts the held steps that need not wait any more. */
function begin(state: NextOpenPass): readonly PassEffect[] {
  if (state.held === null || state.unstoredWaits > 0) return NOTHING;
  const held = toArray(state.held);
  const isDue = ({ seen }: HeldStep): boolean => seen <= state.stored;
  const starts = held.every(isDue) ? held : held.filter(isDue);
  state.running += starts.length;
  state.held = starts.length === held.length ? null : concat<HeldStep>(null, held.slice(starts.length));
  return starts.map(({ step }) => ({ do: "start", step }));
}

export function flush(before: OpenPass): NextPass {
  const state = copyOf(before);
  state.flushing = false;
  const { unanswered, refused, running, held, untold } = state;
  if (unanswered !== null || refused || !hasNews(state)) return proceed(state);
  if (isHeldBackForEnd(state)) return [state, [{ do: "watch", serial: state.serial }]];
  const all = toArray(state.unsent);
  const count = batchSize(all);
  const isWhole = count === all.length;
  const ops = isWhole ? all : all.slice(0, count);
  const parked = untold !== null && (running > 0 || held !== null) ? toArray(untold) : NO_REPORTS;
  state.unsent = isWhole ? null : concat(null, all.slice(count));
  const position = state.stored;
  state.unanswered = { ops, position, parked };
  if (parked.length > 0) state.untold = null;
  return [state, [{ do: "checkpoint", ops, position, parked }]];
}

export function answer(state: OpenPass, outcome: CheckpointOutcome): NextPass {
  const ops = state.unanswered?.ops ?? [];
  const serial = state.serial + 1;
  switch (outcome) {
    case "stored":
      return stored(state, ops);
    case "stale":
      return stopPass(state);
    case "invalid": {
      const unsent = concat(concat(null, ops), toArray(state.unsent));
      const refused: OpenPass = { ...state, serial, refused: true, unanswered: null, unsent, held: null };
      const held = toArray(state.held);
      return proceed(held.reduce<OpenPass>((planned, { step }) => plan(planned, step), refused));
    }
    default:
      return unreachable(outcome);
  }
}

export function quietInPlace(state: OpenPass): NextPass {
  const isIdle = state.running === 0 && state.held === null && state.unanswered === null && !state.flushing;
  if (!isIdle) return [state, NOTHING];
  if (state.unsent === null || state.refused || !isAllSeen(state)) return endWithAll(state);
  return endPass(state, {
    type: "ops",
    finished: toArray(state.unsent),
    position: state.stored,
    reports: toArray(state.reports),
    isSeen: true,
  });
}

export function endInPlace(state: OpenPass, ended: HandlerEnd): NextPass {
  const ending = { ...state, ending: ended, held: heldFor(ended, state.held) };
  if (looksAhead(state) || waitsForBodies(ended)) return proceed(ending);
  return endAs(ending, ended, []);
}

function looksAhead({ mode }: OpenPass): boolean {
  return mode.type === "in-place" && mode.looksAhead;
}

/** Nothing that has finished waits to be given to the handler. */
function isAllSeen({ seen, stored: count, unanswered, unsent }: OpenPass): boolean {
  return seen === count + (unanswered?.ops.length ?? 0) + listLength(unsent);
}

function stored(state: OpenPass, answered: readonly OpText[]): NextPass {
  const left = toArray(state.unsent);
  const ends = left.findIndex(isOwn);
  // What the gateway itself has ended is stored with what was before it.
  const ops =
    left.length === 0 || ends === 0 ? answered : [...answered, ...left.splice(0, ends < 0 ? left.length : ends)];
  const count = state.stored + ops.length;
  const unseen = state.seen >= count ? NO_OPS : ops.slice(Math.max(0, state.seen - state.stored));
  const after = copyOf(state);
  after.serial += 1;
  if (ops !== answered) after.unsent = concat(null, left);
  after.unanswered = null;
  if (state.unanswered !== null) after.unstoredWaits -= listeningIn(state.unanswered.parked);
  after.seen = Math.max(state.seen, count);
  after.stored = count;
  const begun = begin(after);
  const [next, others] = proceed(after);
  const settled: readonly PassEffect[] = unseen.length > 0 ? [{ do: "settle", ops: unseen }] : NOTHING;
  return [next, joined(settled, joined(begun, others))];
}

/** After something changed: send what finished, end what has ended, or watch for the end. `state` is known to no one else. */
function proceed(state: NextOpenPass): NextPass {
  const { unsent, unanswered, running, held, ending, reports, refused } = state;
  const isOver = ending !== null && held === null && (running === 0 || !waitsForBodies(ending));
  if (isOver && looksAhead(state)) {
    const results = resultsForEnd(state, ending);
    if (results !== null) return endAs(state, ending, results);
  }
  if (unanswered !== null) return [state, NOTHING];
  if (hasNews(state) && !refused) {
    if (state.flushing) return [state, NOTHING];
    state.flushing = true;
    return [state, FLUSH_SOON];
  }
  if (isOver && unsent === null) return endAs(state, ending, []);
  if (running > 0 || held !== null) return [state, NOTHING];
  if (isOver) return endWithAll(state);
  if (unsent === null && reports === null) return [state, NOTHING];
  return [state, [{ do: "watch", serial: state.serial }]];
}

/** Mostly one of the two is empty. */
function joined(effects: readonly PassEffect[], more: readonly PassEffect[]): readonly PassEffect[] {
  if (more.length === 0) return effects;
  return effects.length === 0 ? more : [...effects, ...more];
}

/** What a checkpoint would carry now. */
function hasNews({ unsent, untold, running, held }: OpenPass): boolean {
  return unsent !== null || (untold !== null && (running > 0 || held !== null));
}

/** Nothing is left but waits, so the end of the pass is near, and takes everything with it. */
function isHeldBackForEnd(state: OpenPass): boolean {
  const { running, held, ending, reports, unsent } = state;
  if (!looksAhead(state) || running > 0 || held !== null || ending !== null || reports === null) return false;
  const ops = toArray(unsent);
  return isAllSeen(state) && batchSize(ops) === ops.length;
}

/**
 * The results that go with the end, those on their way included; null: the end waits until they are stored, since they
 * are too large, or since a checkpoint that no reply repeats is on its way.
 */
function resultsForEnd({ unanswered, unsent, reports }: OpenPass, ending: HandlerEnd): readonly OpText[] | null {
  const sent = unanswered?.ops ?? [];
  if (unanswered !== null) {
    const isRepeatable = unanswered.parked.length === 0 || !waitsForBodies(ending);
    if (!isRepeatable || isAwaited(ending, toArray(reports)) || bytesOf(sent) > MAX_REPEATED_BYTES) return null;
  }
  const results = [...sent, ...toArray(unsent)];
  // At most three bytes for each unit of the text.
  const endBytes = ending.type === "op" ? ending.op.bytes : 3 * ending.body.length;
  return results.length === 0 || bytesOf(results) + endBytes <= MAX_BATCH_BYTES ? results : null;
}

/** Of the steps that have not begun only those that belong to the run, although they were never awaited, do so after its end. */
function heldFor(ended: HandlerEnd, held: AppendList<HeldStep>): AppendList<HeldStep> {
  const awaits = ended.type === "returned" ? ended.awaits : undefined;
  return awaits === undefined
    ? null
    : concat(
        null,
        toArray(held).filter(({ step }) => awaits.has(step.hash)),
      );
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

function endAs(state: OpenPass, ended: HandlerEnd, results: readonly OpText[]): NextPass {
  if (ended.type === "op") return endWithOps(state, results, [{ type: "op", op: ended.op, final: ended.final }]);
  return isAwaited(ended, toArray(state.reports))
    ? endWithAll(state)
    : endPass(state, { type: "end", end: ended, results, position: state.stored });
}

function endWithAll(state: OpenPass): NextPass {
  const finished = toArray(state.unsent);
  return endWithOps(state, finished.slice(0, batchSize(finished)), toArray(state.reports));
}

/** A result of a body of this pass. */
const isOwn = ({ text }: OpText): boolean => text !== "";

/** How many are waits for events or signals; with a hash: of this step. */
function listeningIn(reports: readonly StepReport[], hash?: string): number {
  let count = 0;
  for (const report of reports) if (listens(report) && (hash === undefined || report.step.hash === hash)) count += 1;
  return count;
}

const listens = (report: StepReport): report is Extract<StepReport, { type: "step" }> =>
  report.type === "step" && report.step.listens === true;

function without(reports: AppendList<StepReport>, hash: string): AppendList<StepReport> {
  const isIt = (report: StepReport): boolean => report.type === "step" && report.step.hash === hash;
  const all = toArray(reports);
  return all.some(isIt)
    ? concat(
        null,
        all.filter((report) => !isIt(report)),
      )
    : reports;
}

function plan(state: OpenPass, step: FoundStep): OpenPass {
  return { ...state, reports: push(state.reports, { type: "step", step }) };
}

function park(state: OpenPass, report: StepReport): OpenPass {
  const unstoredWaits = state.unstoredWaits + (listens(report) ? 1 : 0);
  return { ...state, reports: push(state.reports, report), untold: push(state.untold, report), unstoredWaits };
}

function bytesOf(ops: readonly OpText[]): number {
  return ops.reduce((sum, { bytes }) => sum + bytes, 0);
}

function batchSize(ops: readonly OpText[]): number {
  let [bytes, count] = [0, 0];
  for (const op of ops) {
    bytes += op.bytes;
    if (count > 0 && bytes > MAX_BATCH_BYTES) return count;
    count += 1;
  }
  return count;
}
