/**
 * The intervals that a gateway asks for, made safe, and what follows from them: how long a silence is a suspension. Both
 * threads measure by the same limit.
 */
import { parseGoDurationMs } from "@holdfast/core";

/** Shorter intervals than this are mistakes that would become a storm. */
const MIN_INTERVAL_MS = 20;

/** An interval of CONNECTION_READY; anything that cannot be meant becomes `fallbackMs`. */
export function parseIntervalMs(text: string, fallbackMs: number): number {
  const parsed = parseGoDurationMs(text);
  return parsed !== undefined && parsed >= MIN_INTERVAL_MS ? parsed : fallbackMs;
}

/**
 * A gateway gives away what was not acknowledged within 5 s, and what a broken connection held after 5 s: a thread that was
 * away for longer than this, and then takes its time, may find its work with others.
 */
const MAX_SUSPENSION_MS = 2_000;
const MIN_SUSPENSION_MS = 500;

/** From when on doing nothing is a suspension. A lease lasts for several of its extensions' intervals, so it is noticed before that ends. */
export function suspensionLimitMs(extendLeaseMs = MAX_SUSPENSION_MS): number {
  return Math.max(MIN_SUSPENSION_MS, Math.min(MAX_SUSPENSION_MS, extendLeaseMs));
}
