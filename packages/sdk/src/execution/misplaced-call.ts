/** Steps that are called where they cannot run: in the body of another one, or by the code of another run. */
import { foreignStep } from "../steps/errors.ts";
import { nameOf, rejectedStep, type StepCall } from "../steps/step-call.ts";
import { currentExecution } from "./current.ts";
import { nestedCall } from "./step-record.ts";

/** The rejection of a call that the calling code may not make on a step of this run; undefined: it may. */
export function misplacedCall(call: StepCall, runId: string): Promise<never> | undefined {
  const execution = currentExecution();
  const outer = execution?.step;
  if (outer?.active) return nestedCall(call, outer);
  if (execution === undefined || execution.runId === runId) return undefined;
  return rejectedStep(foreignStep(nameOf(call.id), runId, execution.runId));
}
