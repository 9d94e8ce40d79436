/**
 * The intervals and extensions that a session is given: defaults, what the options of the gateway override, and what
 * both sides know.
 */
import { formatSingleUnit } from "@holdfast/core";
import {
  EXTENDED_INTERVALS,
  EXTENSIONS,
  type Extension,
  isRecord,
  PLAIN_INTERVALS,
  parseJsonBytes,
} from "@holdfast/protocol";

/** The intervals that one kind of connection is sent. */
export interface Intervals {
  readonly heartbeatMs: number;
  readonly leaseMs: number;
  readonly extendLeaseMs: number;
}

export interface IntervalOverrides {
  readonly heartbeatMs?: number | undefined;
  /** Extensions come four times a lease. */
  readonly leaseMs?: number | undefined;
}

/**
 * A worker of the plain protocol that restarts under its instance's name cannot say which requests it still has: those
 * that it does not extend are known to be lost after one such interval, which at the reference is 30 s.
 */
const PLAIN_EXTEND_MS = 10_000;
const SOONER_INTERVALS = { ...PLAIN_INTERVALS, extendLeaseMs: PLAIN_EXTEND_MS } as const;

/**
 * Short for workers that offered extensions, the reference's own for the others, except that they extend their leases
 * sooner unless the gateway is `strict`. Overrides hold for all.
 */
export function intervalsFor(
  extensions: readonly Extension[],
  overrides: IntervalOverrides,
  strict: boolean,
): Intervals {
  const base = extensions.length > 0 ? EXTENDED_INTERVALS : strict ? PLAIN_INTERVALS : SOONER_INTERVALS;
  const leaseMs = overrides.leaseMs ?? base.leaseMs;
  return {
    heartbeatMs: overrides.heartbeatMs ?? base.heartbeatMs,
    leaseMs,
    extendLeaseMs: overrides.leaseMs === undefined ? base.extendLeaseMs : Math.max(1, Math.floor(leaseMs / 4)),
  };
}

/** Workers understand one number with one unit only. */
export function wireIntervals(intervals: Intervals): {
  heartbeatInterval: string;
  extendLeaseInterval: string;
  statusInterval: string;
} {
  return {
    heartbeatInterval: formatSingleUnit(intervals.heartbeatMs),
    extendLeaseInterval: formatSingleUnit(intervals.extendLeaseMs),
    statusInterval: "0s",
  };
}

/**
 * What the capabilities of a worker say beyond the base protocol.
 * @throws HoldfastError `FRAME_INVALID` when the capabilities are not JSON
 */
export function readOffer(capabilities: Uint8Array): unknown {
  if (capabilities.byteLength === 0) return undefined;
  const value = parseJsonBytes(capabilities, "The capabilities");
  return isRecord(value) ? value.holdfast : undefined;
}

/** The extensions that a worker offers and this gateway will use, in the order of the protocol. */
export function negotiate(offer: unknown, enabled: readonly Extension[]): Extension[] {
  if (!isRecord(offer) || offer.v !== 1 || !Array.isArray(offer.extensions)) return [];
  const offered = new Set(offer.extensions);
  return EXTENSIONS.filter((name) => offered.has(name) && enabled.includes(name));
}
