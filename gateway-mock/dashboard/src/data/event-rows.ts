/** The list of events as it is shown: pages put together. Pure. */
import type { EventPage } from "./event-types.ts";

export const NO_EVENTS: EventPage = { events: [], nextCursor: null };

/** The first page read anew, in front of what was shown; one that does not reach what was shown replaces it. */
export function withNewest(shown: EventPage, page: EventPage): EventPage {
  const oldest = page.events.at(-1);
  const newest = shown.events[0];
  if (oldest === undefined || newest === undefined || page.nextCursor === null || newest.id < oldest.id) return page;
  const behind = shown.events.filter(({ id }) => id < oldest.id);
  return { events: [...page.events, ...behind], nextCursor: behind.length === 0 ? page.nextCursor : shown.nextCursor };
}

export function withOlder(shown: EventPage, page: EventPage): EventPage {
  const known = new Set(shown.events.map(({ id }) => id));
  return {
    events: [...shown.events, ...page.events.filter(({ id }) => !known.has(id))],
    nextCursor: page.nextCursor,
  };
}
