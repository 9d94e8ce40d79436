/** Begins waits: sleeps, events, signals, invocations, HTTP calls. What cannot be waited for fails the step. */
import { type ErrorCode, parseGoDurationMs, plainError, unreachable } from "@holdfast/core";
import { isRecord, type Op, WIRE_LIMITS } from "@holdfast/protocol";
import { environmentOf, type NewWait, qualify } from "@holdfast/store";

import { type Due, parseDue } from "../parse-due.ts";
import { type OpenMeta, stepFailedRow, stepMeta } from "../run/log-rows.ts";
import { jobKey } from "../run/run-state.ts";
import { isStorableName, nameOf, type ParkedOpName } from "../run/step-ops.ts";
import { type Draft, dispatch, isSettled, lookForEarlier, open, openStep, settle } from "./draft.ts";
import { invokedEvent } from "./internal-events.ts";

const { maxEventNameLength: MAX_EVENT, maxSignalLength: MAX_SIGNAL } = WIRE_LIMITS;

/** How long an invocation is waited for that names no timeout: a year. */
const INVOKE_TIMEOUT = "8760h";

/**
 * A step begins to wait, once. True when it ended at once instead (it cannot work) and the run should make a pass for
 * it.
 */
export function park(draft: Draft, op: Op, name: ParkedOpName): boolean {
  if (isSettled(draft, op.id) || openStep(draft, op.id)?.phase === "waiting") return false;
  // Planned as a step with a body: a worker is at it.
  if (draft.jobs.has(jobKey("step", op.id))) return false;
  switch (name) {
    case "Sleep":
      return waitUntil(draft, op, op.name ?? "", undefined);
    case "WaitForEvent":
      return waitForEvent(draft, op);
    case "WaitForSignal":
      return waitForSignal(draft, op);
    case "InvokeFunction":
      return invoke(draft, op);
    case "Gateway":
    case "AIGateway":
      open(draft, "STEP_WAITING", op.id, { ...metaOf(op), call: { ...op.opts } });
      dispatch(draft, { kind: "fetch", key: op.id, attempt: 0 });
      return false;
    default:
      return unreachable(name);
  }
}

function waitForEvent(draft: Draft, op: Op): boolean {
  const name = op.name ?? optionText(op, "event");
  if (name === undefined || name === "") return failed(draft, op, "OP_INVALID", "waits for an event without a name");
  if (!isStorableName(name, MAX_EVENT)) return unstorable(draft, op, "an event", MAX_EVENT);
  const same = optionText(op, "match");
  const expression = optionText(op, "if") ?? (same ? `event.${same} == async.${same}` : undefined);
  const problem = expression === undefined ? null : draft.ctx.expressionProblem(expression);
  if (problem !== null) return failed(draft, op, "EXPRESSION_INVALID", problem);
  const isSinceRun = optionText(op, "since") === "run";
  const wait: NonNullable<OpenMeta["wait"]> = {
    kind: "event",
    name,
    ...(expression === undefined ? {} : { expression }),
    ...(isSinceRun ? { since: "run" } : {}),
  };
  const { functionId, runId, eventText } = draft.state;
  const ofStep = () => ({ functionId, runId, place: `\`waitForEvent\` on "${name}"`, step: nameOf(op) });
  const match = expression === undefined ? "" : draft.ctx.waitMatch(expression, eventText, ofStep());
  const begins = waitUntil(draft, op, timeoutOf(op), wait, { match });
  if (isSinceRun && draft.waits.has(op.id)) lookForEarlier(draft, op.id);
  return begins;
}

function waitForSignal(draft: Draft, op: Op): boolean {
  const name = optionText(op, "signal") ?? op.name;
  if (name === undefined || name === "") return failed(draft, op, "OP_INVALID", "waits for a signal without a name");
  if (!isStorableName(name, MAX_SIGNAL)) return unstorable(draft, op, "a signal", MAX_SIGNAL);
  const replaces = op.opts?.conflict === "replace";
  const qualified = qualify(environmentOf(draft.state.functionId), name);
  const own = draft.addedWaits.findIndex((wait) => wait.kind === "signal" && wait.name === qualified);
  if (!replaces && (own >= 0 || draft.ctx.isSignalTaken(qualified))) {
    const who = own >= 0 ? "another step of this run is waiting" : "another step or run is waiting";
    return failed(draft, op, "SIGNAL_CONFLICT", `waits for the signal "${name}", for which ${who} already`);
  }
  // As when another run takes the place: the step before waits on for its timeout alone.
  if (own >= 0) draft.addedWaits.splice(own, 1);
  return waitUntil(draft, op, timeoutOf(op), { kind: "signal", name }, { conflict: replaces ? "replace" : "fail" });
}

