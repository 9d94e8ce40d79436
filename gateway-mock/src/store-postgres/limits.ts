/** Statements behind what is in use of limits and schedules (`LimitReads`). They lock nothing. */
import { type LimitedJob, type LimitUse, type ListedCron, MAX_LIMITED_JOBS, MAX_LISTED_CRONS } from "@holdfast/store";
import { msOf, textArray } from "./connection/pg-values.ts";
import type { Query } from "./connection/query.ts";

interface LimitedRow {
  readonly run_id: string;
  readonly function_id: string;
  readonly slot_a: string | null;
  readonly slot_b: string | null;
  readonly throttle: string | null;
  readonly since_ms: number;
}

/** Of each function so many: a long queue of one hides none of another. */
const jobsOf = (since: string, which: string, order: string): string => `SELECT j.*
FROM unnest($1::text[]) WITH ORDINALITY AS f(id, place) CROSS JOIN LATERAL (
  SELECT q.run_id, q.function_id, q.slot_a, q.slot_b, q.throttle, ${msOf(since)} AS since_ms,
    row_number() OVER (ORDER BY ${order}) AS nth
  FROM holdfast.queue q WHERE q.function_id = f.id AND q.lane <> '' AND ${which} ORDER BY ${order} LIMIT ${MAX_LIMITED_JOBS}
) j ORDER BY f.place, j.nth`;

/** A job that is made with its lease has no claim. */
const CLAIMED = "COALESCE(q.claimed_at, q.created_at)";
const HELD = jobsOf(CLAIMED, "q.leased_by IS NOT NULL", `${CLAIMED}, q.id`);
const WAITING = jobsOf(
  "q.available_at",
  "q.leased_by IS NULL AND q.available_at <= now()",
  "q.priority DESC, q.available_at, q.id",
);

const PACED = `SELECT g.function_id, g.key, ${msOf("g.at")} AS at_ms
FROM unnest($1::text[]) WITH ORDINALITY AS f(id, place) CROSS JOIN LATERAL (
  SELECT t.function_id, t.key, t.at FROM holdfast.gates t
  WHERE t.function_id = f.id AND t.kind = 'throttle' AND t.at > now() ORDER BY t.key LIMIT ${MAX_LIMITED_JOBS}
) g ORDER BY f.place, g.key`;

const jobOf = (row: LimitedRow): LimitedJob => ({
  runId: row.run_id,
  functionId: row.function_id,
  slots: [row.slot_a, row.slot_b].filter((slot) => slot !== null),
  throttle: row.throttle,
  sinceMs: row.since_ms,
});

export async function limitUse(query: Query, functionIds: readonly string[]): Promise<LimitUse> {
  const wanted = [textArray([...new Set(functionIds)].sort())];
  const [time, held, waiting, paced] = await Promise.all([
    query<{ now_ms: number }>(`SELECT ${msOf("now()")} AS now_ms`),
    query<LimitedRow>(HELD, wanted),
    query<LimitedRow>(WAITING, wanted),
    query<{ function_id: string; key: string; at_ms: number }>(PACED, wanted),
  ]);
  return {
    nowMs: time[0]?.now_ms ?? 0,
    held: held.map(jobOf),
    waiting: waiting.map(jobOf),
    paced: paced.map(({ function_id: functionId, key, at_ms: atMs }) => ({ functionId, key, atMs })),
  };
}

interface CronRow {
  readonly function_id: string;
  readonly cron: string;
  readonly tick_ms: number;
  readonly due_ms: number | null;
}

export async function listCrons(query: Query): Promise<ListedCron[]> {
  const rows = await query<CronRow>(
    `SELECT c.function_id, c.cron, ${msOf("c.next_at")} AS tick_ms, ${msOf("q.available_at")} AS due_ms
FROM holdfast.crons c LEFT JOIN holdfast.queue q
  ON q.run_id = '' AND q.kind = 'cron' AND q.key = c.function_id || E'\\n' || c.cron
ORDER BY c.function_id, c.cron LIMIT ${MAX_LISTED_CRONS}`,
  );
  return rows.map((row) => ({
    functionId: row.function_id,
    cron: row.cron,
    tickMs: row.tick_ms,
    dueMs: row.due_ms,
  }));
}
