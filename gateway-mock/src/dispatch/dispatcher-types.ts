/**
 * What `../ws` sees of the dispatcher: the frames it may hand over, and the handle that stands for one connected
 * worker.
 */
import type { WorkerFrame } from "@holdfast/protocol";
import type { DispatcherCounters } from "./ports.ts";
import type { SocketEnd } from "./workers/connected-worker.ts";

/** Frames about requests, as the socket's side hands them over. */
export type DispatcherFrame = Exclude<
  WorkerFrame,
  { readonly kind: "WORKER_CONNECT" | "WORKER_READY" | "WORKER_PAUSE" | "WORKER_HEARTBEAT" }
>;

/** A connected worker, from its readiness to the end of its socket. */
export interface AttachedWorker {
  /** A frame about requests came in. */
  receive(frame: DispatcherFrame): void;
  /** No new work for it; with `said` it has asked for that itself. */
  pause(said?: boolean): void;
  /** New work for it again. */
  resume(): void;
  /** No request waits for room on its socket any more. */
  hasRoom(): void;
  /** It has sent a message that is too large to be read, which ends its socket. */
  sentTooLarge(): void;
  /** Its socket is gone. Default `broken`. */
  lost(how?: SocketEnd): void;
}

export interface DispatcherStatus extends Readonly<DispatcherCounters> {
  readonly workers: number;
  readonly inFlight: number;
  readonly runsInMemory: number;
  /** Callers that wait for the end of a run. */
  readonly waiting: number;
  /** Runs that have not ended and that nothing moves on, as far as this gateway has looked: 0. */
  readonly orphans: number;
}
