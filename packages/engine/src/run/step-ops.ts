/** What the ops of steps are: waits, failures of the handler, ops that only report. */
import { unstorableIn } from "@holdfast/core";
import { isHandlerEnd, type Op, type OpName } from "@holdfast/protocol";

/** Steps that end without a worker: by time, by something from outside, by a call that the gateway makes. */
const PARKED_OPS = ["Sleep", "WaitForEvent", "WaitForSignal", "InvokeFunction", "Gateway", "AIGateway"] as const;
export type ParkedOpName = (typeof PARKED_OPS)[number];

const parkedNames: ReadonlySet<string> = new Set(PARKED_OPS);

export const isParkedName = (name: OpName): name is ParkedOpName => parkedNames.has(name);
/** The same of an op that the log names. */
export const isParkedOp = (name: string): boolean => parkedNames.has(name);
export const isParked = ({ op }: Op): boolean => isParkedName(op);

/** Ops that are no step: they come along with others, and count for nothing in how the run goes on. */
export const isLazy = (op: Op): boolean => op.op === "DeferAdd" || op.op === "DeferAbort";

/** The handler threw outside of steps: reported as an op because it comes with others. */
export const isHandlerFailure = (op: Op): boolean => op.op !== "RunComplete" && isHandlerEnd(op);

/** The step has ended with it. */
export const isResult = ({ op }: Op): boolean => op === "StepRun" || op === "Step" || op === "StepFailed";

/** How many attempts the step has in all: as its function, or more where the app says so. */
export const attemptsOf = ({ maxAttempts }: { readonly maxAttempts: number }, op: Op): number =>
  Math.max(maxAttempts, op.maxAttempts ?? 0);

/** What people call a step. */
export function nameOf(op: Op): string | undefined {
  return op.displayName ?? op.userland?.id;
}

/**
 * Names that are looked up in the database: short enough for an index, and without what it cannot have.
 */
export function isStorableName(name: string, maxLength: number): boolean {
  return name.length <= maxLength && unstorableIn(name) === null;
}
