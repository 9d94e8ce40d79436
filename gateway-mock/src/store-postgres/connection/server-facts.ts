/**
 * What a Postgres server says of itself, and whether its connections are sessions: facts for `doctor`, which judges them.
 * Connects as plainly as can be, so that a pooler between which refuses settings can be asked, too.
 */
import { randomBytes } from "node:crypto";
import { HoldfastError, sleep, systemClock, systemTimers, withTimeout } from "@holdfast/core";
import type postgres from "postgres";
import { connectPostgres } from "./connections.ts";
import { openDriver } from "./driver.ts";
import { safeMessage } from "./pg-errors.ts";
import { isStartupRefusal, SET_SETTINGS, type SettingsBy } from "./session-settings.ts";
import { type Sessions, sessionsOf } from "./sessions.ts";

export interface ServerFacts {
  readonly version: string;
  readonly versionNumber: number;
  readonly settings: Readonly<Record<ServerSetting, string>>;
  /** A standby, which takes no writes. */
  readonly isInRecovery: boolean;
  readonly mayCreate: boolean;
  /** Connections that are open, of all programs. */
  readonly usedConnections: number;
  /** How far the server's clock is ahead of ours, and how exact that is. */
  readonly aheadMs: number;
  readonly roundTripMs: number;
  readonly sessions: Sessions;
  /** Whether what one connection is told by NOTIFY arrives at another that listens. */
  readonly notifies: boolean;
  /** Why the settings of a gateway's sessions are refused, at the start and by statements; null: they are taken. */
  readonly refusedSettings: string | null;
}

const SETTINGS = [
  "fsync",
  "full_page_writes",
  "synchronous_commit",
  "transaction_read_only",
  "max_connections",
  "superuser_reserved_connections",
] as const;
export type ServerSetting = (typeof SETTINGS)[number];

const NOTIFY_MS = 2_000;
const TURNS = 5;

/** @throws HoldfastError `DATABASE_UNREACHABLE` */
export async function readServerFacts(url: string): Promise<ServerFacts> {
  const one = plainConnection(url);
  const other = plainConnection(url);
  try {
    const sessions = await sessionsOf(one, other);
    const clock = await clockOf(one);
    return {
      ...(await settingsOf(one)),
      ...clock,
      sessions,
      notifies: await notifies(url, one),
      refusedSettings: await refusedSettings(url),
    };
  } catch (error) {
    throw new HoldfastError("DATABASE_UNREACHABLE", `Postgres could not be reached: ${safeMessage(error, url)}.`, {
      cause: error,
    });
  } finally {
    await Promise.all([one.end({ timeout: 1 }), other.end({ timeout: 1 })]);
  }
}

function plainConnection(url: string, onnotify?: (channel: string, payload: string) => void): postgres.Sql {
  return openDriver(url, {
    max: 1,
    fetch_types: false,
    max_lifetime: null,
    connect_timeout: 5,
    onnotice: () => {},
    // Read by the driver, not yet in its types.
    ...(onnotify ? { onnotify } : {}),
    connection: { application_name: "holdfast-gateway doctor" },
  });
}

/** Unprepared, as a pooler in transaction mode may not know what was prepared. */
async function ask(sql: postgres.Sql, text: string): Promise<Readonly<Record<string, unknown>>> {
  const [row] = await sql.unsafe(text).simple();
  return row ?? {};
}

async function clockOf(sql: postgres.Sql): Promise<Pick<ServerFacts, "aheadMs" | "roundTripMs">> {
  let best = { aheadMs: 0, roundTripMs: Number.POSITIVE_INFINITY };
  for (let turn = 0; turn < TURNS; turn += 1) {
    const beganMs = systemClock.monotonicMs();
    const nowMs = systemClock.nowMs();
    const row = await ask(sql, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms");
    const roundTripMs = systemClock.monotonicMs() - beganMs;
    if (roundTripMs < best.roundTripMs) best = { aheadMs: Number(row.now_ms) - (nowMs + roundTripMs / 2), roundTripMs };
  }
  return best;
}

type Told = Pick<
  ServerFacts,
  "version" | "versionNumber" | "settings" | "isInRecovery" | "mayCreate" | "usedConnections"
>;

async function settingsOf(sql: postgres.Sql): Promise<Told> {
  const settings = SETTINGS.map((name) => `current_setting('${name}') AS ${name}`).join(", ");
  const row = await ask(
    sql,
    `SELECT ${settings}, current_setting('server_version') AS version,
      current_setting('server_version_num')::int AS version_number, pg_is_in_recovery() AS is_in_recovery,
      has_database_privilege(current_database(), 'CREATE') AS may_create,
      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS used`,
  );
  const isTrue = (value: unknown): boolean => value === true || value === "t";
  return {
    version: String(row.version).split(" ")[0] ?? "",
    versionNumber: Number(row.version_number),
    settings: Object.fromEntries(SETTINGS.map((name) => [name, String(row[name])])) as Record<ServerSetting, string>,
    isInRecovery: isTrue(row.is_in_recovery),
    mayCreate: isTrue(row.may_create),
    usedConnections: Number(row.used),
  };
}

/** Gateways wake each other so. */
async function notifies(url: string, sender: postgres.Sql): Promise<boolean> {
  const channel = `holdfast_doctor_${randomBytes(6).toString("hex")}`;
  let heard = (): void => {};
  const arrives = new Promise<true>((resolve) => {
    heard = () => resolve(true);
  });
  const listener = plainConnection(url, (from) => {
    if (from === channel) heard();
  });
  try {
    await ask(listener, `LISTEN ${channel}`);
    await ask(sender, `NOTIFY ${channel}, 'here'`);
    return await Promise.race([arrives, sleep(systemTimers, NOTIFY_MS).then(() => false)]);
  } catch {
    // A standby takes no LISTEN.
    return false;
  } finally {
    await listener.end({ timeout: 1 });
  }
}

async function refusedSettings(url: string): Promise<string | null> {
  const atStart = await refusal(url, "startup");
  return atStart !== null && isStartupRefusal(atStart) ? refusal(url, "statements") : atStart;
}

async function refusal(url: string, by: SettingsBy): Promise<string | null> {
  const sql = connectPostgres(url, { name: "doctor" }, by);
  try {
    const asked = sql.unsafe(by === "startup" ? "SELECT 1" : SET_SETTINGS);
    await withTimeout(systemTimers, asked, 5_000, () => new Error("no answer within 5 s"));
    return null;
  } catch (error) {
    return safeMessage(error, url);
  } finally {
    await sql.end({ timeout: 0 });
  }
}
