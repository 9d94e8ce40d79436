/**
 * Opens the connections of a store: each by itself, and the pool, whose connections lead to the server that is written to
 * or are not used.
 */
import { type Log, type Timers, withTimeout } from "@holdfast/core";
import type postgres from "postgres";
import { occasionally } from "./availability.ts";
import type { Doubts } from "./doubts.ts";
import { openDriver } from "./driver.ts";
import { KnownServer } from "./known-server.ts";
import { ConnectionLost, safeMessage } from "./pg-errors.ts";
import { openPool, type Pool } from "./pool.ts";
import { pooledConnections } from "./pooled-connections.ts";
import { queryOn } from "./query.ts";
import { readServerIdentity } from "./server-identity.ts";
import { SET_SETTINGS, type SettingsBy, startupSettings } from "./session-settings.ts";

const ENTER_MS = 15_000;

/** How sessions get their settings. Default `startup`. */
export interface Sessions {
  readonly settingsBy: SettingsBy;
  setSettingsBy(by: SettingsBy): void;
}

export interface ConnectionSettings {
  /** Shown in `pg_stat_activity`. */
  readonly name: string;
  readonly onclose?: () => void;
  readonly onnotify?: (channel: string, payload: string) => void;
}

/** One connection. With `statements` the settings of its session are set by the caller. */
export function connectPostgres(url: string, settings: ConnectionSettings, by: SettingsBy = "startup"): postgres.Sql {
  return openDriver(url, {
    max: 1,
    fetch_types: false,
    max_lifetime: null,
    connect_timeout: 10,
    // Seconds between tries of the driver's own, which it makes for ever while a server takes connections and drops
    // them.
    backoff: () => 0.05,
    onnotice: () => {},
    ...(settings.onclose ? { onclose: settings.onclose } : {}),
    // Read by the driver, not yet in its types.
    ...(settings.onnotify ? { onnotify: settings.onnotify } : {}),
    connection: startupSettings(`holdfast-gateway ${settings.name}`, by),
  });
}

export const noAnswer = (): Error => new ConnectionLost("The database did not respond");

export interface Connections {
  readonly pool: Pool;
  readonly server: KnownServer;
  readonly sessions: Sessions;
  connect(settings: ConnectionSettings): postgres.Sql;
}

export interface ConnectionsParts {
  readonly url: string;
  readonly maxPooled: number;
  readonly timers: Timers;
  readonly log: Log;
  readonly monotonicMs: () => number;
  readonly doubts: Doubts;
}

/** Opens none yet. */
export function openConnections({ url, maxPooled, timers, log, monotonicMs, doubts }: ConnectionsParts): Connections {
  const server = new KnownServer();
  const failures = occasionally(log, monotonicMs);
  let settingsBy: SettingsBy = "startup";
  const connect = (settings: ConnectionSettings): postgres.Sql => connectPostgres(url, settings, settingsBy);
  const enter = async (sql: postgres.Sql): Promise<void> => {
    if (settingsBy === "statements") await sql.unsafe(SET_SETTINGS);
    await compare(sql, server, doubts);
  };
  const open = (onclose: () => void): postgres.Sql => connect({ name: "pool", onclose });
  const pool = openPool(() =>
    pooledConnections({
      count: maxPooled,
      open,
      enter: (sql) => withTimeout(timers, enter(sql), ENTER_MS, noAnswer),
      monotonicMs,
      onLost: doubts.add,
      onFailed(error, openCount) {
        // Where none is open each call says so itself.
        if (openCount === 0) return;
        const why = safeMessage(error, url);
        failures(
          `No further connection to the database could be opened: ${why}. The gateway goes on with those that are open: ${openCount}.`,
        );
      },
    }),
  );
  server.onMove(() => pool.renew());
  const sessions: Sessions = {
    get settingsBy() {
      return settingsBy;
    },
    setSettingsBy(by) {
      if (by === settingsBy) return;
      settingsBy = by;
      pool.renew();
    },
  };
  return { pool, server, sessions, connect };
}

/** What is asked of a connection of the pool, which is not used unless its server is the one that is written to. */
async function compare(sql: postgres.Sql, known: KnownServer, doubts: Doubts): Promise<void> {
  const server = await readServerIdentity(queryOn(sql));
  const relation = known.relationOf(server);
  if (relation === "same") return;
  // The writer looks whether it has to follow.
  if (relation === "other") doubts.add();
  throw new ConnectionLost(known.refusalOf(server));
}
