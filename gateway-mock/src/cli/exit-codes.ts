/** The exit codes of `holdfast-gateway`, which scripts go by. They are documented in the README and never change. */
import { type ErrorCode, HoldfastError } from "@holdfast/core";

export const EXIT = {
  done: 0,
  failed: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
  notFound: 3,
  /** The gateway or the database does not answer. */
  unreachable: 4,
  /** The key is missing or wrong. */
  refused: 5,
  /** The command was carried out, but not with the outcome asked for. */
  otherwise: 6,
  /** The replayed code does not do what the run has on record. */
  diverged: 7,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** For help and README. */
export const EXIT_TEXTS: Readonly<Record<ExitCode, string>> = {
  [EXIT.done]: "done",
  [EXIT.failed]: "failed",
  [EXIT.usage]: "wrong usage or configuration",
  [EXIT.notFound]: "no such run, function, worker or job",
  [EXIT.unreachable]: "gateway or database unreachable",
  [EXIT.refused]: "key refused",
  [EXIT.otherwise]: "carried out, but not with the outcome asked for, such as a run that did not complete",
  [EXIT.diverged]: "the replayed code does not do what the run has on record",
  [EXIT.interrupted]: "interrupted",
  [EXIT.terminated]: "ended by SIGTERM",
};

const CODES: Partial<Record<ErrorCode, ExitCode>> = {
  GATEWAY_USAGE: EXIT.usage,
  START_INCOMPLETE: EXIT.usage,
  OPTION_INVALID: EXIT.usage,
  OPTION_MISSING: EXIT.usage,
  DURATION_INVALID: EXIT.usage,
  SIGNING_KEY_INVALID: EXIT.usage,
  ENVIRONMENT_INVALID: EXIT.usage,
  HOST_NOT_LOOPBACK: EXIT.usage,
  EVENT_INVALID: EXIT.usage,
  EXPORT_INVALID: EXIT.usage,
  REPLAY_APP_INVALID: EXIT.usage,
  BODY_INVALID: EXIT.usage,
  FAULT_INVALID: EXIT.usage,
  BODY_TOO_LARGE: EXIT.usage,
  NOT_FOUND: EXIT.notFound,
  GATEWAY_UNREACHABLE: EXIT.unreachable,
  DATABASE_UNREACHABLE: EXIT.unreachable,
  STORE_FAILED: EXIT.unreachable,
  UNAUTHORIZED: EXIT.refused,
  ENVIRONMENT_REFUSED: EXIT.refused,
};

export function exitCodeOf(error: unknown): ExitCode {
  return HoldfastError.is(error) ? (CODES[error.code] ?? EXIT.failed) : EXIT.failed;
}
