/** Points in time as callers of the API, and of commands, write them: ISO 8601 with a zone, or milliseconds since 1970. */

/** A date alone is its beginning in UTC; a time without a zone could be any. */
const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2}))?$/i;
export const MILLIS = /^\d{1,16}$/;

/** NaN: it is none. */
export function instantMs(text: string): number {
  if (MILLIS.test(text)) return Number(text);
  if (!ISO.test(text)) return Number.NaN;
  // The 31st of February would be read as a day of March.
  const [year, month, day] = text.slice(0, 10).split("-").map(Number) as [number, number, number];
  return day <= daysOf(year, month) ? Date.parse(text) : Number.NaN;
}

/** What a `Date` can be. */
export const isInstant = (ms: number): boolean => Number.isFinite(ms) && Math.abs(ms) <= 8.64e15;

const daysOf = (year: number, month: number): number => new Date(Date.UTC(year, month, 0)).getUTCDate();
