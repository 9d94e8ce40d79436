/** The fast path beside `decide`: log rows of finished steps whose pass goes on, without a decision. */
import type { PlainError } from "@holdfast/core";
import { backoffDelayMs } from "@holdfast/core";
import type { Op } from "@holdfast/protocol";
import type { LogRow } from "@holdfast/store";

import { jsonText } from "../json/json-text.ts";
import { parseRetryAfterMs } from "../parse-due.ts";
import { begunRow, jsonRow, type StepMeta, stepCompletedRow, stepFailedRow, stepMeta } from "../run/log-rows.ts";
import { ResultPlaces } from "../run/result-places.ts";
import type { RunState } from "../run/run-state.ts";
import { attemptsOf, isResult, nameOf } from "../run/step-ops.ts";
import { numbered, sizeProblem } from "./draft.ts";
import type { DecideContext } from "./input.ts";
import { outputProblem } from "./report.ts";

export type CheckpointRows =
  | {
      readonly ok: true;
      readonly rows: readonly LogRow[];
      /** By the place of a row: what it says of its step, so that it need not be read out of its text again. */
      readonly metas: readonly (StepMeta | undefined)[];
    }
  | { readonly ok: false; readonly message: string };

/**
 * The rows of a checkpoint: finished steps and failed attempts, nothing that makes a job. What the log has already
 * leaves none. Anything else is to come as a reply.
 */
export function checkpointRows(state: RunState, ops: readonly Op[], ctx: DecideContext): CheckpointRows {
  const rows: LogRow[] = [];
  const metas: (StepMeta | undefined)[] = [];
  // Mostly there is one op, which cannot have come before.
  const seen = ops.length > 1 ? new Set<string>() : null;
  let settled = 0;
  const places = new ResultPlaces(state);
  for (const op of ops) {
    if (op.op === "None") continue;
    const isNew = !state.memo.has(op.id) && !seen?.has(op.id);
    const place = isResult(op) ? places.placeOf(op, isNew) : undefined;
    if (!isNew) continue;
    switch (op.op) {
      case "StepRun":
      case "Step": {
        const text = jsonText(op.data);
        // A reply says it again, and fails the step.
        const problem = outputProblem(text, `Step "${nameOf(op) ?? op.id}"`);
        if (problem !== null) return { ok: false, message: problem };
        const meta = stepMeta(op, op.attempt ?? 0, place);
        metas[rows.length] = meta;
        rows.push(stepCompletedRow(op.id, meta, text));
        break;
      }
      case "StepFailed": {
        const meta = stepMeta(op, op.attempt ?? 0, place);
        metas[rows.length] = meta;
        rows.push(stepFailedRow(op.id, meta, errorOf(op)));
        break;
      }
      case "StepError":
        rows.push(...failedAttempt(state, op, ctx));
        break;
      // It is reported again when it is done. Only what would have to be undone is of interest before.
      case "StepPlanned":
        if (op.opts?.compensate === true) rows.push(begunRow(op, state.attempts.get(op.id) ?? 0));
        continue;
      default:
        return { ok: false, message: `A checkpoint cannot hold ${op.op}.` };
    }
    seen?.add(op.id);
    settled += 1;
  }
  const problem = sizeProblem(state, ctx, state.memo.size + settled, rows);
  if (problem !== null) return { ok: false, message: problem };
  return { ok: true, rows: state.revivals === 0 ? rows : numbered(rows, state.revivals), metas };
}

function failedAttempt(state: RunState, op: Op, ctx: DecideContext): LogRow[] {
  const failed = state.attempts.get(op.id) ?? 0;
  const attempt = Math.max(0, op.attempt ?? failed);
  if (attempt < failed) return [];
  const meta = stepMeta(op, attempt);
  if (attempt + 1 >= attemptsOf(state, op)) return [stepFailedRow(op.id, meta, errorOf(op))];
  const delayMs = parseRetryAfterMs(op.retryAfter, ctx.nowMs) ?? backoffDelayMs(ctx.retry, attempt + 1, ctx.random);
  return [jsonRow("STEP_ATTEMPT_FAILED", op.id, attempt, 0, { step: meta, error: errorOf(op), delayMs })];
}

function errorOf(op: Op): PlainError {
  return op.error ?? { name: "Error", message: "The step failed without giving a reason." };
}
