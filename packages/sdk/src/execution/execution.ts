/**
 * The seam between the connection and the execution of functions: a request goes in, a result comes out, and
 * checkpoints go through a port. Neither side imports more of the other than this.
 */
import type { CheckpointOutcome, Extension, ReplyStatus } from "@holdfast/protocol";
import type { CancelSignal } from "./abort.ts";
import type { RunningSteps } from "./running-steps.ts";

/** One request of a gateway, as the connection hands it over: run one pass of a function. */
export interface ExecutionRequest {
  readonly requestId: string;
  readonly appName: string;
  readonly functionSlug: string;
  /** "step" or empty for a discovery pass, else the hashed id of the one step to run. */
  readonly stepId: string;
  readonly runId: string;
  readonly jobId: string;
  /** The trace context that the gateway has given it, JSON; empty or `{}`: none. */
  readonly userTraceCtx?: Uint8Array;
  /** JSON; see `ExecutionPayload` of the protocol. */
  readonly payload: Uint8Array;
  /** What both peers agreed on; "checkpoint" makes steps run in place. */
  readonly extensions: readonly Extension[];
}

/** What is kept of a request while its pass goes on: its payload may be large, and is read once. */
export type PassRequest = Omit<ExecutionRequest, "payload">;

/** What a gateway has ended of a run while a pass of it goes on, as GATEWAY_RESULTS has it. */
export interface EndedResults {
  readonly results: string;
  readonly offset: number;
}

export interface ResultsListener {
  onResults(ended: EndedResults): void;
}

/** What a pass asks of the connection while it goes on. */
export interface CheckpointPort {
  /**
   * Sends a JSON array of ops and settles when the gateway has answered. The connection numbers and keeps them, and
   * sends them again after a reconnect; a pass has at most one unanswered at a time.
   */
  checkpoint(ops: Uint8Array): Promise<CheckpointOutcome>;
  /**
   * Asked right before the author's code begins, be it the handler or a step's body. Undefined = the work is known to be
   * this worker's. After a silence of this process or its connection another worker may have it: then the promise settles
   * when that is to be asked again, or the signal has fired.
   */
  whenConfirmed?(): Promise<void> | undefined;
  /** From now on the pass is given what the gateway ends of the run, and what it has ended since the pass began. */
  hearResults?(listener: ResultsListener): void;
}

/** What goes into the reply to the gateway. */
export interface ExecutionResult {
  readonly status: ReplyStatus;
  /** JSON: the value, the error or the array of ops. */
  readonly body: Uint8Array;
  /** With DONE: failed permanently. */
  readonly noRetry: boolean;
  /** Whole seconds or an ISO 8601 instant. */
  readonly retryAfter?: string;
  readonly requestVersion: number;
  /**
   * The work belongs to another worker, or the signal fired: no reply must be sent. Comes once the bodies of all
   * steps that were running have ended, so that the place in the worker is really free.
   */
  readonly stale?: true;
}

/** Decides where code runs; nothing else asks. */
export interface ExecutionStrategy {
  /**
   * Runs one pass. Never rejects: whatever goes wrong becomes a result.
   * @param signal fires when the work is not wanted any more (lease lost, run cancelled, forced shutdown)
   */
  execute(request: ExecutionRequest, port: CheckpointPort, signal: CancelSignal): Promise<ExecutionResult>;
  /** The steps whose bodies go on; absent: nothing is said of them. */
  readonly runningSteps?: Pick<RunningSteps, "all" | "begunBefore">;
}
