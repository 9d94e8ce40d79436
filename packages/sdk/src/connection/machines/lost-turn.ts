/**
 * What is replied to the gateway when a pool thread has ended in the middle of a turn: the attempts of the steps whose
 * bodies it was running have failed, and where there are none, the attempt of the handler.
 */
import type { PlainError } from "@holdfast/core";
import { encodeJsonBytes } from "@holdfast/protocol";
import { named } from "../../isolation/shared/subject-text.ts";
import type { ReplyContent } from "../shared/reply.ts";

/** What a thread has said of a turn. The keys are hashed step ids. */
export interface TurnSteps {
  readonly identity: { readonly functionSlug: string; readonly runId: string };
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
export function lostTurnReply({ identity, running, ended }: TurnSteps, error: PlainError, nowMs: number): ReplyContent {
  const { functionSlug, runId } = identity;
  const thrownBy = (step?: { readonly id: string; readonly attempt: number }): PlainError => {
    const message = named({ functionSlug, runId, ...(step ? { step } : {}) }, error.message);
    return { ...error, ...{ message, __serialized: true } };
  };
  const failures = [...running.values()].map((text) => failedOp(text, thrownBy, nowMs));
  const ops = [...[...ended.values()].map((text): unknown => JSON.parse(text)), ...failures];
  if (ops.length === 0) {
    return { status: "ERROR", body: encodeJsonBytes(thrownBy()), noRetry: false, requestVersion: VERSION };
  }
  const noRetry = ops.length === 1 && failures[0]?.op === "StepFailed";
  return { status: "NOT_COMPLETED", body: encodeJsonBytes(ops), noRetry, requestVersion: VERSION };
}

interface FailedOp {
  readonly id: string;
  readonly displayName?: string;
  readonly attempt?: number;
  readonly op: string;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly timing: { readonly a: number; readonly b: number };
}

const NANOS = 1e6;

function failedOp(
  text: string,
  thrownBy: (step: { readonly id: string; readonly attempt: number }) => PlainError,
  nowMs: number,
): FailedOp {
  const op = JSON.parse(text) as FailedOp;
  const error = thrownBy({ id: op.displayName ?? op.id, attempt: op.attempt ?? 0 });
  const { a } = op.timing;
  const data = op.data === null ? null : { ...op.data, name: error.name, message: error.message };
  const timing = { a, b: Math.max(0, Math.round(nowMs * NANOS - a)) };
  return { ...op, ...{ error }, data, timing };
}
