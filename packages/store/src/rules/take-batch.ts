/** Cuts the next batch off the waiting units, within the limits of size and one head change per run (BATCH-3). */
import type { Unit } from "./plan.ts";

export interface BatchLimits {
  readonly maxUnits: number;
  readonly maxBytes: number;
}

/**
 * Takes from the front of what waits as much as one transaction may hold. A unit that looks at a run's head closes that
 * run for the rest of the batch: later units of the run stay waiting, in order.
 */
export function takeBatch<T extends { readonly unit: Unit; readonly bytes: number }>(
  waiting: readonly T[],
  limits: BatchLimits,
): { batch: T[]; rest: T[] } {
  const batch: T[] = [];
  const left: T[] = [];
  const closed = new Set<string>();
  let bytes = 0;
  for (const [index, entry] of waiting.entries()) {
    const full = batch.length >= limits.maxUnits || (batch.length > 0 && bytes + entry.bytes > limits.maxBytes);
    if (full) return { batch, rest: left.concat(waiting.slice(index)) };
    const { unit } = entry;
    if (unit.type === "transition") {
      const { runId, cas, create: newRun } = unit.transition;
      if (closed.has(runId)) {
        left.push(entry);
        continue;
      }
      if (cas !== null || newRun) closed.add(runId);
    }
    bytes += entry.bytes;
    batch.push(entry);
  }
  return { batch, rest: left };
}
