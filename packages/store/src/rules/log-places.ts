/**
 * How the rows of the log are numbered: a batch takes a block of numbers that are higher than all before, and of each run
 * its rows begin with the first of them. Rows of different runs may have the same number.
 */
import type { LogWrite } from "./write-set.ts";

export const LOG_BLOCK = 1024;

/** Of each row how many of its run come before it in the batch: what is added to the block's first number. */
export function placesOf(logs: readonly LogWrite[]): number[] {
  const counts = new Map<string, number>();
  return logs.map(({ runId }) => {
    const place = counts.get(runId) ?? 0;
    if (place >= LOG_BLOCK) throw new RangeError(`A batch has more than ${LOG_BLOCK} rows for the log of one run`);
    counts.set(runId, place + 1);
    return place;
  });
}
