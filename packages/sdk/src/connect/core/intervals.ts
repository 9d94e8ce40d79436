import { parseGoDurationMs } from "@holdfast/core";

/** Shorter intervals than this are mistakes that would become a storm. */
const MIN_INTERVAL_MS = 20;

/** An interval of CONNECTION_READY; anything that cannot be meant becomes `fallbackMs`. */
export function parseIntervalMs(text: string, fallbackMs: number): number {
  const parsed = parseGoDurationMs(text);
  return parsed !== undefined && parsed >= MIN_INTERVAL_MS ? parsed : fallbackMs;
}
