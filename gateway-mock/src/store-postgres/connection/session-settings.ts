/**
 * The settings of every session, and how they get there: with the start of a connection, or by a statement where a pooler
 * in between refuses that. A pooler that shares sessions transaction by transaction is refused (docs/decisions/0104).
 */
import { HoldfastError, messageOf } from "@holdfast/core";
import { openDriver } from "./driver.ts";
import { sessionsOf } from "./sessions.ts";

/** `statements`: by the caller that opens a session, before anything else. */
export type SettingsBy = "startup" | "statements";

const SETTINGS = {
  statement_timeout: 30_000,
  idle_in_transaction_session_timeout: 15_000,
  // What comes after a lock in a transaction is to see what those wrote whom the lock has waited for.
  default_transaction_isolation: "read committed",
  // Tables that were empty when a plan was made must not be read from end to end once they are full.
  enable_seqscan: "off",
  // Every statement is prepared once and short: planning it again costs more than it could save.
  plan_cache_mode: "force_generic_plan",
  jit: "off",
  // UTC, so that nothing depends on where a server stands.
  timezone: "UTC",
} as const;

const statementFor = (settings: Readonly<Record<string, string | number>>): string =>
  `SELECT ${Object.entries(settings)
    .map(([name, value]) => `set_config('${name}', '${value}', false)`)
    .join(", ")}`;

export const SET_SETTINGS = statementFor(SETTINGS);

/** Beside the others: rows that the writer asks for by a list of keys are locked in the order of the keys, as an index has them. */
export const SET_WRITER_SETTINGS = statementFor({ enable_bitmapscan: "off" });

/** What a connection says when it starts. Every pooler takes the name and the time zone. */
export function startupSettings(name: string, by: SettingsBy): Readonly<Record<string, string | number>> {
  return { application_name: name, ...(by === "startup" ? SETTINGS : { timezone: SETTINGS.timezone }) };
}

/** What PgBouncer says, and those that follow it. */
export const isStartupRefusal = (error: unknown): boolean => /startup parameter/i.test(messageOf(error));

/**
 * Finds out how settings get to the sessions of this address. What else may be wrong with it is said by who uses it.
 * @throws HoldfastError `DATABASE_POOLED` where sessions are shared
 */
export async function readSettingsBy(url: string): Promise<SettingsBy> {
  const plain = { max: 1, fetch_types: false, connect_timeout: 10, onnotice: () => {} };
  const sql = openDriver(url, { ...plain, connection: startupSettings("holdfast-gateway settings", "startup") });
  try {
    const rows = await sql.unsafe("SELECT pg_backend_pid() AS pid").simple();
    const given: unknown = rows.state;
    const isPooled =
      typeof given === "object" && given !== null && "pid" in given && given.pid !== Number(rows[0]?.pid);
    if (isPooled) await refuseShared(url);
    return "startup";
  } catch (error) {
    if (HoldfastError.is(error)) throw error;
    if (!isStartupRefusal(error)) return "startup";
    await refuseShared(url);
    return "statements";
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function refuseShared(url: string): Promise<void> {
  const plain = { max: 1, fetch_types: false, connect_timeout: 10, onnotice: () => {} };
  const [one, other] = [openDriver(url, plain), openDriver(url, plain)];
  try {
    if ((await sessionsOf(one, other)) !== "transactions") return;
  } finally {
    await Promise.all([one.end({ timeout: 1 }), other.end({ timeout: 1 })]);
  }
  throw new HoldfastError(
    "DATABASE_POOLED",
    "The database URL leads to a pooler that shares connections transaction by transaction: wake-ups, settings and prepared statements get lost there.",
  );
}
