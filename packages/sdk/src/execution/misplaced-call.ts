/** Steps that are called where they cannot run: in the body of another one, by the code of another run, or one too many. */
import { WIRE_LIMITS } from "@holdfast/protocol";
import { foreignStep, tooManySteps } from "../steps/errors.ts";
import { nameOf, rejectedStep, type StepCall } from "../steps/step-call.ts";
import { currentExecution } from "./current.ts";
import { nestedCall, type StepRecord } from "./step-record.ts";

/** The rejection of a call that the calling code may not make on a step of this run; undefined: it may. */
export function misplacedCall(call: StepCall, runId: string): Promise<never> | undefined {
  const execution = currentExecution();
  const outer = execution?.step;
  if (outer?.active) return nestedCall(call, outer);
  if (execution === undefined || execution.runId === runId) return undefined;
  return rejectedStep(foreignStep(nameOf(call.id), runId, execution.runId));
}

/**
 * Why a step does not begin that the run has no place for: the gateway would refuse its result. Undefined: it has one.
 * @param undoing what undoes steps is not counted
 */
export function beyondLimit({ place, call }: StepRecord, undoing: object | undefined): Error | undefined {
  const isBeyond = undoing === undefined && place >= WIRE_LIMITS.maxStepsPerRun;
  return isBeyond ? tooManySteps(nameOf(call.id)) : undefined;
}
