/** Which events have ended waits of a run, so that none of them ends another one that looks back. */
import type { EarlierWait, RunState } from "./run-state.ts";

/** Events are written with their id first. */
const EVENT_ID = /^\{"type":"data","data":\{"id":("(?:[^"\\]|\\.)*")/;

/** Ids, as functions see them, of the events that steps were given which had finished before this wait began. */
export function consumedEvents({ memo }: Pick<RunState, "memo">, { finished }: EarlierWait): ReadonlySet<string> {
  const ids = new Set<string>();
  let count = 0;
  for (const { signature, text } of memo.values()) {
    count += 1;
    if (count > finished) break;
    if (!signature.startsWith("WaitForEvent")) continue;
    const id = EVENT_ID.exec(text)?.[1];
    if (id !== undefined) ids.add(JSON.parse(id) as string);
  }
  return ids;
}
