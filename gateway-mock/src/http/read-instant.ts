/** Reads points in time that callers give: ISO 8601 with a zone, or milliseconds since 1970. */
import { HoldfastError } from "@holdfast/core";

/** A date alone is its beginning in UTC; a time without a zone could be any. */
const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2}))?$/i;
const MILLIS = /^\d{1,16}$/;

/**
 * Undefined when it is absent.
 * @throws HoldfastError `BODY_INVALID`
 */
export function instantIn(name: string, value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const ms = typeof value === "number" ? value : typeof value === "string" ? msOf(value) : Number.NaN;
  if (Number.isFinite(ms) && Math.abs(ms) <= 8.64e15) return Math.round(ms);
  throw new HoldfastError(
    "BODY_INVALID",
    `\`${name}\` must be a point in time: ISO 8601 with a zone, such as "2030-01-31T12:00:00Z", or milliseconds since 1970.`,
  );
}

function msOf(text: string): number {
  if (MILLIS.test(text)) return Number(text);
  return ISO.test(text) ? Date.parse(text) : Number.NaN;
}
