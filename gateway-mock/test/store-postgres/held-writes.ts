import { waitFor } from "@holdfast/testing";
import type postgres from "postgres";

const LOCK = 4_711;

type HeldTable = "queue" | "events" | "functions" | "run_log";

export interface HeldWrites {
  /** What was begun, with the transaction that was held; ends the hold. */
  release(): Promise<void>;
  /** Resolves when so many transactions stall: at the hold, or waiting for a lock of each other. */
  standing(count: number): Promise<void>;
}

async function waiting(sql: postgres.Sql): Promise<number> {
  const [row] = await sql`SELECT count(DISTINCT pid)::int AS count FROM pg_locks WHERE NOT granted AND pid IN (
    SELECT pid FROM pg_stat_activity WHERE datname = current_database())`;
  return row?.count ?? 0;
}

/** Resolves when so many transactions of this database wait for locks. */
export async function standing(sql: postgres.Sql, count: number): Promise<void> {
  await waitFor(async () => (await waiting(sql)) >= count, { what: `${count} transactions to stand still` });
}

/** A trigger of the whole table would lock its partitions in an order of its own. */
async function partitionsOf(sql: postgres.Sql, table: HeldTable): Promise<string[]> {
  const rows = await sql`SELECT inhrelid::regclass::text AS name FROM pg_inherits
    WHERE inhparent = ${`holdfast.${table}`}::regclass`;
  return rows.length === 0 ? [`holdfast.${table}`] : rows.map((row) => String(row.name));
}

/**
 * Transactions that write such a row stop right there, uncommitted and with all their locks, until they are let go. That makes any two
 * of them interleave at the worst point, however quick the machine is.
 * @param when a condition on the row `new`
 */
export async function holdWrites(sql: postgres.Sql, table: HeldTable, when: string): Promise<HeldWrites> {
  await sql.unsafe(`CREATE OR REPLACE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared(${LOCK}); RETURN new; END $$`);
  const tables = await partitionsOf(sql, table);
  for (const one of tables)
    await sql.unsafe(`CREATE TRIGGER hold AFTER INSERT OR UPDATE ON ${one} FOR EACH ROW WHEN (${when})
    EXECUTE FUNCTION public.hold()`);
  const own = await sql.reserve();
  await own`SELECT pg_advisory_lock(${LOCK})`;
  return {
    standing: (count) => standing(sql, count),
    release: async () => {
      await own`SELECT pg_advisory_unlock(${LOCK})`;
      own.release();
      await waitFor(async () => (await waiting(sql)) === 0, { what: "every transaction to go on" });
      for (const one of tables) await sql.unsafe(`DROP TRIGGER hold ON ${one}`);
    },
  };
}

/** What `second` does while `first` is held before its commit: whether it waited for it, and what both came to. */
export async function whileHeld<A, B>(
  sql: postgres.Sql,
  hold: { readonly table: HeldTable; readonly when: string },
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<{ readonly first: A; readonly second: B; readonly waited: boolean }> {
  const held = await holdWrites(sql, hold.table, hold.when);
  let over = false;
  const one = first();
  const begin = async (): Promise<{ readonly two: Promise<B>; readonly waited: boolean }> => {
    try {
      await held.standing(1);
      const two = second().finally(() => {
        over = true;
      });
      await Promise.race([held.standing(2), two]);
      return { two, waited: !over };
    } finally {
      await held.release();
    }
  };
  const [made, { two, waited }] = await Promise.all([one, begin()]);
  return { first: made, second: await two, waited };
}
