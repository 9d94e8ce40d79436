import { type Log, sleep, type Timers } from "@holdfast/core";
import type { DatabaseHealth } from "../port/index.ts";
import { type PgTrouble, safeMessage } from "./pg-errors.ts";

/** A connection breaks now and then; the database is away once nothing has worked for this long. */
const AWAY_AFTER_MS = 500;
/**
 * While the database was away nobody could extend a lease, so those that ended did not end because their worker is gone.
 * For this long after its return nothing is claimed: every gateway's extensions go first.
 */
export const SETTLE_MS = 3_000;
/** Warnings of one kind are this far apart, with a count of those between. */
const WARN_EVERY_MS = 10_000;
/** A commit that takes longer is told. */
const SLOW_COMMIT_MS = 2_000;

export interface Availability {
  /** A call was answered. */
  answered(): void;
  /** A call met trouble that may pass. */
  troubled(error: unknown, trouble: PgTrouble): void;
  /** A commit took so long, from its first statement to its answer. */
  committed(tookMs: number): void;
  health(): DatabaseHealth;
  /** Resolves when it is right to claim: not within `SETTLE_MS` of the database's return. */
  settled(signal: AbortSignal): Promise<void>;
}

export interface AvailabilityOptions {
  readonly url: string;
  readonly timers: Timers;
  readonly log: Log;
  readonly monotonicMs: () => number;
}

/** What the calls that work and fail tell of the database. */
export function createAvailability({ url, timers, log, monotonicMs }: AvailabilityOptions): Availability {
  let firstTroubleMs: number | null = null;
  let lastError = "";
  let away = false;
  let outages = 0;
  let awayMsBefore = 0;
  let conflicts = 0;
  let settledAtMs = Number.NEGATIVE_INFINITY;
  const repeats = occasionally(log, monotonicMs);
  const slowness = occasionally(log, monotonicMs);

  const awayMs = (): number => (away && firstTroubleMs !== null ? monotonicMs() - firstTroubleMs : 0);

  return {
    answered() {
      if (away) {
        const tookMs = awayMs();
        awayMsBefore += tookMs;
        away = false;
        settledAtMs = monotonicMs() + SETTLE_MS;
        const leases = `Leases that ended meanwhile are left to their holders for ${SETTLE_MS / 1000} s.`;
        log("warn", `The database is back after ${(tookMs / 1000).toFixed(1)} s. ${leases}`);
      }
      firstTroubleMs = null;
    },
    troubled(error, trouble) {
      lastError = safeMessage(error, url);
      if (trouble === "conflict") {
        conflicts += 1;
        repeats(`The database undid work, which is tried again: ${lastError}`);
        return;
      }
      firstTroubleMs ??= monotonicMs();
      if (away || monotonicMs() - firstTroubleMs < AWAY_AFTER_MS) return;
      away = true;
      outages += 1;
      log("error", `The database is away: ${lastError}. What apps work on is kept, and is stored once it is back.`);
    },
    committed(tookMs) {
      if (tookMs >= SLOW_COMMIT_MS) slowness(`The database is slow: a commit took ${Math.round(tookMs)} ms.`);
    },
    health: () => ({
      ok: !away,
      awayMs: Math.round(awayMs()),
      error: away ? lastError : null,
      outages,
      awayMsTotal: Math.round(awayMsBefore + awayMs()),
      conflicts,
    }),
    async settled(signal) {
      for (let leftMs = settledAtMs - monotonicMs(); leftMs > 0; leftMs = settledAtMs - monotonicMs()) {
        await sleep(timers, leftMs, signal);
        if (signal.aborted) return;
      }
    },
  };
}

/** Warns at once, then at most every ten seconds, with how often it was meanwhile. */
function occasionally(log: Log, monotonicMs: () => number): (message: string) => void {
  let warnedAtMs = Number.NEGATIVE_INFINITY;
  let since = 0;
  return (message) => {
    since += 1;
    if (monotonicMs() - warnedAtMs < WARN_EVERY_MS) return;
    log("warn", since > 1 ? `${message} (${since} times since it was last told)` : message);
    warnedAtMs = monotonicMs();
    since = 0;
  };
}
