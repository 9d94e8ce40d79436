/**
 * The one connection over which group commits go. Its end is noticed at once, so that a commit's fate is looked up
 * instead of waited for.
 */
import { deferred, type Timers, withTimeout } from "@holdfast/core";
import type { ReservedSql, Sql } from "postgres";
import type { Database } from "./database.ts";
import { ConnectionLost } from "./pg-errors.ts";
import { type Query, queryOn } from "./query.ts";
import { SET_SETTINGS, SET_WRITER_SETTINGS, type SettingsBy } from "./session-settings.ts";

/**
 * One connection for transactions whose statements are sent without waiting for each other. Once the connection broke
 * the session is over: nothing may be sent on it any more (the driver would send it outside the transaction).
 */
export interface WriterSession {
  readonly query: Query;
  readonly alive: boolean;
  /**
   * Settles as `work` does, but at once with `ConnectionLost` when the connection breaks or nothing moves for too long.
   */
  guard<T>(work: Promise<T>): Promise<T>;
  end(): Promise<void>;
}

/** Longer than the server's limits for statements and idle transactions. */
const SILENCE_MS = 60_000;
const OPEN_MS = 10_000;

export async function openWriterSession(database: Database, timers: Timers): Promise<WriterSession> {
  const lost = deferred<never>();
  lost.promise.catch(() => {});
  let alive = true;
  let isOpened = false;
  const die = (): void => {
    alive = false;
    lost.reject(new ConnectionLost("The connection to the database broke"));
  };
  const onclose = (): void => {
    if (alive && isOpened) database.doubts.add();
    die();
  };
  const sql = database.connect({ name: "writer", onclose });
  const end = async (): Promise<void> => {
    die();
    await sql.end({ timeout: 0 });
  };
  try {
    const opened = openReserved(sql, database.sessions.settingsBy);
    const reserved = await withTimeout(timers, opened, OPEN_MS, () => new ConnectionLost("No answer"));
    isOpened = true;
    const plain = queryOn(reserved, database.options.time);
    return {
      get alive() {
        return alive;
      },
      query: (text, params) => (alive ? plain(text, params) : lost.promise),
      guard: (work) =>
        Promise.race([
          withTimeout(timers, work, SILENCE_MS, () => new ConnectionLost("The database did not respond")),
          lost.promise,
        ]),
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function openReserved(sql: Sql, settingsBy: SettingsBy): Promise<ReservedSql> {
  // The driver hands out a connection for keeps only once it is open.
  await queryOn(sql)("SELECT 1 AS one");
  const reserved = await sql.reserve();
  if (settingsBy === "statements") await reserved.unsafe(SET_SETTINGS);
  await reserved.unsafe(SET_WRITER_SETTINGS);
  return reserved;
}
