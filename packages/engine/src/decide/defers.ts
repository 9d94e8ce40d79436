/** Decides on ops that defer a run until this one ends, or take that back (docs/decisions/0031). */
import { isRecord, type Op, WIRE_LIMITS } from "@holdfast/protocol";
import { deferOf } from "../run/fold.ts";
import { type DeferMeta, jsonRow } from "../run/log-rows.ts";
import { nameOf } from "../run/step-ops.ts";
import type { Draft } from "./draft.ts";

/**
 * A run of another function is to begin when this one has ended, or is not wanted any more. Each counts once. What
 * cannot be deferred is written down with the reason: it never fails the run that asks for it.
 */
export function decideDefer(draft: Draft, op: Op): void {
  if (op.op === "DeferAbort") return abort(draft, op);
  if (draft.defers.has(op.id) || draft.defers.size >= draft.ctx.maxSteps) return;
  const name = nameOf(op);
  const { fn_slug: functionId, input, meta } = op.opts ?? {};
  const problem = problemOf(draft, functionId, input);
  const about = {
    functionId: typeof functionId === "string" ? functionId : "",
    ...(name === undefined ? {} : { name }),
  };
  const row: DeferMeta =
    problem === null
      ? { ...about, ...(isRecord(input) ? { input } : {}), ...(isRecord(meta) ? { meta } : {}) }
      : { ...about, rejected: problem };
  draft.log.push(jsonRow("DEFERRED", op.id, 0, 0, row));
  draft.defers = new Map([...draft.defers, [op.id, deferOf(row)]]);
}

function problemOf({ defers }: Draft, functionId: unknown, input: unknown): string | null {
  if (typeof functionId !== "string" || functionId === "") return "It does not name a function.";
  if (input !== undefined && input !== null && !isRecord(input)) return "Its data is not an object.";
  let length = JSON.stringify(input ?? {}).length;
  let count = 1;
  for (const { status, inputText } of defers.values()) {
    length += inputText.length;
    if (status !== "rejected") count += 1;
  }
  const { maxDefersPerRun, maxDeferLength } = WIRE_LIMITS;
  if (count > maxDefersPerRun) return `A run can defer at most ${maxDefersPerRun} runs.`;
  if (length > maxDeferLength) return `The data of a deferred run may have at most ${maxDeferLength} characters.`;
  return null;
}

function abort(draft: Draft, op: Op): void {
  const target = op.opts?.target_hashed_id;
  const defer = typeof target === "string" ? draft.defers.get(target) : undefined;
  if (typeof target !== "string" || defer?.status !== "scheduled") return;
  draft.log.push(jsonRow("DEFER_ABORTED", target, 0, 0, {}));
  draft.defers = new Map([...draft.defers, [target, { ...defer, status: "aborted", inputText: "" }]]);
}
