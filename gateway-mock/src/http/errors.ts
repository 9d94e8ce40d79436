/** Which HTTP status each error code has, how an error looks in an answer, and which ones are logged. */
import { type ErrorCode, HoldfastError, type Log, messageOf } from "@holdfast/core";
import { levelFor } from "@holdfast/store";
import { GraphConflictError, GraphInvalidError } from "../graphs/graph-errors.ts";

export type Status = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 421 | 500 | 503;

const STATUSES: Partial<Record<ErrorCode, Status>> = {
  BODY_INVALID: 400,
  EVENT_INVALID: 400,
  DURATION_INVALID: 400,
  FRAME_INVALID: 400,
  OPTION_INVALID: 400,
  UNAUTHORIZED: 401,
  FAULT_INVALID: 400,
  FAULTS_REFUSED: 403,
  ORIGIN_REFUSED: 403,
  CSRF_REFUSED: 403,
  DASHBOARD_READ_ONLY: 403,
  ENVIRONMENT_INVALID: 400,
  ENVIRONMENT_REFUSED: 403,
  REQUEST_NOT_OWNED: 403,
  POSITION_INVALID: 400,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  STEP_UNKNOWN: 404,
  RUN_NOT_ENDED: 409,
  RUN_IN_USE: 409,
  RUN_ON_HOLD: 409,
  RUN_SKIPPED: 409,
  RUN_UNDONE: 409,
  RUN_NOT_RESUMABLE: 409,
  RUN_TOO_LARGE: 409,
  FUNCTION_UNKNOWN: 409,
  GRAPH_INVALID: 400,
  GRAPH_OUTPUT_INVALID: 400,
  GRAPH_ANSWER_INVALID: 400,
  GRAPH_CONFLICT: 409,
  GRAPH_NOT_PUBLISHED: 409,
  GRAPH_IN_USE: 409,
  GRAPH_RUNNER_UNKNOWN: 409,
  GRAPH_TEST_UNKNOWN: 409,
  GATEWAY_STARTING: 503,
  GATEWAY_CLOSING: 503,
  BODY_TOO_LARGE: 413,
  FRAME_TOO_LARGE: 413,
  HOST_REFUSED: 421,
  STORE_FAILED: 503,
  WATCHERS_FULL: 503,
};

export function statusOf(error: unknown): Status {
  return HoldfastError.is(error) ? (STATUSES[error.code] ?? 500) : 500;
}

/** The address of the page about a code; undefined: of none that its reader could open is known. */
export type ErrorDocs = (code: ErrorCode) => string | undefined;

/** The form of every error: `{ error, code, status }`, and what some have to say beside that. */
export function errorBody(
  error: unknown,
  docsOf: ErrorDocs,
): { error: string; code: ErrorCode; status: Status; docs?: string } {
  const status = statusOf(error);
  const code = HoldfastError.is(error) ? error.code : "INTERNAL";
  const message = HoldfastError.is(error) ? error.message : `Internal error: ${messageOf(error)}`;
  const docs = docsOf(code);
  return { error: message, code, status, ...(docs === undefined ? {} : { docs }), ...detailsOf(error) };
}

function detailsOf(error: unknown): object {
  if (error instanceof GraphInvalidError) return { problems: error.problems };
  return error instanceof GraphConflictError ? { revision: error.revision } : {};
}

/** What senders of events read when nothing was taken. */
export function refusedEventsBody(
  error: unknown,
  docsOf: ErrorDocs,
): { ids: []; status: Status; error: string; code: ErrorCode; docs?: string } {
  const { error: message, code, status, docs } = errorBody(error, docsOf);
  return { ids: [], status, error: message, code, ...(docs === undefined ? {} : { docs }) };
}

/** Said to many at a time, and no failure of the gateway. */
const TRY_ELSEWHERE: ReadonlySet<ErrorCode> = new Set(["GATEWAY_CLOSING", "WATCHERS_FULL"]);

/** A request failed for which its caller is not to blame. */
export function logFailure(log: Log, { method, path }: { method: string; path: string }, error: unknown): void {
  if (HoldfastError.is(error) && TRY_ELSEWHERE.has(error.code)) return;
  if (statusOf(error) >= 500) log(levelFor(error, "error"), `${method} ${path} failed: ${messageOf(error)}`);
}

export function notFound(what: string): HoldfastError {
  return new HoldfastError("NOT_FOUND", what);
}
