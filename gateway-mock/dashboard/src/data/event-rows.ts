/** The list of events as it is shown: pages put together. Pure. */
import type { EventPage } from "./event-types.ts";

export interface EventList extends EventPage {
  /** An id, or the beginning of one: from here down to `nextCursor` no event of the list's name is left out. */
  readonly top: string;
}

export const NO_EVENTS: EventList = { events: [], nextCursor: null, top: "" };

/**
 * The first page read anew, in front of what was shown; one that does not reach what was shown replaces it. What was
 * looked through stays looked through: pages by a rare name may be empty.
 * @param settled an id, or the beginning of one, up to which all events had come before the page was read
 */
export function withNewest(shown: EventList, page: EventPage, settled: string): EventList {
  const { nextCursor } = page;
  const top = newerOf(settled, page.events[0]?.id ?? "");
  if (nextCursor === null || shown.top === "" || nextCursor > shown.top) return { ...page, top };
  const behind = shown.events.filter(({ id }) => id < nextCursor);
  return {
    events: [...page.events, ...behind],
    nextCursor: shown.nextCursor === null || shown.nextCursor < nextCursor ? shown.nextCursor : nextCursor,
    top: newerOf(top, shown.top),
  };
}

export function withOlder(shown: EventList, page: EventPage): EventList {
  const known = new Set(shown.events.map(({ id }) => id));
  return {
    events: [...shown.events, ...page.events.filter(({ id }) => !known.has(id))],
    nextCursor: page.nextCursor,
    top: shown.top,
  };
}

const newerOf = (a: string, b: string): string => (a > b ? a : b);
