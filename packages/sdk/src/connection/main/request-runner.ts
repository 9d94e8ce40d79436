/**
 * The main thread's side of requests: decodes what came, has it executed, and keeps the ledger of it. The connection
 * thread's side is `thread/request-manager.ts`.
 */
import { HoldfastError, type Log, toPlainError, unreachable } from "@holdfast/core";
import type { CancelSignal } from "../../execution/abort.ts";
import type {
  CheckpointPort,
  EndedResults,
  ExecutionResult,
  ExecutionStrategy,
  ResultsListener,
} from "../../execution/execution.ts";
import type { MainMessage, ThreadMessage } from "../shared/messages.ts";
import {
  decodeExecutorRequest,
  type ExecutorRequest,
  encodeReply,
  identityOf,
  MAX_REPLY_BYTES,
  type RequestIdentity,
} from "../shared/reply.ts";
import { sharable } from "../shared/shared-bytes.ts";
import type { LeaseGuard } from "./lease-guard.ts";
import type { Ledger } from "./ledger.ts";
import type { Listeners } from "./listeners.ts";

export interface RequestRunnerDeps {
  readonly strategy: ExecutionStrategy;
  readonly ledger: Ledger;
  readonly leaseGuard: Pick<LeaseGuard, "whenConfirmed" | "onRevocation" | "recheck">;
  readonly sdkVersion: string;
  readonly log: Log;
  readonly send: (message: MainMessage) => void;
  readonly listeners: Pick<Listeners, "hearsLeases" | "onLease">;
  /** A handler ended, whatever became of its result. */
  readonly onIdle: () => void;
  /** Why a lease that is lost now is lost. */
  readonly lossReason: () => HoldfastError;
}

type ExecutionRequestMessage = Extract<ThreadMessage, { type: "EXECUTION_REQUEST" }>;

/** What the connection thread says about requests. */
export type RequestMessage =
  | ExecutionRequestMessage
  | Extract<
      ThreadMessage,
      { type: "REPLY_ACKED" | "CHECKPOINT_ACKED" | "LEASE_EXTENDED" | "LEASE_LOST" | "CANCEL" | "RESULTS" }
    >
  | Extract<ThreadMessage, { type: `ISOLATED_${string}` }>;

type LedgerMessage = Exclude<RequestMessage, { type: "EXECUTION_REQUEST" | "RESULTS" }>;

/** The handlers that run. By request: those that wait for something, and what came before they did. */
interface Running {
  count: number;
  readonly hearing: Map<string, ResultsListener>;
  readonly early: Map<string, EndedResults[]>;
}

function giveResults(ended: EndedResults & { readonly requestId: string }, running: Running, ledger: Ledger): void {
  const { requestId } = ended;
  const listener = running.hearing.get(requestId);
  if (listener) return listener.onResults(ended);
  if (!ledger.isOpen(requestId)) return;
  running.early.set(requestId, [...(running.early.get(requestId) ?? []), ended]);
}

export interface RequestRunner {
  /** Handlers that run, including those whose result is no longer needed. */
  readonly running: number;
  onMessage(message: RequestMessage): void;
}

export function createRequestRunner(deps: RequestRunnerDeps): RequestRunner {
  const running: Running = { count: 0, hearing: new Map(), early: new Map() };
  return {
    get running() {
      return running.count;
    },
    onMessage: (message) => {
      if (message.type === "RESULTS") return giveResults(message.ended, running, deps.ledger);
      if (message.type !== "EXECUTION_REQUEST") return applyToLedger(message, deps);
      const { requestId, request: bytes, extensions, doubtNumber, asOf } = message;
      const request = decodeExecutorRequest(bytes);
      if (request === undefined) {
        throw new HoldfastError("THREAD_PROTOCOL", `The bytes of request ${requestId} are not an executor request.`);
      }
      const identity = identityOf(request);
      const signal = deps.ledger.open(identity, request.appName, request.leaseId, doubtNumber, asOf);
      if (signal !== undefined) new RunningRequest(identity, signal, deps, running).run(request, extensions);
    },
  };
}

/**
 * A request whose handler runs. One object, not closures, and it keeps nothing of the frame: an app may have thousands in
 * flight.
 */
class RunningRequest implements CheckpointPort {
  readonly #identity: RequestIdentity;
  readonly #signal: CancelSignal;
  readonly #deps: RequestRunnerDeps;
  readonly #running: Running;

  constructor(identity: RequestIdentity, signal: CancelSignal, deps: RequestRunnerDeps, running: Running) {
    this.#identity = identity;
    this.#signal = signal;
    this.#deps = deps;
    this.#running = running;
  }

