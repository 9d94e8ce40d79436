/** Sends an event, and reads what it has started. */
import { get, post } from "./api.ts";
import type { StoredEvent } from "./event-types.ts";
import { once } from "./once.ts";

/** @throws ApiError */
export async function sendEvent(name: string, data: object): Promise<{ id: string; runIds: readonly string[] }> {
  return once(`event ${JSON.stringify([name, data])}`, async ({ ulid }) => {
    // The gateway takes an event of an id once.
    const { ids } = await post<{ ids: string[] }>("/v1/events", { name, data, id: `dashboard-${ulid}` });
    const id = ids[0] ?? "";
    const { runIds } = await get<StoredEvent>(`/v1/events/${encodeURIComponent(id)}`);
    return { id, runIds };
  });
}
