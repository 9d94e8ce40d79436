import { HoldfastError, type Log, toPlainError } from "@holdfast/core";
import type { CancelSignal } from "../../execution/abort.ts";
import type { CheckpointPort, ExecutionStrategy } from "../../execution/execution.ts";
import type { MainMessage, ThreadMessage } from "../shared/messages.ts";
import {
  decodeExecutorRequest,
  type ExecutorRequest,
  encodeReply,
  identityOf,
  MAX_REPLY_BYTES,
} from "../shared/reply.ts";
import type { LeaseGuard } from "./lease-guard.ts";
import type { Ledger } from "./ledger.ts";

export interface RequestRunnerDeps {
  readonly strategy: ExecutionStrategy;
  readonly ledger: Ledger;
  readonly leaseGuard: Pick<LeaseGuard, "whenConfirmed">;
  readonly sdkVersion: string;
  readonly log: Log;
  readonly send: (message: MainMessage) => void;
  /** A handler ended, whatever became of its result. */
  readonly onIdle: () => void;
}

/** Runs requests through the strategy and keeps the ledger. */
export interface RequestRunner {
  /** Handlers that run, including those whose result is no longer needed. */
  readonly running: number;
  runRequest(message: Extract<ThreadMessage, { type: "EXECUTION_REQUEST" }>): void;
}

export function createRequestRunner(deps: RequestRunnerDeps): RequestRunner {
  const { strategy, ledger, leaseGuard, log, send } = deps;
  let running = 0;

  const portFor = (requestId: string, signal: CancelSignal): CheckpointPort => ({
    whenConfirmed: () => leaseGuard.whenConfirmed(requestId, signal),
    checkpoint: (ops) => {
      // As a reply it becomes an error that says how large it was.
      if (ops.byteLength > MAX_REPLY_BYTES) return Promise.resolve("invalid");
      const checkpoint = ledger.addCheckpoint(requestId, ops);
      if (checkpoint === undefined) return Promise.resolve("stale");
      send({ type: "CHECKPOINT", requestId, sequence: checkpoint.sequence, ops });
      return checkpoint.answer;
    },
  });

  const fail = (requestId: string, thrown: unknown): void => {
    const error = toPlainError(thrown);
    log("error", `A request could not be executed: ${error.message}`, { requestId });
    if (ledger.finish(requestId, { kind: "error", error })) send({ type: "EXECUTION_ERROR", requestId, error });
  };

  const run = async (
    request: ExecutorRequest,
    extensions: Extract<ThreadMessage, { type: "EXECUTION_REQUEST" }>["extensions"],
    signal: CancelSignal,
  ): Promise<void> => {
    const { requestId, appName, functionSlug, stepId, runId, jobId, requestPayload: payload } = request;
    const result = await strategy.execute(
      { requestId, appName, functionSlug, stepId, runId, jobId, payload, extensions },
      portFor(requestId, signal),
      signal,
    );
    if (result.stale) {
      if (ledger.remove(requestId)) send({ type: "EXECUTION_DROPPED", requestId });
      return;
    }
    const { status, body, noRetry, retryAfter, requestVersion } = result;
    const content = { status, body, noRetry, requestVersion, ...(retryAfter === undefined ? {} : { retryAfter }) };
    const response = encodeReply(request, content, deps.sdkVersion);
    // Kept in the ledger until it is acknowledged, so it is copied to the thread and never moved.
    if (ledger.finish(requestId, { kind: "response", response })) {
      send({ type: "EXECUTION_RESPONSE", requestId, response });
    }
  };

  return {
    get running() {
      return running;
    },
    runRequest: ({ requestId, request: bytes, extensions, epoch, asOf }) => {
      const request = decodeExecutorRequest(bytes);
      if (request === undefined) {
        throw new HoldfastError("THREAD_PROTOCOL", `The bytes of request ${requestId} are not an executor request.`);
      }
      const signal = ledger.open(identityOf(request), request.appName, request.leaseId, epoch, asOf);
      if (signal === undefined) return;
      running += 1;
      run(request, extensions, signal)
        .catch((error: unknown) => fail(requestId, error))
        .finally(() => {
          running -= 1;
          deps.onIdle();
        });
    },
  };
}
