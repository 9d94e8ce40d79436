import { HoldfastError } from "@holdfast/core";

/** Names how long conditions are waited for where a call does not say it. */
export const TEST_TIMEOUT_MS = "HOLDFAST_TEST_TIMEOUT_MS";

const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * What `HOLDFAST_TEST_TIMEOUT_MS` says, or 30 s where a caller has no default of its own. It bounds waits for conditions, so a slow machine may have as much as its
 * test runner allows a test.
 * @throws HoldfastError `OPTION_INVALID`
 */
export function defaultTimeoutMs(otherwiseMs = DEFAULT_TIMEOUT_MS): number {
  const given = process.env[TEST_TIMEOUT_MS] ?? "";
  if (given === "") return otherwiseMs;
  const ms = Number(given);
  if (Number.isSafeInteger(ms) && ms > 0) return ms;
  throw new HoldfastError("OPTION_INVALID", `${TEST_TIMEOUT_MS} is "${given}": give a whole number of milliseconds.`);
}
