/**
 * A clock for tests that can be moved, in the database itself (docs/decisions/0025): statements ask functions of the
 * schema instead of `now()`.
 */
import { deferred } from "@holdfast/core";
import type { Database } from "./database.ts";
import { msOf } from "./pg-values.ts";
import type { TimeSource } from "./query.ts";

export interface VirtualTime extends TimeSource {
  /** Runs `work` once nothing else of this store is under way, and holds everything back meanwhile. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** As a query of its own it is asked once for a statement; the function by itself for each row, at 5 us. */
const NOW = "(SELECT holdfast.now())";

/**
 * Time that can be moved: every statement asks the schema's functions instead of Postgres' own. That is done to the
 * text as it is sent, so no statement can be forgotten, and without virtual time nothing is paid for it.
 */
export function virtualTime(): VirtualTime {
  const texts = new Map<string, string>();
  let users = 0;
  let moving: Promise<unknown> | null = null;
  let quiet = deferred<void>();

  return {
    sql(text) {
      let made = texts.get(text);
      if (made === undefined) {
        made = text.replace(/\bnow\(\)/g, NOW).replace(/\bclock_timestamp\(\)/g, "holdfast.clock_now()");
        texts.set(text, made);
      }
      return made;
    },
    async during(work) {
      while (moving) await moving;
      users += 1;
      try {
        return await work();
      } finally {
        users -= 1;
        if (users === 0) quiet.resolve();
      }
    },
    async alone(work) {
      while (moving) await moving;
      const done = deferred<void>();
      moving = done.promise;
      try {
        quiet = deferred<void>();
        if (users > 0) await quiet.promise;
        return await work();
      } finally {
        moving = null;
        done.resolve();
      }
    },
  };
}

/** What has to do with living processes moves along: leases, and signs of life. */
const SKIP = `WITH skip AS (
  INSERT INTO holdfast.time_skips (at, total_ms)
  SELECT clock_timestamp(), $1::float8 + COALESCE((SELECT total_ms FROM holdfast.time_skips ORDER BY at DESC LIMIT 1), 0)
), leases AS (
  UPDATE holdfast.queue SET available_at = available_at + $1::float8 * interval '1 millisecond'
  WHERE leased_by IS NOT NULL AND available_at > holdfast.now()
), gateways AS (
  UPDATE holdfast.gateways SET seen_at = seen_at + $1::float8 * interval '1 millisecond'
), connections AS (
  UPDATE holdfast.connections SET seen_at = seen_at + $1::float8 * interval '1 millisecond'
)
UPDATE holdfast.writers SET seen_at = seen_at + $1::float8 * interval '1 millisecond'`;

/** Moves time on by `ms`; returns what time it is then. */
export async function skipTime(database: Database, time: VirtualTime, ms: number): Promise<number> {
  return time.alone(async () => {
    const sql = database.connect({ name: "time" });
    try {
      await sql.unsafe(SKIP, [ms]);
      const [row] = await sql.unsafe(`SELECT ${msOf("holdfast.now()")} AS now_ms`);
      return Number(row?.now_ms);
    } finally {
      await sql.end({ timeout: 5 });
    }
  });
}
