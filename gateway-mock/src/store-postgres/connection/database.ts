/**
 * Owns the connections and how often a call is tried again: pool, timeouts, backoff, the settings of every session.
 * Everything else of this store asks it for queries.
 */
import { setMaxListeners } from "node:events";
import { backoffDelayMs, type Log, type Random, sleep, type Timers, withTimeout } from "@holdfast/core";
import type postgres from "postgres";
import { type Availability, createAvailability, STOOD_STILL_MS } from "./availability.ts";
import { type ConnectionSettings, noAnswer, openConnections, type Sessions } from "./connections.ts";
import { createDoubts, type Doubts } from "./doubts.ts";
import type { KnownServer } from "./known-server.ts";
import { isNotOpened, isTimeout, safeMessage, storeFailed, troubleOf, WritesRefused } from "./pg-errors.ts";
import type { Pool } from "./pool.ts";
import { type Param, type Query, queryOn, realTime, type TimeSource } from "./query.ts";
import { createWriteProbe, type WriteProbe } from "./write-probe.ts";

/** Everything that the parts of the store share. */
export interface DatabaseOptions {
  readonly url: string;
  /** Upper limit of connections of this store, all purposes together. */
  readonly maxConnections: number;
  /** How long a lost database is waited for before a call is rejected. */
  readonly retryForMs: number;
  readonly timers: Timers;
  readonly random: Random;
  readonly monotonicMs: () => number;
  readonly log: Log;
  /** Default: the server's. */
  readonly time?: TimeSource;
}

/** One statement with its parameters. */
export interface Statement {
  readonly text: string;
  readonly params: readonly Param[];
}

/** One connection more than these two is the least that works: the writer and the listener have one each. */
export const OWN_CONNECTIONS = 2;

/** Whether the writer has a place for a second connection, on which it compares the database before it leaves the first. */
export const comparesBeside = ({ maxConnections }: DatabaseOptions): boolean => maxConnections > OWN_CONNECTIONS + 1;

const RETRY_BACKOFF = { baseMs: 20, factor: 2, maxMs: 1000, jitter: 0.2 } as const;
/** Longer than the server's own limit for a statement, so that the server speaks first. */
const QUERY_TIMEOUT_MS = 40_000;
const LEAST_TIMEOUT_MS = 5_000;

export interface Database {
  readonly options: DatabaseOptions;
  readonly availability: Availability;
  /** One try, for at most so long. */
  once(text: string, limitMs: number): Promise<void>;
  /** Resolves when it is right to claim: see `Availability`. Rejects while nothing can be written. */
  settled(): Promise<void>;
  /** Whether it is still the one that acknowledged what it acknowledged. */
  readonly doubts: Doubts;
  /** The one that is written to. */
  readonly server: KnownServer;
  /** Asks whether writes work, after one was refused as if they did not. */
  readonly acceptsWrites: WriteProbe;
  /** Nothing could be written for a while: nothing is claimed, and the database counts as away, until something is. */
  suspectWrites(): void;
  /** As `answer`; suspects that no write ends when it takes long. For what is asked all the time. */
  attended<T>(answer: Promise<T>): Promise<T>;
  /** A statement that may be repeated: tried again after lost connections and conflicts, until `retryForMs`. */
  readonly query: Query;
  /** One try of a statement. Rejects with the driver's error. */
  readonly attempt: Query;
  /** Like `query`, for more than one statement or a non-repeatable one: `work` runs again from its start. */
  retrying<T>(what: string, work: (query: Query, attempt: number) => Promise<T>): Promise<T>;
  /** Like `retrying`, in one transaction. Where its fate is unknown `work` runs again, so it must bear that. */
  transaction<T>(what: string, work: (query: Query) => Promise<T>): Promise<T>;
  readonly sessions: Sessions;
  /** A separate connection of its own instance; the caller ends it, and sets its settings where that is by statements. */
  connect(settings: ConnectionSettings): postgres.Sql;
  /** Waits before try `attempt` + 1; false when it is too late (since `startedMs`) or the store closes. */
  waitToRetry(startedMs: number, attempt: number): Promise<boolean>;
  close(): Promise<void>;
}

const beginOn = <T>(pool: Pool, time: TimeSource, work: (query: Query) => Promise<T>): Promise<T> =>
  pool.client.begin((transaction) => work(queryOn(transaction, time)));

