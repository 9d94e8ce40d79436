/**
 * What is published on the channels of `node:diagnostics_channel`, for types. `publisher.ts` publishes, for the rooms
 * above; docs/observe.md has each channel's fields, and when it is published.
 */
import type { PlainError } from "@holdfast/core";
import type { StateChange } from "../connection/shared/debug-state.ts";
import type { StallMessage } from "../connection/shared/stall.ts";

/** `holdfast:step:start`: the body of a step is about to run, in this thread or, isolated, in another. */
export interface StepStartMessage {
  readonly requestId: string;
  readonly runId: string;
  readonly functionSlug: string;
  /** The id that the author gave the step, with the index of a repeat. */
  readonly stepId: string;
  /** With `requestId` it pairs start and end. */
  readonly stepHash: string;
  readonly kind: "run" | "sendEvent" | "sendSignal";
  /** Zero-based. */
  readonly attempt: number;
  /** When the body started, in milliseconds since the Unix epoch. */
  readonly startedAtMs: number;
}

/** `holdfast:step:end`: the attempt has its result or its error. Whether it is stored is another matter. */
export interface StepEndMessage extends StepStartMessage {
  readonly durationMs: number;
  readonly status: "completed" | "failed";
  /** Null when it completed. */
  readonly error: PlainError | null;
  /** It failed and is tried again. */
  readonly willRetry: boolean;
}

/** `holdfast:lease`: what became of the lease of a request, when the main thread learns of it. */
export interface LeaseMessage {
  readonly instanceId: string;
  readonly requestId: string;
  readonly runId: string;
  readonly functionSlug: string;
  /**
   * `extended`: as every few seconds. `confirmed`: extended after a lost connection or a suspension; what waited for it
   * starts. `lost`: another worker has the work, its `signal` fires.
   */
  readonly type: "extended" | "confirmed" | "lost";
  /** The new lease; null when it is lost. */
  readonly leaseId: string | null;
  readonly atMs: number;
}

/** Whose code a turn in a pool thread runs. */
export interface IsolationSubject {
  readonly requestId: string;
  readonly runId: string;
  readonly functionSlug: string;
  /** Null: a whole handler. */
  readonly stepId: string | null;
}

/**
 * `holdfast:isolation`: what happens in the pool of threads that isolated code runs in. A thread has one turn at a time,
 * so `threadId` pairs the start of a turn with its end.
 */
export type IsolationMessage = {
  /** Counts the threads of a pool. */
  readonly threadId: number;
  readonly atMs: number;
} & (
  | { readonly type: "thread-started" }
  /** `thread-abandoned`: it was terminated and does not end, since native code holds it; it is left behind. */
  | { readonly type: "thread-ended" | "thread-abandoned"; readonly reason: PlainError }
  /** The thread has been given code to run. Null: modules are loaded, or it is a turn of an isolated handler. */
  | { readonly type: "turn-started"; readonly subject: IsolationSubject | null }
  | { readonly type: "turn-ended" }
  /** The code took too long (`isOverrun`), or is not wanted any more and went on: its thread is ended. */
  | { readonly type: "turn-cut"; readonly reason: PlainError; readonly isOverrun: boolean }
);

/** The channels, by name. */
export interface HoldfastChannels {
  readonly "holdfast:state": StateChange;
  readonly "holdfast:stall": StallMessage;
  readonly "holdfast:step:start": StepStartMessage;
  readonly "holdfast:step:end": StepEndMessage;
  readonly "holdfast:lease": LeaseMessage;
  readonly "holdfast:isolation": IsolationMessage;
}
