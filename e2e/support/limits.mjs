/**
 * How long what is waited for may take. It only ends a hang, shortly before the limit of a test does, and says what was
 * waited for: a machine that is busy with other things is no reason to fail.
 */
export const LIMIT_MS = 100_000;
