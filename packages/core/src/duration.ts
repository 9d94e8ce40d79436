/**
 * Durations: what users write, what the wire carries, milliseconds in between. Pure; the SDK's options, the engine's
 * flow rules and the protocol all read them here.
 */
import { HoldfastError } from "./errors.ts";

/** Milliseconds as a number, or text such as "500ms", "5s", "2m", "1h", "7d". */
export type DurationInput = number | string;

/** The longest duration that is accepted: 366 days, as the wire protocol has it for waits. */
export const MAX_DURATION_MS = 366 * 24 * 60 * 60 * 1000;

/**
 * Turns a duration into whole milliseconds.
 * @throws HoldfastError `DURATION_INVALID` when it is not one, is negative or beyond `maxMs`; `name` is what the message calls it.
 */
export function parseDurationMs(
  input: DurationInput,
  name = "duration",
  bounds: { readonly minMs?: number; readonly maxMs?: number } = {},
): number {
  const { minMs = 0, maxMs = MAX_DURATION_MS } = bounds;
  // Callers in JavaScript give anything.
  const given: unknown = input;
  const value = typeof given === "string" ? parseText(given) : given;
  if (typeof value !== "number" || !Number.isFinite(value)) {
    const problem = given === undefined ? "is missing" : `is not a duration: ${shown(given)}`;
    throw new HoldfastError(
      "DURATION_INVALID",
      `${name} ${problem}. Give milliseconds or a string such as "5s" or "2h".`,
    );
  }
  const rounded = Math.round(value);
  if (rounded < minMs || rounded > maxMs) {
    throw new HoldfastError(
      "DURATION_INVALID",
      `${name} must be between ${minMs} ms and ${maxMs} ms, not ${rounded} ms.`,
    );
  }
  return rounded;
}

function shown(given: unknown): string {
  if (typeof given === "string") return JSON.stringify(given);
  if (isDate(given)) return "a Date";
  return typeof given === "number" || given === null ? String(given) : `a value of type ${typeof given}`;
}

function isDate(given: unknown): boolean {
  try {
    return Object.prototype.toString.call(given) === "[object Date]";
  } catch {
    return false;
  }
}

function parseText(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed.length > 100) return undefined;
  const [, number, unit = "ms"] = ONE_UNIT.exec(trimmed) ?? [];
  return number === undefined ? parseGoDurationMs(trimmed) : Number(number) * unitMs(unit.toLowerCase());
}

/** A number, and a unit as people write them; milliseconds without one. */
const ONE_UNIT =
  /^(-?\d*\.?\d+) *(ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|y|yrs?|years?)?$/i;

/** By the first letter, but for milliseconds. */
const unitMs = (unit: string): number => UNITS_MS[/^m(s|il)/.test(unit) ? "ms" : unit.charAt(0)] ?? Number.NaN;

const UNITS_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 365.25 * 86_400_000,
};

/** Text as the reference server prints it: "10s", "1m0s", "1.5h", "0s"; days and weeks as steps send them. Undefined for anything else. */
export function parseGoDurationMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h|d|w))+$/.test(text)) return undefined;
  let total = 0;
  for (const part of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d|w)/g)) {
    total += Number(part[1]) * (UNITS_MS[part[2] ?? ""] ?? Number.NaN);
  }
  return Math.round(total);
}

/** A duration in a sentence: "250 ms", "2.5 s", "3 min", "2 h", "4 days". */
export function durationText(durationMs: number): string {
  const ms = Math.max(0, Math.round(durationMs));
  if (ms < 1_000) return `${ms} ms`;
  const unit = UNITS_IN_TEXT.find(({ sizeMs }) => ms >= 2 * sizeMs) ?? { name: "s", sizeMs: 1_000 };
  const count = ms / unit.sizeMs;
  return `${count < 10 ? Number(count.toFixed(1)) : Math.round(count)} ${unit.name}`;
}

const UNITS_IN_TEXT = [
  { name: "days", sizeMs: 86_400_000 },
  { name: "h", sizeMs: 3_600_000 },
  { name: "min", sizeMs: 60_000 },
] as const;

/** One number and one unit, the only form that every peer understands: "250ms", "10s", "90s". */
export function formatSingleUnit(durationMs: number): string {
  return durationMs % 1000 === 0 ? `${durationMs / 1000}s` : `${durationMs}ms`;
}
