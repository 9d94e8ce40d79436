/** Finds out whether a database that refuses writes takes them again, with a write of the gateway's own. */
import { backoffDelayMs, type Log, type Random, sleep, type Timers, withTimeout } from "@holdfast/core";
import type postgres from "postgres";
import type { Availability } from "./availability.ts";
import { ConnectionLost, safeMessage, troubleOf } from "./pg-errors.ts";

/**
 * Writes what a busy moment writes, 64 KiB that cannot be compressed away, and undoes it. A small row would still find
 * room on a full disk.
 */
const PROBE = `DO $$ BEGIN
  INSERT INTO holdfast.events (id, name, ts, received_at, run_ids, payload)
  SELECT 'probe-' || random(), 'probe', now(), now(), '', string_agg(md5(random()::text), '')
  FROM generate_series(1, 2048);
  RAISE EXCEPTION 'undone' USING ERRCODE = 'HF001';
EXCEPTION WHEN SQLSTATE 'HF001' THEN NULL; END $$`;

const PROBE_BACKOFF = { baseMs: 50, factor: 2, maxMs: 1000, jitter: 0.2 } as const;
const PROBE_TIMEOUT_MS = 10_000;

export interface WriteProbeParts {
  /** A connection of its own: one of the pool may be read-only by what its session began with. */
  readonly connect: () => postgres.Sql;
  readonly availability: Availability;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly url: string;
  readonly closing: AbortSignal;
  /** Writes work, after some were refused. */
  readonly onWritable: () => void;
}

/**
 * A call was refused as if nothing could be written: finds out whether that is so, and tries until something can.
 * Resolves with the answer of the first try from now on: true = it was the call's own trouble, or its connection's.
 */
export type WriteProbe = () => Promise<boolean>;

export function createWriteProbe(parts: WriteProbeParts): WriteProbe {
  const { availability, timers, random, closing } = parts;
  let trying: Promise<boolean> | null = null;
  let looping = false;

  const tryOnce = (): Promise<boolean> => {
    trying ??= probe(parts).then((writable) => {
      trying = null;
      if (writable) {
        availability.recordWrite();
        parts.onWritable();
      }
      return writable;
    });
    return trying;
  };

  const loop = async (): Promise<void> => {
    looping = true;
    for (let attempt = 1; !closing.aborted; attempt += 1) {
      if (await tryOnce()) break;
      await sleep(timers, backoffDelayMs(PROBE_BACKOFF, attempt, random), closing);
    }
    looping = false;
  };

  return () => {
    const answer = tryOnce();
    if (!looping) void loop();
    return answer;
  };
}

async function probe({ connect, availability, timers, log, url }: WriteProbeParts): Promise<boolean> {
  const sql = connect();
  try {
    const answer = sql.unsafe(PROBE).simple();
    await withTimeout(timers, answer, PROBE_TIMEOUT_MS, () => new ConnectionLost("The database did not respond"));
    return true;
  } catch (error) {
    const trouble = troubleOf(error);
    if (trouble === "unwritable") availability.recordRefusal(error);
    else if (trouble !== "data") availability.recordTrouble(error, trouble);
    else log("debug", `Could not determine whether the database accepts writes: ${safeMessage(error, url)}`);
    return trouble === "data";
  } finally {
    await sql.end({ timeout: 0 });
  }
}
