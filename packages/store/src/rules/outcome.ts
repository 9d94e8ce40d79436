/** Turns the results of a planned batch into outcomes once it is known which log rows were new. */
import type { BatchPlan, Unit, UnitOutcome } from "./plan.ts";

/** What each unit of a committed batch came to. `isNew`: for each log row of the plan, whether it was not there yet. */
export function outcomesOf(
  units: readonly Unit[],
  plan: BatchPlan,
  isNew: readonly boolean[],
  atMs: number,
): readonly UnitOutcome[] {
  return units.map((unit, index): UnitOutcome => {
    const result = plan.results[index];
    if (!result) throw new Error(`No result for unit ${index} (${unit.type})`);
    if ("event" in result) {
      const { event: eventId, ...rest } = result;
      return { type: "intake", outcome: { eventId, ...rest, atMs } };
    }
    if (!result.won) return { type: "transition", outcome: result };
    const { version, firstLog, logCount, awaited } = result;
    const inserted = isNew.slice(firstLog, firstLog + logCount);
    return { type: "transition", outcome: { won: true, inserted, version, awaited, atMs } };
  });
}
