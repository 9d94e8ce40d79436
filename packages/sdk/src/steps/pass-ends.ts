/** How a pass ends, whichever way it works: with a reply, once. Used by both files of its machine. */
import type { Next } from "@holdfast/core";
import type { HandlerEnd, OpenPass, OpText, PassEffect, PassReply, PassState, StepReport } from "./pass-types.ts";

type NextPass = Next<PassState, PassEffect>;

export function endPass(state: OpenPass, reply: PassReply): NextPass {
  const aborts = state.running > 0 || reply.type === "stale";
  return [{ phase: "ended" }, [...(aborts ? [{ do: "abort" } as const] : []), { do: "reply", reply }]];
}

export function endWithOps(state: OpenPass, finished: readonly OpText[], reports: readonly StepReport[]): NextPass {
  return endPass(state, { type: "ops", finished, position: state.stored, reports });
}

export function stopPass(state: OpenPass): NextPass {
  if (state.running === 0) return endPass(state, { type: "stale" });
  return [{ phase: "stopping", running: state.running }, [{ do: "abort" }]];
}

/** A step that was never awaited is among the reports: the run does not end yet. */
export function isAwaited(ended: HandlerEnd, reports: readonly StepReport[]): boolean {
  const awaits = ended.type === "returned" ? ended.awaits : undefined;
  return awaits !== undefined && reports.some((report) => awaits.has(hashOf(report)));
}

function hashOf(report: StepReport): string {
  return report.type === "op" ? report.op.hash : report.step.hash;
}
