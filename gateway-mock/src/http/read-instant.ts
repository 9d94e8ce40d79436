/** Reads points in time that callers give: ISO 8601 with a zone, or milliseconds since 1970; and deadlines. */
import { HoldfastError, parseDurationMs } from "@holdfast/core";
import Type from "typebox";
import { instantMs, isInstant, MILLIS } from "./instant-text.ts";
import { At } from "./openapi/schemas.ts";

/**
 * Undefined when it is absent.
 * @throws HoldfastError `BODY_INVALID`
 */
export function instantIn(name: string, value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  const ms = typeof value === "number" ? value : typeof value === "string" ? instantMs(value) : Number.NaN;
  if (isInstant(ms)) return Math.round(ms);
  throw new HoldfastError(
    "BODY_INVALID",
    `\`${name}\` must be a point in time: ISO 8601 with a zone, such as "2030-01-31T12:00:00Z", or milliseconds since 1970.`,
  );
}

export const Instant = Type.Union([At, Type.Number({ description: "Milliseconds since 1970." })]);

/** Text is a duration where it begins as no date does. */
export const Deadline = Type.Union([
  Instant,
  Type.String({ description: 'How long the run may last, from when it may begin: "90s", "2h".' }),
]);

/**
 * When a run has to be over: a point in time, or a duration, which counts by the database's clock.
 * @throws HoldfastError `BODY_INVALID`
 */
export function deadlineIn(value: unknown): { readonly deadlineMs?: number; readonly deadlineInMs?: number } {
  if (typeof value !== "string" || DATE.test(value) || MILLIS.test(value)) {
    const deadlineMs = instantIn("deadline", value);
    return deadlineMs === undefined ? {} : { deadlineMs };
  }
  try {
    return { deadlineInMs: parseDurationMs(value, "deadline") };
  } catch {
    throw new HoldfastError(
      "BODY_INVALID",
      '`deadline` must be a point in time (ISO 8601 with a zone, or milliseconds since 1970) or a duration of up to a year, such as "90s".',
    );
  }
}

const DATE = /^[+-]?\d{4,6}-/;
