/** Times as people write them. */

/** The furthest that a date can be from 1970; a wait of no end is that far. */
const MAX_DATE_MS = 8.64e15;

/** ISO 8601, in UTC, with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(Math.max(-MAX_DATE_MS, Math.min(MAX_DATE_MS, ms))).toISOString();
}

export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
