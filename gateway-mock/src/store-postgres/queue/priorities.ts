/** SQL for one priority after another, so that of a long queue no more is read than is asked for. */

/**
 * The definition of `priorities`, for WITH RECURSIVE: those that jobs of the function have, the highest first. Together
 * with one of them and an order by time, the index of due jobs gives what comes first, whatever waits behind it.
 */
export const prioritiesOf = (functionId: string): string => `priorities AS (
    (SELECT q.priority FROM holdfast.queue q WHERE q.function_id = ${functionId} ORDER BY q.priority DESC LIMIT 1)
    UNION ALL
    SELECT n.priority FROM priorities p CROSS JOIN LATERAL (
      SELECT q.priority FROM holdfast.queue q WHERE q.function_id = ${functionId} AND q.priority < p.priority
      ORDER BY q.priority DESC LIMIT 1
    ) n
  )`;
