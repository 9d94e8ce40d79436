/**
 * Which functions have jobs at all: of thousands that are registered, in environments that are long gone for one, mostly
 * few, and what is asked of each is asked of these only.
 */
import type { Query } from "../connection/query.ts";

/** So few are asked about as they are: it costs less than to find out. */
const FEW = 64;

/** From one to the next through the index: as many steps as there are functions with jobs, not as there are jobs. */
const BUSY = `WITH RECURSIVE busy(id) AS (
  (SELECT function_id FROM holdfast.queue ORDER BY function_id LIMIT 1)
  UNION ALL SELECT (
    SELECT q.function_id FROM holdfast.queue q WHERE q.function_id > busy.id ORDER BY q.function_id LIMIT 1
  ) FROM busy WHERE busy.id IS NOT NULL
) SELECT id FROM busy WHERE id IS NOT NULL`;

/** Those of many that have jobs, in their order; few are returned as they are. */
export async function busyAmong<Asked>(
  query: Query,
  asked: readonly Asked[],
  idOf: (one: Asked) => string,
): Promise<readonly Asked[]> {
  if (asked.length <= FEW) return asked;
  const busy = new Set((await query<{ id: string }>(BUSY)).map(({ id }) => id));
  return asked.filter((one) => busy.has(idOf(one)));
}
