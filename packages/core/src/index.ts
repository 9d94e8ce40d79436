export { invariant, unreachable } from "./assert.ts";
export { type BackoffPolicy, backoffDelayMs } from "./backoff.ts";
export { type Clock, systemClock, systemTimers, type TimerHandle, type Timers } from "./clock.ts";
export { type CoalescedLimits, coalesced } from "./coalesced.ts";
export { describeValue, hasControlCharacter, unstorableIn } from "./describe-value.ts";
export { DOCS_ADDRESS, errorPage } from "./docs-address.ts";
export {
  type DurationInput,
  durationText,
  formatSingleUnit,
  MAX_DURATION_MS,
  parseDurationMs,
  parseGoDurationMs,
} from "./duration.ts";
export {
  DEFAULT_ENVIRONMENT_NAME,
  ENVIRONMENT_NAME,
  MAX_ENVIRONMENT_NAME_LENGTH,
  readEnvironmentName,
} from "./environment-name.ts";
export { headOf, isShownError, partsOf } from "./error-parts.ts";
export {
  ERROR_CATALOGUE,
  type ErrorCode,
  HoldfastError,
  isNonDeterminism,
  messageOf,
  type PlainError,
  plainError,
  toPlainError,
} from "./errors.ts";
export { Histogram, type HistogramCounts } from "./histogram.ts";
export { createUlidFactory, firstIdAt, isUlid, type UlidFactory, ulidFromSeed, ulidTimeMs } from "./ids.ts";
export { LOG_LEVELS, type Log, type LoggerLike, type LogLevel, type LogRecord } from "./log-record.ts";
export { consoleLines, LOG_LEVEL_CHOICES, type LogLevelChoice, logFor, logTo, silentLog } from "./logger.ts";
export { createDriver, type Driver, type DriverOptions, type Next, type Step, type TraceEntry } from "./machine.ts";
export { nearestName, nearestNames } from "./nearest-name.ts";
export { allEnded, type Deferred, deferred, sleep, whenAborted, withTimeout } from "./promises.ts";
export { type Random, seededRandom, systemRandom, unitOf } from "./random.ts";
export { Semaphore } from "./semaphore.ts";
export { type ServerSentEvent, ServerSentReader } from "./server-sent.ts";
export { readSigningKey, type SigningKey } from "./signing-key.ts";
export {
  foldFrames,
  type IsOwnFile,
  isInstalledHoldfast,
  isNodeInternal,
  isOwnFileBelow,
  pathOfFile,
  stackFrames,
} from "./stack-text.ts";
export { type ClockReading, readClocks, suspensionBetween } from "./suspension.ts";
export { clockOfThread } from "./thread-clock.ts";
export { inNextTurn, nextTurn, replaceTurns } from "./turns.ts";