export function openDatabase(options: DatabaseOptions): Database {
  const { url, timers, random, log, monotonicMs, time = realTime } = options;
  const closing = new AbortController();
  // As many waits as there are calls while the database is away.
  setMaxListeners(0, closing.signal);
  const doubts = createDoubts({ timers, random, log, url, backoff: RETRY_BACKOFF, closing: closing.signal });
  const availability = createAvailability({ url, timers, log, monotonicMs });
  const maxPooled = options.maxConnections - OWN_CONNECTIONS - (comparesBeside(options) ? 1 : 0);
  const { pool, server, sessions, connect } = openConnections({ url, maxPooled, timers, log, monotonicMs, doubts });
  const acceptsWrites = createWriteProbe({
    connect: () => connect({ name: "probe" }),
    availability,
    timers,
    random,
    log,
    url,
    closing: closing.signal,
    onWritable: () => pool.writable(),
  });
  const suspectWrites = (): void => suspect(availability, acceptsWrites);
  const plain: Query = async <R extends object>(text: string, params: readonly Param[] = []): Promise<R[]> =>
    (await pool.client.run(time.sql(text), params)) as R[];
  const limitMs = Math.min(QUERY_TIMEOUT_MS, Math.max(LEAST_TIMEOUT_MS, options.retryForMs));
  const timed: Query = (text, params) => withTimeout(timers, plain(text, params), limitMs, noAnswer);

  const waitToRetry = async (startedMs: number, attempt: number): Promise<boolean> => {
    if (closing.signal.aborted || monotonicMs() - startedMs >= options.retryForMs) return false;
    await sleep(timers, backoffDelayMs(RETRY_BACKOFF, attempt, random), closing.signal);
    return !closing.signal.aborted;
  };

  const retrying = async <T>(what: string, work: (query: Query, attempt: number) => Promise<T>): Promise<T> => {
    const startedMs = monotonicMs();
    for (let attempt = 1; ; attempt += 1) {
      try {
        const result = await time.during(() => work(timed, attempt));
        availability.recordAnswer();
        return result;
      } catch (error) {
        const trouble = troubleOf(error);
        if (trouble !== "data") availability.recordTrouble(error, trouble);
        if (trouble === "connection" && !isNotOpened(error)) doubts.add();
        if (isTimeout(error)) suspectWrites();
        if (trouble === "unwritable") {
          pool.refused(error);
          void acceptsWrites();
        }
        if (trouble === "data" || !(await waitToRetry(startedMs, attempt))) throw storeFailed(what, error, url);
        log("debug", `${what}: ${safeMessage(error, url)}; retrying`, { attempt });
      }
    }
  };

  return {
    options,
    availability,
    doubts,
    server,
    attempt: (text, params) => time.during(() => timed(text, params)),
    retrying,
    transaction: (what, work) =>
      retrying(what, () => withTimeout(timers, beginOn(pool, time, work), limitMs, noAnswer)),
    async once(text, limitMs) {
      try {
        await withTimeout(timers, plain(text), limitMs, noAnswer);
      } catch (error) {
        throw storeFailed("The database could not be reached", error, url);
      }
      availability.recordAnswer();
    },
    acceptsWrites,
    suspectWrites,
    attended: (answer) => attended(answer, timers, suspectWrites),
    settled: () => settled({ availability, acceptsWrites, doubts, ask: timed, closing: closing.signal }),
    waitToRetry,
    query: (text, params) => retrying("The database rejected a query", (query) => query(text, params)),
    connect,
    sessions,
    async close() {
      closing.abort();
      await pool.end();
    },
  };
}

function suspect(availability: Availability, acceptsWrites: WriteProbe): void {
  availability.recordNoAnswer();
  void acceptsWrites();
}

async function attended<T>(answer: Promise<T>, timers: Timers, onLate: () => void): Promise<T> {
  const alarm = timers.set(STOOD_STILL_MS, onLate, { unref: true });
  try {
    return await answer;
  } finally {
    alarm.cancel();
  }
}

interface Settling extends Pick<Database, "availability" | "acceptsWrites" | "doubts"> {
  readonly ask: Query;
  readonly closing: AbortSignal;
}

async function settled({ availability, acceptsWrites, doubts, ask, closing }: Settling): Promise<void> {
  if (availability.refuses) {
    if (!(await acceptsWrites())) throw new WritesRefused("The database accepts no writes");
  } else if (!availability.health().ok) {
    await ask("SELECT 1 AS one");
    availability.recordAnswer();
  }
  await doubts.settle();
  await availability.settled(closing);
}
