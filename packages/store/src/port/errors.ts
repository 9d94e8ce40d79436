/**
 * Why a store refused a call, in the words of the port: what callers do about a failure follows from its reason, never
 * from an error of a driver. Each store maps its own errors to these; Postgres does in `connection/pg-errors.ts`.
 */
import { HoldfastError, type LogLevel } from "@holdfast/core";

/**
 * - `unavailable`: the database did not answer or took no writes until the store gave up; the store logs the outage.
 * - `data`: the store refuses what the write holds, so the same write is refused each time.
 * - `outdated`: the call rests on another version of the registry than the store has.
 * - `closed`: the store was closed, as at the end of a gateway.
 * - `other`: anything else.
 */
export type StoreFailure = "unavailable" | "data" | "outdated" | "closed" | "other";

/** How every method of a store fails. */
export class StoreError extends HoldfastError {
  readonly #reason: StoreFailure;

  constructor(reason: StoreFailure, message: string, options?: { readonly cause?: unknown }) {
    super("STORE_FAILED", message, options);
    this.#reason = reason;
  }

  /** Not a field: what crosses threads and the wire as data has the message and the code. */
  get reason(): StoreFailure {
    return this.#reason;
  }
}

const hasReason = (error: unknown, reason: StoreFailure): boolean =>
  error instanceof StoreError && error.reason === reason;

/** What `skipTime` of a store without virtual time rejects with. */
export const notVirtual = (): HoldfastError =>
  new HoldfastError("OPTION_INVALID", "Time can be advanced only with the option `virtualTime`.");

/**
 * The level at which a failure is logged: the store itself logs an outage of the database, once for all, and that it is
 * closed is what its gateway wanted.
 */
export const levelFor = (error: unknown, level: LogLevel): LogLevel =>
  hasReason(error, "unavailable") || hasReason(error, "closed") ? "debug" : level;

/** Whether the store refused what a write holds, so that the same write is refused each time. */
export const isRefusedForData = (error: unknown): boolean => hasReason(error, "data");

/** Whether a claim was refused because it rests on another version of the registry than the store has. */
export const isOutdated = (error: unknown): boolean => hasReason(error, "outdated");
