/** Turns the results of a planned batch into outcomes, with what is known only once it is written. */
import type { BatchPlan, Unit, UnitOutcome } from "./plan.ts";

/** What the database gave a batch. */
export interface BatchAnswer {
  /** The transaction's time. */
  readonly atMs: number;
  /** For each row that was written to the log its `seq`; null = not known any more. */
  readonly seqs: readonly number[] | null;
  /** By run: the rows after the first that one of its units had seen; null = not known any more. */
  readonly newer: ReadonlyMap<string, readonly number[]> | null;
}

/** What each unit of a committed batch came to. */
export function outcomesOf(
  units: readonly Unit[],
  plan: BatchPlan,
  { atMs, seqs, newer }: BatchAnswer,
): readonly UnitOutcome[] {
  const seqOf = (logIndex: number | null): number | null => (logIndex === null ? null : (seqs?.[logIndex] ?? null));
  return units.map((unit, index): UnitOutcome => {
    const result = plan.results[index];
    if (!result) throw new Error(`No result for unit ${index} (${unit.type})`);
    if ("event" in result) {
      const { event: eventId, logIndex, ...rest } = result;
      return { type: "intake", outcome: { eventId, ...rest, atMs, seq: seqOf(logIndex) } };
    }
    if (!result.won) return { type: "transition", outcome: result };
    const { version, inserted, logIndex, awaited } = result;
    const rows = unit.type === "transition" ? newerThanSeen(unit.transition, newer) : NONE;
    const seq = seqOf(logIndex);
    return { type: "transition", outcome: { won: true, inserted, seq, newer: rows, version, awaited, atMs } };
  });
}

const NONE: readonly number[] = [];

function newerThanSeen(
  { runId, seen }: { readonly runId: string; readonly seen?: number },
  newer: BatchAnswer["newer"],
): readonly number[] | null {
  if (seen === undefined) return NONE;
  if (newer === null) return null;
  return newer.get(runId)?.filter((seq) => seq > seen) ?? NONE;
}
