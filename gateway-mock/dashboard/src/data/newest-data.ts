/** The data of the newest event of a name, for a form to begin with. */
import { get } from "./api.ts";
import type { EventPage, StoredEvent } from "./event-types.ts";

/** Pages of a rare name may be empty; looking for its newest event ends after this. */
const LOOK_MS = 10_000;

/** Undefined: there is none, or it lies too far back. */
export async function newestData(name: string, signal: AbortSignal): Promise<unknown> {
  const end = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
  const id = await newestId((cursor) => {
    const given = { limit: "1", name, ...(cursor === null ? {} : { cursor }) };
    return get<EventPage>(`/v1/events?${new URLSearchParams(given)}`, { signal: end });
  });
  if (id === undefined) return undefined;
  const { event } = await get<StoredEvent>(`/v1/events/${encodeURIComponent(id)}`, { signal });
  return (event as { readonly data?: unknown } | null)?.data;
}

/** Goes from page to page as `read` gives them, to the first that has an event. */
export async function newestId(read: (cursor: string | null) => Promise<EventPage>): Promise<string | undefined> {
  let cursor: string | null = null;
  do {
    const { events, nextCursor }: EventPage = await read(cursor);
    if (events[0] !== undefined) return events[0].id;
    cursor = nextCursor;
  } while (cursor !== null);
  return undefined;
}
