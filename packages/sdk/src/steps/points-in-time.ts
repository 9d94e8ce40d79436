/** Durations and points in time as users write them for steps (text, `Date`, `Temporal`), as the wire has them. */
import { type DurationInput, describeValue, HoldfastError, parseDurationMs } from "@holdfast/core";
import { wireDuration } from "./wire-duration.ts";

/** A `Temporal.Duration`, or anything of its shape. */
export interface TemporalDuration {
  readonly [Symbol.toStringTag]: "Temporal.Duration";
  total(options: { readonly unit: "milliseconds" }): number;
}

/** A `Temporal.Instant` or `Temporal.ZonedDateTime`, or anything of their shape. */
export interface TemporalInstant {
  readonly [Symbol.toStringTag]: "Temporal.Instant" | "Temporal.ZonedDateTime";
  readonly epochMilliseconds: number;
}

/** How long: milliseconds, text such as "2h", or a `Temporal.Duration` without years and months. */
export type DurationLike = DurationInput | TemporalDuration;
/** When: a Date, ISO 8601 text, or a point in time of `Temporal`. */
export type InstantLike = Date | string | TemporalInstant;

/**
 * ISO text for a Date, a point in time of Temporal, or text that starts like an ISO 8601 date; undefined for anything else.
 * @throws HoldfastError `DURATION_INVALID`
 */
export function instantOf(input: unknown, given: unknown = input): string | undefined {
  if (input instanceof Date) return isoText(input, given);
  if (isTemporal(input, "Temporal.Instant", "Temporal.ZonedDateTime")) {
    return isoText(new Date((input as TemporalInstant).epochMilliseconds), input);
  }
  const isText = typeof input === "string" && /^[+-]?\d{4,6}-\d{2}-\d{2}/.test(input);
  return isText ? isoText(new Date(input), input) : undefined;
}

/** @throws HoldfastError `DURATION_INVALID`; `name` is what the message calls it */
export function durationMsOf(input: unknown, name: string): number {
  if (!isTemporal(input, "Temporal.Duration")) return parseDurationMs(input as DurationInput, name);
  let totalMs: number;
  try {
    totalMs = (input as TemporalDuration).total({ unit: "milliseconds" });
  } catch (cause) {
    throw new HoldfastError(
      "DURATION_INVALID",
      `${name} has years, months or weeks, whose length depends on the calendar: give days or smaller units.`,
      { cause },
    );
  }
  return parseDurationMs(totalMs, name);
}

/** A limit as the wire has it: a duration, or a point in time. `exact` keeps milliseconds. */
export function timeoutText(input: unknown, name: string, exact: boolean): string {
  return instantOf(input) ?? wireDuration(durationMsOf(input, name), exact);
}

function isoText(date: Date, input: unknown): string {
  const ms = timeOf(date);
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  const text = typeof input === "string" ? input : describeValue(input);
  throw new HoldfastError("DURATION_INVALID", `Not a point in time: ${text}. Give a valid Date or an ISO 8601 string.`);
}

/** Not by a method of the Date's own: a class made from it, or a proxy, has others. */
function timeOf(date: Date): number {
  try {
    return Date.prototype.getTime.call(date);
  } catch {
    return Number.NaN;
  }
}

function isTemporal(input: unknown, ...tags: readonly string[]): boolean {
  if (typeof input !== "object" || input === null) return false;
  return tags.includes(String((input as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag]));
}