function invoke(draft: Draft, op: Op): boolean {
  const { ctx, state } = draft;
  const slug = optionText(op, "function_id") ?? "";
  const functionId = qualify(environmentOf(state.functionId), slug);
  if (!ctx.hasFunction(functionId)) {
    draft.unknownFunctions.push(functionId);
    return failed(draft, op, "FUNCTION_UNKNOWN", `invokes "${slug}", a function that no app has registered`);
  }
  const timeout = optionText(op, "timeout") ?? INVOKE_TIMEOUT;
  const due = parseDue(timeout, ctx.nowMs);
  if (!due) return notADuration(draft, op, timeout);
  const runId = ctx.newId();
  const payload = isRecord(op.opts?.payload) ? op.opts.payload : {};
  const event = invokedEvent(ctx, { state, stepId: op.id, functionId, runId, payload, expiresMs: instantOf(due, ctx) });
  draft.events.push(event);
  return waitUntil(draft, op, timeout, { kind: "invoke", name: runId });
}

function waitUntil(
  draft: Draft,
  op: Op,
  text: string,
  wait: OpenMeta["wait"],
  more: Pick<NewWait, "conflict" | "match"> = {},
): boolean {
  const due = parseDue(text, draft.ctx.nowMs);
  if (!due) return notADuration(draft, op, text);
  open(draft, "STEP_WAITING", op.id, { ...metaOf(op), ...due, ...(wait ? { wait } : {}) });
  dispatch(draft, { kind: "timer", key: op.id, attempt: 0, ...due });
  if (!wait) return false;
  const expiresInMs = instantOf(due, draft.ctx) - draft.ctx.nowMs;
  // The log has what people call it; what comes is looked up in the run's environment. Ids of runs are in none.
  const name = wait.kind === "invoke" ? wait.name : qualify(environmentOf(draft.state.functionId), wait.name);
  const { since: _, ...kept } = wait;
  draft.addedWaits.push({ runId: draft.state.runId, key: op.id, ...kept, name, expiresInMs, ...more });
  draft.waits.add(op.id);
  return false;
}

/** The step fails, so that it is on record which one waits for too long, and the handler may catch it. */
function notADuration(draft: Draft, op: Op, text: string): boolean {
  const isReadable = parseGoDurationMs(text) !== undefined || !Number.isNaN(Date.parse(text));
  const problem = isReadable
    ? "which is more than 366 days ahead, the longest wait; wait again after a shorter one"
    : "which is neither a duration nor an instant";
  return failed(draft, op, "OP_INVALID", `waits for ${JSON.stringify(text)}, ${problem}`);
}

function unstorable(draft: Draft, op: Op, what: string, maxLength: number): boolean {
  return failed(
    draft,
    op,
    "OP_INVALID",
    `waits for ${what} whose name has more than ${maxLength} characters, a NUL, or half of a surrogate pair`,
  );
}

/** The step fails permanently; the handler may catch it. */
function failed(draft: Draft, op: Op, code: ErrorCode, what: string): boolean {
  const message = /^The /.test(what) ? what : `Step "${nameOf(op) ?? op.id}" ${what}.`;
  return settle(draft, op.id, stepFailedRow(op.id, stepMeta(op, 0), plainError(code, message)));
}

function metaOf(op: Op): OpenMeta {
  const name = nameOf(op);
  const undo = optionText(op, "undoStep");
  return {
    op: op.op,
    ...(name === undefined ? {} : { name }),
    ...(op.opts?.parallelMode === "race" ? { race: true as const } : {}),
    ...(op.ordinal === undefined ? {} : { ordinal: op.ordinal }),
    ...(undo === undefined ? {} : { undo }),
  };
}

/** Without a timeout a wait is as long as waits may be. */
const timeoutOf = (op: Op): string => optionText(op, "timeout") ?? "8784h";

function optionText(op: Op, name: string): string | undefined {
  const value = op.opts?.[name];
  return typeof value === "string" ? value : undefined;
}

function instantOf(due: Due, ctx: Draft["ctx"]): number {
  return Math.max(ctx.nowMs + (due.delayMs ?? 0), due.untilMs ?? 0);
}
