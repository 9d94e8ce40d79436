import type { BatchPlan, Unit, UnitOutcome } from "./plan.ts";

/** What each unit of a committed batch came to. `isNew`: for each log row of the plan, whether it was not there yet. */
export function outcomesOf(
  units: readonly Unit[],
  plan: BatchPlan,
  isNew: readonly boolean[],
  atMs: number,
): readonly UnitOutcome[] {
  return units.map((unit, index): UnitOutcome => {
    const verdict = plan.results[index];
    if (!verdict) throw new Error(`No verdict for unit ${index} (${unit.type})`);
    if ("event" in verdict) {
      const { event: eventId, ...rest } = verdict;
      return { type: "intake", outcome: { eventId, ...rest, atMs } };
    }
    if (!verdict.won) return { type: "transition", outcome: verdict };
    const { version, firstLog, logCount, awaited } = verdict;
    const inserted = isNew.slice(firstLog, firstLog + logCount);
    return { type: "transition", outcome: { won: true, inserted, version, awaited, atMs } };
  });
}
