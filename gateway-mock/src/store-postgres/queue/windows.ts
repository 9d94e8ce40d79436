/** Statements for windows of collected events (debounce, batch) and the jobs that end them. */
import { type Fence, MAX_OPEN_WINDOWS, type OpenWindow, type WindowKey, type WindowKind } from "@holdfast/store";
import { wholeEvent } from "../connection/compact-events.ts";
import { intervalOf, msOf, textArray } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

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
  return row ? { functionId, kind, key, id, ...held(row) } : null;
}

interface OpenWindowRow extends WindowRow {
  readonly function_id: string;
  readonly kind: WindowKind;
  readonly key: string;
  readonly run_id: string;
}

export async function openWindows(query: Query, functionIds: readonly string[]): Promise<OpenWindow[]> {
  const rows = await query<OpenWindowRow>(
    `SELECT function_id, kind, key, run_id, count, data, date_part('epoch', due_at - now()) * 1000 AS due_in_ms
FROM holdfast.gates WHERE function_id = ANY($1::text[]) AND kind IN ('batch', 'debounce', 'full') AND run_id <> ''
ORDER BY function_id, kind, key LIMIT ${MAX_OPEN_WINDOWS}`,
    [textArray(functionIds)],
  );
  return rows.map(({ function_id: functionId, kind, key, run_id: id, ...row }) => ({
    ...{ functionId, kind, key, id },
    ...held(row),
  }));
}

function held({ count, data, due_in_ms }: WindowRow): Pick<OpenWindow, "count" | "eventIds" | "dueInMs"> {
  const [, ...eventIds] = data.split(" ");
  return { count: Number(count), eventIds, dueInMs: Math.max(0, Math.ceil(Number(due_in_ms ?? 0))) };
}

export async function loadEvents(query: Query, eventIds: readonly string[]): Promise<string[]> {
  const rows = await query<{ id: string; name: string; ts_ms: number; payload: string }>(
    `SELECT e.id, e.name, ${msOf("e.ts")} AS ts_ms, e.payload FROM unnest($1::text[]) WITH ORDINALITY AS n(id, place)
CROSS JOIN LATERAL (SELECT id, name, ts, payload FROM holdfast.events WHERE id = n.id OFFSET 0) e ORDER BY n.place`,
    [textArray(eventIds)],
  );
  return rows.map(({ id, name, ts_ms: tsMs, payload }) => wholeEvent(payload, { id, name, tsMs }));
}
