/**
 * Connections side by side, of which calls see only those that have answered: the driver's own pool gives a call to a
 * connection that is still to be opened, and the call waits there however many others are open.
 */
import { invariant } from "@holdfast/core";
import type postgres from "postgres";
import { begin } from "./begin.ts";
import type { PoolClient } from "./pool.ts";
import type { Row } from "./query.ts";

/** After an opening that failed the open ones are enough for so long. */
const REOPEN_MS = 1_000;

export interface LanesParts {
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

interface Lane {
  sql: postgres.Sql | null;
  users: number;
  isOpen: boolean;
  opening: Promise<void> | null;
}

interface OpenLane extends Lane {
  sql: postgres.Sql;
}

const isOpened = (lane: Lane): lane is OpenLane => lane.isOpen && lane.sql !== null;

/**
 * LANES-1. While a connection is open, no call waits for another one to be opened.
 * LANES-2. Nothing is sent on a connection before it has been entered, also when it has ended and is opened again.
 * LANES-3. A connection that never came up has not ended: nothing that was acknowledged was behind it.
 */
export function lanes(parts: LanesParts): PoolClient {
  const all = Array.from({ length: parts.count }, (): Lane => ({ sql: null, users: 0, isOpen: false, opening: null }));
  let failedMs = Number.NEGATIVE_INFINITY;
  let isEnding = false;

  const close = (lane: Lane, sql: postgres.Sql, seconds = 0): void => {
    if (lane.sql === sql) Object.assign(lane, { sql: null, isOpen: false });
    // The driver would open it again for what waits on it, and nothing would be asked first.
    void sql.end({ timeout: seconds });
  };

  const openLane = async (lane: Lane): Promise<void> => {
    const sql = parts.open(() => {
      const wasOpen = lane.sql === sql && lane.isOpen;
      close(lane, sql);
      if (wasOpen && !isEnding) parts.onLost();
    });
    lane.sql = sql;
    try {
      await parts.enter(sql);
      if (lane.sql === sql) lane.isOpen = true;
    } catch (error) {
      close(lane, sql);
      failedMs = parts.monotonicMs();
      if (!isEnding) parts.onFailed(error, all.filter(({ isOpen }) => isOpen).length);
      throw error;
    }
  };

  const opening = (lane: Lane): Promise<void> => {
    lane.opening ??= openLane(lane).finally(() => {
      lane.opening = null;
    });
    return lane.opening;
  };

  /** One more, beside the open ones, all of which are busy. */
  const grow = (): void => {
    if (isEnding || parts.monotonicMs() - failedMs < REOPEN_MS) return;
    const idle = all.find((lane) => !lane.isOpen && !lane.opening);
    if (idle) opening(idle).catch(() => {});
  };

  const leastBusy = (): OpenLane | undefined => {
    let best: OpenLane | undefined;
    for (const lane of all) if (isOpened(lane) && (best === undefined || lane.users < best.users)) best = lane;
    return best;
  };

  const on = async <T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> => {
    let lane = leastBusy();
    if (lane !== undefined && lane.users > 0) grow();
    while (lane === undefined) {
      // Those that ask now wait for the first one; more are opened once it is busy.
      const first = all.find((one) => one.opening) ?? all[0];
      invariant(first !== undefined, "a pool has a connection");
      await opening(first);
      lane = leastBusy();
    }
    lane.users += 1;
    try {
      return await work(lane.sql);
    } finally {
      lane.users -= 1;
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
