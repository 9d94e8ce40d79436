/** What the ops of steps are: waits, failures of the handler, ops that only report. */
import type { Op, OpName } from "@holdfast/protocol";

/** Steps that end without a worker: by time, by something from outside, by a call that the gateway makes. */
const PARKED_OPS = ["Sleep", "WaitForEvent", "WaitForSignal", "InvokeFunction", "Gateway", "AIGateway"] as const;
export type ParkedOpName = (typeof PARKED_OPS)[number];

const parkedNames: ReadonlySet<OpName> = new Set(PARKED_OPS);

export const isParkedName = (name: OpName): name is ParkedOpName => parkedNames.has(name);
export const isParked = ({ op }: Op): boolean => isParkedName(op);

/** Ops that are no step: they come along with others, and count for nothing in how the run goes on. */
export const isLazy = (op: Op): boolean => op.op === "DeferAdd" || op.op === "DeferAbort";

/** sha1 of `complete`. */
const COMPLETE_KEY = "0737c22d3bfae812339732d14d8c7dbd6dc4e09c";

/**
 * The handler threw outside of steps: reported as an op because it comes with others. A step of that id has a name,
 * too.
 */
export const isHandlerFailure = ({ id, op, userland }: Op): boolean =>
  id === COMPLETE_KEY && userland === undefined && (op === "StepError" || op === "StepFailed");

/** What people call a step. */
export function nameOf(op: Op): string | undefined {
  return op.displayName ?? op.userland?.id;
}

/**
 * Names that are looked up in the database: short enough for an index, and without the one character it cannot have.
 */
export function isStorableName(name: string, maxLength: number): boolean {
  return name.length <= maxLength && !name.includes("\0");
}
