/** Statements for windows of collected events (debounce, batch) and the jobs that end them. */
import type { Fence, OpenWindow, WindowKey } from "@holdfast/store";
import type { Query } from "../connection/database.ts";
import { intervalOf, textArray } from "../connection/pg-values.ts";

export async function postponeJob(query: Query, { jobId, epoch }: Fence, delayMs: number): Promise<boolean> {
  const text = `UPDATE holdfast.queue SET available_at = now() + ${intervalOf("$3::float8")}, leased_by = NULL
WHERE id = $1 AND epoch = $2 RETURNING id`;
  return (await query(text, [jobId, epoch, delayMs])).length > 0;
}

interface WindowRow {
  readonly count: number;
  readonly data: string;
  readonly due_in_ms: number | null;
}

export async function loadWindow(
  query: Query,
  window: WindowKey & { readonly id: string },
): Promise<OpenWindow | null> {
  const { functionId, kind, key, id } = window;
  const [row] = await query<WindowRow>(
    `SELECT count, data, date_part('epoch', due_at - now()) * 1000 AS due_in_ms FROM holdfast.gates
WHERE function_id = $1 AND kind = $2 AND key = $3 AND run_id = $4`,
    [functionId, kind, key, id],
  );
  if (!row) return null;
  const [, ...eventIds] = row.data.split(" ");
  const dueInMs = Math.max(0, Math.ceil(Number(row.due_in_ms ?? 0)));
  return { functionId, kind, key, id, count: Number(row.count), eventIds, dueInMs };
}

export async function loadEvents(query: Query, eventIds: readonly string[]): Promise<string[]> {
  const rows = await query<{ payload: string }>(
    `SELECT e.payload FROM unnest($1::text[]) WITH ORDINALITY AS n(id, place) JOIN holdfast.events e USING (id) ORDER BY n.place`,
    [textArray(eventIds)],
  );
  return rows.map((row) => row.payload);
}
