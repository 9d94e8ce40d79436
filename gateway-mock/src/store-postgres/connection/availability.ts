/**
 * Knows whether the database can be used, from what calls experience, and logs one line per outage instead of one per
 * call.
 */
import { type Log, sleep, type Timers } from "@holdfast/core";
import type { DatabaseHealth } from "@holdfast/store";

import { type PgTrouble, safeMessage } from "./pg-errors.ts";

/** A connection breaks now and then; the database is away once nothing has worked for this long. */
const AWAY_AFTER_MS = 500;
/**
 * While the database was unavailable no gateway could extend a lease, so leases that expired did not expire because
 * their worker is gone. For this long after its return nothing is claimed: every gateway's extensions come first.
 */
export const SETTLE_MS = 3_000;
/** Warnings of one kind are this far apart, with a count of those between. */
const WARN_EVERY_MS = 10_000;
/** What takes longer to be answered may have found the database standing still: leases could not be extended. */
export const STOOD_STILL_MS = 5_000;
/** A write of the gateway's own is answered within this where only one statement had to wait. */
const PROBED_MS = 2_000;
/** A commit that takes longer is logged. */
const SLOW_COMMIT_MS = 2_000;

export interface Availability {
  /** A call was answered; it may have been one that only reads. */
  recordAnswer(): void;
  /** Something was written. */
  recordWrite(): void;
  /** A call met trouble that may pass. `unwritable` may be the call's own: `refused` says so of the database. */
  recordTrouble(error: unknown, trouble: Exclude<PgTrouble, "data">): void;
  /** A write that is no trouble in itself was refused: the database takes none. */
  recordRefusal(error: unknown): void;
  /**
   * No write may end, though reads are answered: as while the only synchronous standby is away, or no connection is given
   * to write on. It is so until something is written.
   */
  recordNoAnswer(): void;
  /** Whether writes are refused, or do not end, while other calls are answered. */
  readonly refuses: boolean;
  /** The database is another one, or an earlier one: other gateways have something to say first, as after an outage. */
  recordMoved(): void;
  /** A statement was answered after so long. */
  recordDuration(tookMs: number): void;
  /** A commit took so long, from its first statement to its answer. */
  recordCommit(tookMs: number): void;
  health(): Omit<DatabaseHealth, "commitsLost">;
  /** Resolves when it is right to claim: not within `SETTLE_MS` of the database's return. */
  settled(signal: AbortSignal): Promise<void>;
}

export interface AvailabilityOptions {
  readonly url: string;
  readonly timers: Timers;
  readonly log: Log;
  readonly monotonicMs: () => number;
}

/** What successful and failed calls say about the database. */
export function createAvailability({ url, timers, log, monotonicMs }: AvailabilityOptions): Availability {
  let firstTroubleMs: number | null = null;
  let lastError = "";
  let away = false;
  let refuses = false;
  let failures = 0;
  let outages = 0;
  let awayMsBefore = 0;
  let conflicts = 0;
  const repeats = occasionally(log, monotonicMs);
  const settling = createSettling({ timers, log, monotonicMs });

  const awayMs = (): number => (away && firstTroubleMs !== null ? monotonicMs() - firstTroubleMs : 0);

  const over = (): void => {
    if (away) {
      const tookMs = awayMs();
      awayMsBefore += tookMs;
      away = false;
      settling.begin();
      const back = `The database is back after ${(tookMs / 1000).toFixed(1)} s`;
      log("warn", `${back}; ${failures} calls failed meanwhile and were retried. ${KEPT}`);
    }
    firstTroubleMs = null;
    failures = 0;
  };

  const down = (error: unknown, what: string): void => {
    lastError = safeMessage(error, url);
    firstTroubleMs ??= monotonicMs();
    if (away || monotonicMs() - firstTroubleMs < AWAY_AFTER_MS) return;
    away = true;
    outages += 1;
    log("error", `The database ${what}: ${lastError}. Work in flight is kept and stored once the database is back.`);
  };

  return {
    recordAnswer() {
      if (!refuses) over();
    },
    recordWrite() {
      refuses = false;
      over();
    },
    recordTrouble(error, trouble) {
      if (trouble === "conflict") {
        conflicts += 1;
        repeats(`The database rolled back a transaction, which is retried: ${safeMessage(error, url)}`);
        return;
      }
      failures += 1;
      if (trouble === "connection") down(error, "is away");
    },
    recordRefusal(error) {
      refuses = true;
      down(error, "accepts no writes");
    },
    recordNoAnswer() {
      if (refuses) return;
      refuses = true;
      const noWrite = new Error("no write has ended for some seconds");
      down(noWrite, NO_END);
      timers.set(PROBED_MS, () => refuses && down(noWrite, NO_END), { unref: true });
    },
    get refuses() {
      return refuses;
    },
    recordMoved: settling.begin,
    recordDuration: settling.recordDuration,
    recordCommit: settling.recordCommit,
    health: () => ({
      ok: !away,
      awayMs: Math.round(awayMs()),
      error: away ? lastError : null,
      outages,
      awayMsTotal: Math.round(awayMsBefore + awayMs()),
      conflicts,
    }),
    settled: settling.end,
  };
}

const NO_END = "does not finish writes";
const KEPT = `Leases that expired meanwhile are kept for their workers for ${SETTLE_MS / 1000} s.`;

interface Settling extends Pick<Availability, "recordDuration" | "recordCommit"> {
  begin(): void;
  /** Resolves when it is over. */
  end(signal: AbortSignal): Promise<void>;
}

/** When it is right to claim again, after an outage or a long wait for an answer. */
function createSettling({ timers, log, monotonicMs }: Omit<AvailabilityOptions, "url">): Settling {
  let endsAtMs = Number.NEGATIVE_INFINITY;
  const slowness = occasionally(log, monotonicMs);
  const begin = (): void => {
    endsAtMs = Math.max(endsAtMs, monotonicMs() + SETTLE_MS);
  };
  const recordDuration = (tookMs: number): void => {
    if (tookMs < STOOD_STILL_MS) return;
    begin();
    slowness(`The database took ${(tookMs / 1000).toFixed(1)} s to answer. ${KEPT}`);
  };
  return {
    begin,
    recordDuration,
    recordCommit(tookMs) {
      recordDuration(tookMs);
      const isSaid = tookMs < SLOW_COMMIT_MS || tookMs >= STOOD_STILL_MS;
      if (!isSaid) slowness(`The database is slow: a commit took ${Math.round(tookMs)} ms.`);
    },
    async end(signal) {
      for (let leftMs = endsAtMs - monotonicMs(); leftMs > 0; leftMs = endsAtMs - monotonicMs()) {
        await sleep(timers, leftMs, signal);
        if (signal.aborted) return;
      }
    },
  };
}

/** Warns at once, then at most every ten seconds, with how often it was meanwhile. */
export function occasionally(log: Log, monotonicMs: () => number): (message: string) => void {
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  let since = 0;
  return (message) => {
    since += 1;
    if (monotonicMs() - warnedAtMs < WARN_EVERY_MS) return;
    log("warn", since > 1 ? `${message} (${since} times since it was last logged)` : message);
    warnedAtMs = monotonicMs();
    since = 0;
  };
}
