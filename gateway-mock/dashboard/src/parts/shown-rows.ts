/** Which rows of a long list are elements. Pure. */

/** Rows near the window: `to` is the first that is not. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** In order: those near the window, and the one with the focus with its neighbours, so that arrow keys reach them. */
export function shownOf(count: number, { from, to }: Range, focused: number): number[] {
  const near = (one: number): boolean => one >= from && one < to;
  const pinned = focused < 0 ? [] : [focused - 1, focused, focused + 1].filter((one) => !near(one));
  const all = Array.from({ length: Math.max(0, Math.min(to, count) - from) }, (_, offset) => from + offset);
  return [...pinned.filter((one) => one < from), ...all, ...pinned.filter((one) => one >= to)].filter(
    (one) => one >= 0 && one < count,
  );
}

/**
 * By how many rows what is read has moved: the first row from `from` on that is still there.
 * @param before the keys of the rows, as they were
 */
export function movedBy(before: readonly string[], now: readonly string[], from: number): number {
  const at = before[from];
  if (at === undefined || now[from] === at) return 0;
  const places = new Map(now.map((key, index) => [key, index]));
  for (let index = from; index < before.length; index += 1) {
    const place = places.get(before[index] ?? "");
    if (place !== undefined) return place - index;
  }
  return 0;
}
