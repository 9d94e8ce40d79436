/**
 * The reply of a pass in the words of the protocol, base or extended. See docs/decisions/0033 for races on the base
 * protocol.
 */
import { unreachable } from "@holdfast/core";
import { encodeJsonBytes, HANDLER_END_ID, type OpName, sharableText } from "@holdfast/protocol";
import type { FoundStep, OpText, PassMode, PassReply, StepReport } from "../steps/pass-types.ts";
import { STEP_KINDS } from "../steps/step-kinds.ts";
import type { ExecutionResult, PassRequest } from "./execution.ts";
import { opsBytes } from "./op-bytes.ts";
import { placed } from "./op-text.ts";
import type { PassInput } from "./pass-input.ts";
import type { StepRecord } from "./step-record.ts";

interface ReplyContext {
  readonly request: PassRequest;
  readonly input: PassInput;
  readonly mode: PassMode;
}

type FindRecord = (hash: string) => StepRecord | undefined;

const MAX_LISTED_STEPS = 25;

/** A pass's reply as the protocol has it. */
export function resultOf(reply: PassReply, { request, input, mode }: ReplyContext, find: FindRecord): ExecutionResult {
  const { requestVersion } = input;
  switch (reply.type) {
    case "end":
      return reply.results.length === 0 && !continues(reply.end)
        ? endOf(reply.end, requestVersion)
        : endWithResults(reply, mode, requestVersion);
    case "ops": {
      const races = mode.type !== "in-place" && isRaced(reply.reports, find);
      const reported = inOrder(reply.reports, find).map((report) => textOf(report, find, races));
      const mark = reply.isSeen ? ',"seen":true}' : "}";
      const finished = resultsIn(mode, reply.finished, reply.position);
      const texts = [...finished.map(({ text }) => `${text.slice(0, -1)}${mark}`), ...reported];
      const only = texts.length === 1 ? reply.reports[0] : undefined;
      const retryAfter = only?.type === "op" && only.retryAfter !== undefined ? { retryAfter: only.retryAfter } : {};
      return {
        status: "NOT_COMPLETED",
        body: sharableText(`[${texts.join(",")}]`),
        noRetry: only?.type === "op" && only.final,
        requestVersion,
        ...retryAfter,
      };
    }
    case "missing": {
      const body = encodeJsonBytes(missingBody(request, reply.found, find));
      return { status: "ERROR", body, noRetry: false, requestVersion };
    }
    case "stale":
      return { status: "NOT_COMPLETED", body: sharableText("[]"), noRetry: false, requestVersion, stale: true };
    default:
      return unreachable(reply);
  }
}

const continues = (end: Extract<PassReply, { type: "end" }>["end"]): boolean =>
  end.type === "returned" && end.continues !== undefined;

function endOf(end: Extract<PassReply, { type: "end" }>["end"], requestVersion: number): ExecutionResult {
  const body = sharableText(end.body);
  if (end.type === "returned") return { status: "DONE", body, noRetry: false, requestVersion };
  const retryAfter = end.retryAfter === undefined ? {} : { retryAfter: end.retryAfter };
  return { status: end.final ? "DONE" : "ERROR", body, noRetry: end.final, requestVersion, ...retryAfter };
}

/** Results that are not stored, and the end as the last op: all of it is decided on at once. */
function endWithResults(
  { end, results, position }: Extract<PassReply, { type: "end" }>,
  mode: PassMode,
  requestVersion: number,
): ExecutionResult {
  const body = opsBytes(resultsIn(mode, results, position), [endOpText(end)]);
  return { status: "NOT_COMPLETED", body, noRetry: false, requestVersion };
}

const resultsIn = (mode: PassMode, ops: readonly OpText[], position: number): readonly OpText[] =>
  mode.type === "in-place" ? placed(ops, position) : ops;

function endOpText(end: Extract<PassReply, { type: "end" }>["end"]): string {
  const op = (name: OpName, rest: string): string => `{"id":"${HANDLER_END_ID}","op":"${name}",${rest}}`;
  if (end.type === "returned") {
    const next = end.continues === undefined ? "" : `"opts":{"continueAs":{"data":${end.continues}}},`;
    return op("RunComplete", `${next}"data":${end.body}`);
  }
  const retryAfter = end.retryAfter === undefined ? "" : `,"retryAfter":${JSON.stringify(end.retryAfter)}`;
  return op(end.final ? "StepFailed" : "StepError", `"error":${end.body}${retryAfter}`);
}

/** As the handler called the steps; which body ended first depends on time. */
function inOrder(reports: readonly StepReport[], find: FindRecord): readonly StepReport[] {
  if (reports.length < 2) return reports;
  const placeOf = (report: StepReport): number => {
    const hash = report.type === "op" ? report.op.hash : report.step.hash;
    return find(hash)?.place ?? Number.POSITIVE_INFINITY;
  };
  return [...reports].sort((one, other) => placeOf(one) - placeOf(other));
}

/** A parked step as the protocol has it. */
export function textOf(report: StepReport, find: FindRecord, races = false): string {
  return report.type === "op" ? report.op.text : (find(report.step.hash)?.ops.reported(races).text ?? '{"op":"None"}');
}

/**
 * The base protocol makes the next pass when all steps of a reply are done, unless they are marked as a race. Beside a wait
 * other steps must not wait for it: code may race them, and a wait may take days.
 */
function isRaced(reports: readonly StepReport[], find: FindRecord): boolean {
  if (reports.length < 2) return false;
  return reports.some((report) => {
    const kind = report.type === "op" ? undefined : find(report.step.hash)?.call.kind;
    return kind !== undefined && STEP_KINDS[kind].op !== "StepPlanned";
  });
}

function missingBody(request: PassRequest, found: readonly FoundStep[], find: FindRecord): object {
  const error = `The step ${request.stepId} of function "${request.functionSlug}" was not found: the code has changed, or takes a different path now.`;
  const listed = found.slice(0, MAX_LISTED_STEPS).map(({ hash }) => {
    const record = find(hash);
    const fullId = record?.identity.fullId;
    return { id: hash, name: fullId, displayName: record?.call.displayName ?? fullId };
  });
  return {
    name: "StepNotFoundError",
    message: error,
    error,
    requestedStep: request.stepId,
    foundSteps: listed,
    totalFoundSteps: found.length,
    __serialized: true,
  };
}

/** The answer to a targeted request for a step that has a result already: nothing new. */
export function nothingNew(requestVersion: number): ExecutionResult {
  return { status: "NOT_COMPLETED", body: encodeJsonBytes([]), noRetry: false, requestVersion };
}
