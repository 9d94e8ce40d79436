/**
 * What is replied to the gateway when a pool thread has ended in the middle of a turn: the attempts of the steps whose
 * bodies it was running have failed, and where there are none, the attempt of the handler.
 */
import type { PlainError } from "@holdfast/core";
import { encodeJsonBytes } from "@holdfast/protocol";
import type { ReplyContent } from "../shared/reply.ts";

/** What a thread has said of a turn. The keys are hashed step ids. */
export interface TurnSteps {
  /** Bodies that run: the op that says that the step has failed, without the error. */
  readonly running: ReadonlyMap<string, string>;
  /** Ops of bodies that have ended and may not have left in a checkpoint. */
  readonly ended: ReadonlyMap<string, string>;
}

const VERSION = 2;

/**
 * LOST-1. Each step whose body was running fails with the error, by the rules of its attempts; what had ended counts.
 * LOST-2. Only with no such step does the handler's own attempt fail.
 */
export function lostTurnReply({ running, ended }: TurnSteps, error: PlainError, nowMs: number): ReplyContent {
  const thrown = { ...error, __serialized: true };
  const failures = [...running.values()].map((text) => failedOp(text, thrown, nowMs));
  const ops = [...[...ended.values()].map((text): unknown => JSON.parse(text)), ...failures];
  if (ops.length === 0) {
    return { status: "ERROR", body: encodeJsonBytes(thrown), noRetry: false, requestVersion: VERSION };
  }
  const noRetry = ops.length === 1 && failures[0]?.op === "StepFailed";
  return { status: "NOT_COMPLETED", body: encodeJsonBytes(ops), noRetry, requestVersion: VERSION };
}

interface FailedOp {
  readonly op: string;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly timing: { readonly a: number; readonly b: number };
}

const NANOS = 1e6;

function failedOp(text: string, error: PlainError, nowMs: number): FailedOp {
  const op = JSON.parse(text) as FailedOp;
  const { a } = op.timing;
  const data = op.data === null ? null : { ...op.data, name: error.name, message: error.message };
  const timing = { a, b: Math.max(0, Math.round(nowMs * NANOS - a)) };
  return { ...op, ...{ error }, data, timing };
}
