/**
 * Says which answers of a test no step has used. Most belong to a branch that was not taken; others have a wrong id, and
 * the wait that they were meant for times out.
 */
import { nearestName } from "@holdfast/core";

/** A wait that timed out, without an answer. */
export interface TimedOutWait {
  readonly stepId: string;
  /** Of the event or the signal. */
  readonly waitedFor: string;
}

/** To follow another sentence; empty when all are used. */
export function unusedText(unused: readonly string[]): string {
  if (unused.length === 0) return "";
  const ids = unused.map((id) => `"${id}"`).join(", ");
  return ` No step has used ${unused.length === 1 ? "the answer" : "the answers"} ${ids}.`;
}

/** A sentence for each unused answer that was probably meant for one of the waits. */
export function misnamedAnswers(unused: readonly string[], waits: readonly TimedOutWait[]): string[] {
  return unused.flatMap((id) => {
    const meant = waits.find(({ stepId, waitedFor }) => nearestName(id, [stepId, waitedFor]) !== undefined);
    if (meant === undefined) return [];
    return [
      `FunctionTest: the wait "${meant.stepId}" timed out, and no step has used the answer "${id}". Answers go by the id of the step: did you mean "${meant.stepId}"?`,
    ];
  });
}
