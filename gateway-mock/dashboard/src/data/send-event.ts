/** Sends an event, and reads what it has started. */
import { get, post } from "./api.ts";
import type { StoredEvent } from "./event-types.ts";

/** @throws ApiError */
export async function sendEvent(name: string, data: object): Promise<{ id: string; runIds: readonly string[] }> {
  const { ids } = await post<{ ids: string[] }>("/v1/events", { name, data });
  const id = ids[0] ?? "";
  const { runIds } = await get<StoredEvent>(`/v1/events/${encodeURIComponent(id)}`);
  return { id, runIds };
}
