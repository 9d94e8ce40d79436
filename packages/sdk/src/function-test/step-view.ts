/** A step of a played run as the test sees it. */
import { normalizeError, type Op } from "@holdfast/protocol";
import { reviveError, STEP_KINDS, stepKinds } from "../sdk.ts";
import type { StepKind } from "../steps/step-kinds.ts";
import type { StepNote } from "./function-run.ts";
import type { MemoryRun } from "./memory-run.ts";
import type { TestStep } from "./test-types.ts";

/** For steps that the gateway executes; those of the app are all reported as the same op. */
const kindOfOp = (op: Op["op"]): StepKind | undefined =>
  op === "StepPlanned" ? undefined : stepKinds.find((kind) => STEP_KINDS[kind].op === op);

export function viewOf({ key, fullId, op, attempts }: StepNote, { state }: MemoryRun): TestStep {
  const type = op.opts?.type;
  const inner = type === "step.sendEvent" ? "sendEvent" : type === "step.sendSignal" ? "sendSignal" : "run";
  const memo = state.memo.get(key);
  const end = memo && (JSON.parse(memo.text) as { type: "data"; data: unknown } | { type: "error"; error: unknown });
  const error = end?.type === "error" ? end.error : op.error;
  return {
    id: fullId,
    kind: kindOfOp(op.op) ?? inner,
    status: end === undefined ? "waiting" : end.type === "error" ? "failed" : "completed",
    output: end?.type === "data" && memo?.isUndefined !== true ? end.data : undefined,
    error: error === undefined ? undefined : reviveError(normalizeError(error)),
    attempts,
    options: {
      ...op.opts,
      ...(op.op === "WaitForEvent" ? { event: op.name } : op.op === "Sleep" ? { until: op.name } : {}),
    },
  };
}
