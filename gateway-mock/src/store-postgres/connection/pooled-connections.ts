/**
 * Connections side by side, of which calls see only those that have answered: the driver's own pool gives a call to a
 * connection that is still to be opened, and the call waits there however many others are open.
 */
import { invariant } from "@holdfast/core";
import type postgres from "postgres";
import { begin } from "./begin.ts";
import { ConnectionLost } from "./pg-errors.ts";
import type { PoolClient } from "./pool.ts";
import type { Row } from "./query.ts";

/** After an opening that failed the open ones are enough for so long. */
const REOPEN_MS = 1_000;

export interface PooledConnectionsParts {
  readonly count: number;
  /** One connection; none is opened yet. `onclose`: it has ended, or has not come up. */
  readonly open: (onclose: () => void) => postgres.Sql;
  /** What each connection is asked before anything else. Where it rejects the connection is not used. */
  readonly enter: (sql: postgres.Sql) => Promise<unknown>;
  readonly monotonicMs: () => number;
  /** A connection has ended that was in use. */
  readonly onLost: () => void;
  /** One has not come up; so many are open. */
  readonly onFailed: (error: unknown, openCount: number) => void;
}

interface PooledConnection {
  sql: postgres.Sql | null;
  users: number;
  isOpen: boolean;
  opening: Promise<void> | null;
}

interface OpenedConnection extends PooledConnection {
  sql: postgres.Sql;
}

const isOpened = (one: PooledConnection): one is OpenedConnection => one.isOpen && one.sql !== null;

/**
 * POOLED-1. While a connection is open, no call waits for another one to be opened.
 * POOLED-2. Nothing is sent on a connection before it has been entered, also when it has ended and is opened again.
 * POOLED-3. A connection that never came up has not ended: nothing that was acknowledged was behind it.
 */
export function pooledConnections(parts: PooledConnectionsParts): PoolClient {
  const all = Array.from(
    { length: parts.count },
    (): PooledConnection => ({ sql: null, users: 0, isOpen: false, opening: null }),
  );
  let failedMs = Number.NEGATIVE_INFINITY;
  let isEnding = false;

  const close = (one: PooledConnection, sql: postgres.Sql): void => {
    if (one.sql === sql) Object.assign(one, { sql: null, isOpen: false });
    // The driver would open it again for what waits on it, and nothing would be asked first.
    void sql.end({ timeout: 0 });
  };

  const openOne = async (one: PooledConnection): Promise<void> => {
    if (isEnding) throw new ConnectionLost("The pool of connections is closed");
    const sql = parts.open(() => {
      const wasOpen = one.sql === sql && one.isOpen;
      close(one, sql);
      if (wasOpen && !isEnding) parts.onLost();
    });
    one.sql = sql;
    try {
      await parts.enter(sql);
      if (one.sql === sql) one.isOpen = true;
    } catch (error) {
      close(one, sql);
      failedMs = parts.monotonicMs();
      if (!isEnding) parts.onFailed(error, all.filter(({ isOpen }) => isOpen).length);
      throw error;
    }
  };

  const opening = (one: PooledConnection): Promise<void> => {
    one.opening ??= openOne(one).finally(() => {
      one.opening = null;
    });
    return one.opening;
  };

  /** One more, beside the open ones, all of which are busy. */
  const grow = (): void => {
    if (isEnding || parts.monotonicMs() - failedMs < REOPEN_MS) return;
    const idle = all.find((one) => !one.isOpen && !one.opening);
    if (idle) opening(idle).catch(() => {});
  };

  const leastBusy = (): OpenedConnection | undefined => {
    let best: OpenedConnection | undefined;
    for (const one of all) if (isOpened(one) && (best === undefined || one.users < best.users)) best = one;
    return best;
  };

  const on = async <T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> => {
    let one = leastBusy();
    if (one !== undefined && one.users > 0) grow();
    while (one === undefined) {
      // Those that ask now wait for the first one; more are opened once it is busy.
      const first = all.find((other) => other.opening) ?? all[0];
      invariant(first !== undefined, "a pool has a connection");
      await opening(first);
      one = leastBusy();
    }
    one.users += 1;
    try {
      return await work(one.sql);
    } finally {
      one.users -= 1;
    }
  };

  return {
    run: (text, params) => on(async (sql) => await sql.unsafe<Row[]>(text, [...params], { prepare: true })),
    begin: (work) => on((sql) => begin(sql, work)),
    async end(seconds) {
      isEnding = true;
      await Promise.all(all.map(({ sql }) => sql?.end({ timeout: seconds })));
    },
  };
}
