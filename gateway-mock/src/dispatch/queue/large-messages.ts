/** What becomes of requests whose worker has sent a message that is too large to be read. */
import { plainError } from "@holdfast/core";
import type { PassReport } from "@holdfast/engine";
import { WIRE_LIMITS } from "@holdfast/protocol";
import type { ConnectedWorker } from "../workers/connected-worker.ts";
import type { Dispatch } from "../workers/dispatch.ts";

const MAX_NAMED = 10;
const LIMIT = `Results of steps and functions have at most ${WIRE_LIMITS.maxOutputBytes} bytes: store them elsewhere and return a reference.`;

/**
 * Only replies of the base protocol are so large. Where the worker has one request it is that one's, which would come to
 * the same if it were dispatched again; null: there are several.
 */
export function reportOfTooLarge(
  { session }: ConnectedWorker,
  requests: readonly Dispatch[],
): { readonly request: Dispatch; readonly report: PassReport } | null {
  const runs = requests.slice(0, MAX_NAMED).map(({ runId }) => runId);
  session.log(
    "warn",
    `A worker's connection was closed because it sent a message that is too large to be read. ${LIMIT}`,
    { runs },
  );
  const [request] = requests;
  if (!request || requests.length > 1) return null;
  const error = plainError("STEP_RESULT_TOO_LARGE", `The worker's message was too large to be read. ${LIMIT}`);
  return { request, report: { status: "INVALID", error } };
}
