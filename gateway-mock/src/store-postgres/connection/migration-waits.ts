/**
 * Says what a migration waits for while it waits: which session has the lock, for how long, and with which query. Asks
 * over a connection of its own, since that of the migration is busy waiting.
 */
import { type Log, sleep, systemClock, systemTimers } from "@holdfast/core";
import type postgres from "postgres";

/** A wait is asked about this often, so that one that is cut short is seen as well. */
const LOOK_EVERY_MS = 500;
/** Waits shorter than this are not worth a word. */
const QUIET_MS = 1_000;
const SAY_EVERY_MS = 30_000;
const MAX_QUERY = 120;
/** What the server says of other users' statements to those without `pg_monitor`. */
const HIDDEN = "<insufficient privilege>";

const BLOCKERS = `SELECT blocker.pid, activity.application_name AS name, activity.query,
    extract(epoch FROM clock_timestamp() - activity.xact_start)::float8 AS seconds, wanted.name AS wanted
  FROM (SELECT DISTINCT unnest(pg_blocking_pids($1)) AS pid) AS blocker
  LEFT JOIN pg_stat_activity AS activity USING (pid)
  LEFT JOIN (
    SELECT CASE locktype WHEN 'advisory' THEN '' ELSE nspname || '.' || relname END AS name
    FROM pg_locks LEFT JOIN pg_class ON pg_class.oid = relation LEFT JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE pg_locks.pid = $1 AND NOT granted LIMIT 1
  ) AS wanted ON true
  ORDER BY activity.xact_start NULLS LAST LIMIT 3`;

export interface WaitWatch {
  /** The session that migrates from now on. */
  watch(pid: number): void;
  /** For how long it has been said that something is waited for; null: that was never said. */
  stop(): Promise<number | null>;
}

export function watchWaits(connect: () => postgres.Sql, log: Log): WaitWatch {
  const ending = new AbortController();
  const beganMs = systemClock.monotonicMs();
  let sql: postgres.Sql | undefined;
  let pid: number | undefined;
  let saidMs: number | undefined;
  let seenMs: number | undefined;

  const look = async (): Promise<void> => {
    if (pid === undefined) return;
    sql ??= connect();
    const blockers = await sql.unsafe<Blocker[]>(BLOCKERS, [pid]);
    const nowMs = systemClock.monotonicMs();
    if (blockers.length === 0 || ending.signal.aborted) return;
    seenMs ??= nowMs;
    if (nowMs - seenMs < QUIET_MS || (saidMs !== undefined && nowMs - saidMs < SAY_EVERY_MS)) return;
    saidMs = nowMs;
    log("warn", waitText(blockers), { blockedBy: blockers.map((one) => Number(one.pid)) });
  };

  const looking = (async () => {
    // Most migrations are over before: they need no second connection.
    await sleep(systemTimers, LOOK_EVERY_MS, ending.signal);
    while (!ending.signal.aborted) {
      // It only tells: without an answer the migration goes on all the same.
      await look().catch(() => {});
      await sleep(systemTimers, LOOK_EVERY_MS, ending.signal);
    }
  })();

  return {
    watch(next) {
      pid = next;
    },
    async stop() {
      ending.abort();
      await sql?.end({ timeout: 1 });
      await looking;
      return saidMs === undefined ? null : systemClock.monotonicMs() - beganMs;
    },
  };
}

interface Blocker {
  readonly pid: unknown;
  readonly name: string | null;
  readonly query: string | null;
  readonly seconds: number | null;
  /** A table; empty: the lock of those that migrate. */
  readonly wanted: string | null;
}

function waitText(blockers: readonly Blocker[]): string {
  const wanted = blockers[0]?.wanted ?? null;
  const who = blockers.map(blockerText).join("; ");
  if (wanted === "") return `The migration of the database waits for another gateway that migrates: ${who}.`;
  return (
    `The migration of the database waits for a lock${wanted === null ? "" : ` on ${wanted}`}: ${who}. It is tried ` +
    "again until it gets the lock; running gateways go on between the tries."
  );
}

function blockerText({ pid, name, query, seconds }: Blocker): string {
  // What belongs to no session.
  if (Number(pid) === 0) return "a prepared transaction (pg_prepared_xacts)";
  const since = seconds === null ? [] : [`in a transaction for ${Math.round(seconds)} s`];
  const said = query === HIDDEN ? "" : (query?.replace(/\s+/g, " ").trim() ?? "");
  const cut = said.length > MAX_QUERY ? `${said.slice(0, MAX_QUERY)} …` : said;
  const about = [name || "unnamed", ...since, ...(cut === "" ? [] : [`last statement: ${cut}`])];
  return `pid ${pid} (${about.join(", ")})`;
}
