/** What the newest runs of a function, or of all, say: how many failed, how long they waited and took. Pure. */
import { countText } from "./format.ts";
import { isEnded, type Run } from "./types.ts";

export interface RunStats {
  readonly count: number;
  readonly ended: number;
  readonly failed: number;
  readonly going: number;
  /** Made in a minute, as far as the newest tell; null: of too few. */
  readonly perMinute: number | null;
  /** Of those that have ended or begun; null: of none. */
  readonly tookMs: Percentiles | null;
  readonly queuedMs: Percentiles | null;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

export function statsOf(runs: readonly Run[]): RunStats {
  const ended = runs.filter(({ status }) => isEnded(status));
  return {
    count: runs.length,
    ended: ended.length,
    failed: ended.filter(({ status }) => status === "FAILED").length,
    going: runs.length - ended.length,
    perMinute: perMinute(runs.map(({ createdMs }) => createdMs)),
    tookMs: percentiles(
      ended.flatMap(({ endedMs, startedMs }) => (endedMs === null || startedMs === null ? [] : [endedMs - startedMs])),
    ),
    queuedMs: percentiles(
      runs.flatMap(({ startedMs, createdMs }) => (startedMs === null ? [] : [startedMs - createdMs])),
    ),
  };
}

/** A rate from a few moments says nothing. */
const ENOUGH = 10;

function perMinute(createdMs: readonly number[]): number | null {
  if (createdMs.length < ENOUGH) return null;
  const tookMs = Math.max(...createdMs) - Math.min(...createdMs);
  return tookMs <= 0 ? null : (60_000 * (createdMs.length - 1)) / tookMs;
}

/** `12`, `3.4`, `0.02`. */
export const rateText = (rate: number): string =>
  rate >= 100 ? countText(Math.round(rate)) : String(Number(rate.toPrecision(2)));

export function percentiles(values: readonly number[]): Percentiles | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

export const partText = (part: number, whole: number): string =>
  whole === 0 ? "none" : `${((100 * part) / whole).toFixed(part === 0 || part === whole ? 0 : 1)} %`;
