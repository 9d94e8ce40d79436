/** A pool of connections, opened anew once its sessions may be read-only although the server is not. */
import type postgres from "postgres";
import { begin } from "./begin.ts";
import { codeOf, READ_ONLY } from "./pg-errors.ts";
import { SET_SETTINGS } from "./session-settings.ts";

/** Running statements on discarded connections may finish. */
const RENEWAL_SECONDS = 5;
const END_SECONDS = 1;

type Param = string | number | boolean | null;
type Row = Record<string, unknown>;

/** Several connections, as those who ask something see them. */
export interface PoolClient {
  run(text: string, params: readonly Param[]): Promise<Row[]>;
  begin<T>(work: (transaction: postgres.TransactionSql) => Promise<T>): Promise<T>;
  end(seconds: number): Promise<void>;
}

/**
 * Connections that are opened anew once they may be read-only, by what their sessions began with, though new ones are
 * not.
 */
export interface Pool {
  readonly client: PoolClient;
  /** A call was refused. */
  refused(error: unknown): void;
  /** New sessions can write. */
  writable(): void;
  /** All calls from now on are on new connections. */
  renew(): void;
  end(): Promise<void>;
}

export function openPool(open: () => PoolClient): Pool {
  let client = open();
  let readOnly = false;
  let ended = false;
  const renew = (): void => {
    if (ended) return;
    readOnly = false;
    const old = client;
    client = open();
    void old.end(RENEWAL_SECONDS);
  };
  return {
    get client() {
      return client;
    },
    refused(error) {
      readOnly ||= codeOf(error) === READ_ONLY;
    },
    writable() {
      if (readOnly) renew();
    },
    renew,
    end() {
      ended = true;
      return client.end(END_SECONDS);
    },
  };
}

/** The driver's own pool: its connections begin with their settings. */
export const driversPool = (sql: postgres.Sql): PoolClient => ({
  run: async (text, params) => await sql.unsafe<Row[]>(text, [...params], { prepare: true }),
  begin: (work) => begin(sql, work),
  end: (seconds) => sql.end({ timeout: seconds }),
});

interface Lane {
  readonly sql: postgres.Sql;
  users: number;
  isSet: boolean;
}

/**
 * Connections that get their settings by a statement, before anything else is sent on them: a pooler takes none when a
 * connection starts. The driver does not say when it has opened one, so each is a pool of one. What waits while a
 * connection ends may be the first on the next one, without settings, once: they are for speed and limits.
 */
export function lanes(count: number, open: (onclose: () => void) => postgres.Sql): PoolClient {
  const all = Array.from({ length: count }, (): Lane => {
    const lane: Lane = { sql: open(() => Object.assign(lane, { isSet: false })), users: 0, isSet: false };
    return lane;
  });
  const on = async <T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> => {
    const lane = all.reduce((best, one) => (one.users < best.users ? one : best));
    lane.users += 1;
    if (!lane.isSet) {
      lane.isSet = true;
      // Statements of one connection are answered in their order; where this one fails so does the next.
      lane.sql.unsafe(SET_SETTINGS).catch(() => {
        lane.isSet = false;
      });
    }
    try {
      return await work(lane.sql);
    } finally {
      lane.users -= 1;
    }
  };
  return {
    run: (text, params) => on(async (sql) => await sql.unsafe<Row[]>(text, [...params], { prepare: true })),
    begin: (work) => on((sql) => begin(sql, work)),
    end: async (seconds) => void (await Promise.all(all.map(({ sql }) => sql.end({ timeout: seconds })))),
  };
}