  run(
    { appName, jobId, requestPayload: payload }: ExecutorRequest,
    extensions: ExecutionRequestMessage["extensions"],
  ): void {
    const { requestId, functionSlug, stepId, runId, userTraceCtx } = this.#identity;
    const request = { requestId, appName, functionSlug, stepId, runId, jobId, userTraceCtx, payload, extensions };
    this.#running.count += 1;
    this.#deps.strategy.execute(request, this, this.#signal).then(
      (result) => this.#onResult(result),
      (error: unknown) => this.#onError(error),
    );
  }

  whenConfirmed(): Promise<void> | undefined {
    return this.#deps.leaseGuard.whenConfirmed(this.#identity.requestId, this.#signal);
  }

  checkpoint(bytes: Uint8Array): ReturnType<CheckpointPort["checkpoint"]> {
    const { ledger, send } = this.#deps;
    const { requestId } = this.#identity;
    // As a reply it becomes an error that says how large it was.
    if (bytes.byteLength > MAX_REPLY_BYTES) return Promise.resolve("invalid");
    const ops = sharable(bytes);
    const checkpoint = ledger.addCheckpoint(requestId, ops);
    if (checkpoint === undefined) return Promise.resolve("stale");
    send({ type: "CHECKPOINT", requestId, sequence: checkpoint.sequence, ops });
    return checkpoint.answer;
  }

  hearResults(listener: ResultsListener): void {
    const { hearing, early } = this.#running;
    const { requestId } = this.#identity;
    hearing.set(requestId, listener);
    for (const ended of early.get(requestId) ?? []) listener.onResults(ended);
    early.delete(requestId);
  }

  #onResult(result: ExecutionResult): void {
    try {
      this.#finish(result);
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#leave();
    }
  }

  #onError(error: unknown): void {
    try {
      this.#fail(error);
    } finally {
      this.#leave();
    }
  }

  /** Its place in the worker is free, whatever became of the result. */
  #leave(): void {
    this.#running.count -= 1;
    this.#running.hearing.delete(this.#identity.requestId);
    this.#running.early.delete(this.#identity.requestId);
    this.#deps.onIdle();
  }

  #finish(result: ExecutionResult): void {
    const { ledger, send, sdkVersion } = this.#deps;
    const { requestId } = this.#identity;
    if (result.stale) {
      if (ledger.remove(requestId)) send({ type: "EXECUTION_DROPPED", requestId });
      return;
    }
    const { status, body, noRetry, retryAfter, requestVersion } = result;
    const content = { status, body, noRetry, requestVersion, ...(retryAfter === undefined ? {} : { retryAfter }) };
    const response = encodeReply(this.#identity, content, sdkVersion);
    // Kept in the ledger until it is acknowledged, so it is copied to or shared with the thread and never moved.
    if (ledger.finish(requestId, { kind: "response", response })) {
      send({ type: "EXECUTION_RESPONSE", requestId, response });
    }
  }

  #fail(thrown: unknown): void {
    const { ledger, send, log } = this.#deps;
    const { requestId } = this.#identity;
    const error = toPlainError(thrown);
    log("error", `A request could not be executed: ${error.message}`, { requestId });
    if (ledger.finish(requestId, { kind: "error", error })) send({ type: "EXECUTION_ERROR", requestId, error });
  }
}

/** What the gateway has said of a request that is in the ledger. */
function applyToLedger(message: LedgerMessage, deps: RequestRunnerDeps): void {
  const { ledger, leaseGuard, lossReason } = deps;
  const { requestId } = message;
  switch (message.type) {
    case "REPLY_ACKED":
      return void ledger.remove(requestId);
    case "CHECKPOINT_ACKED":
      return ledger.settleCheckpoint(requestId, message.sequence, message.outcome);
    case "LEASE_EXTENDED":
      tellOfLease(message, deps);
      ledger.extendLease(requestId, message.leaseId, message.doubtNumber, message.asOf);
      return leaseGuard.recheck();
    case "LEASE_LOST":
      leaseGuard.onRevocation();
      tellOfLease(message, deps);
      ledger.lose(requestId, lossReason());
      return leaseGuard.recheck();
    case "CANCEL":
      leaseGuard.onRevocation();
      ledger.cancel(requestId, new HoldfastError("RUN_CANCELLED", message.reason || "The run was cancelled."));
      return leaseGuard.recheck();
    case "ISOLATED_REQUEST":
      return ledger.openIsolated(message.identity, message.appName, message.leaseId, message.work);
    case "ISOLATED_TURN":
      return ledger.placeIsolated(requestId, message.place);
    case "ISOLATED_ENDED":
      if (message.isLeaseLost) tellOfLease({ type: "LEASE_LOST", requestId }, deps);
      return void ledger.remove(requestId);
    default:
      return unreachable(message);
  }
}

/** Called before the ledger adds it: then it has the request, and which doubt its lease was confirmed after. */
function tellOfLease(
  message: Extract<RequestMessage, { type: "LEASE_EXTENDED" | "LEASE_LOST" }>,
  { ledger, listeners }: RequestRunnerDeps,
): void {
  const { requestId } = message;
  const identity = listeners.hearsLeases ? ledger.identityOf(requestId) : undefined;
  if (identity === undefined) return;
  if (message.type === "LEASE_LOST") return listeners.onLease("lost", identity, null);
  const confirmedBefore = ledger.doubtNumberOf(requestId) ?? message.doubtNumber;
  const type = message.doubtNumber > confirmedBefore ? "confirmed" : "extended";
  listeners.onLease(type, identity, message.leaseId);
}
