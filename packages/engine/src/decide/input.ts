/** What goes into a decision: the inputs themselves, and what it takes from outside (time, ids, limits). */
import type { BackoffPolicy, PlainError, Random } from "@holdfast/core";
import type { Op, SpanContext } from "@holdfast/protocol";
import type { ConditionPlace } from "../flow/cancel-rules.ts";
import type { RunOptions } from "../flow/run-options.ts";
import type { RunState } from "../run/run-state.ts";

/** What a reply says, read and checked. */
export type PassReport =
  | { readonly status: "DONE"; readonly outputText: string }
  | { readonly status: "FAILED"; readonly error: PlainError }
  | { readonly status: "ERROR"; readonly error: PlainError; readonly retryAfterMs?: number | undefined }
  | {
      readonly status: "OPS";
      readonly ops: readonly Op[];
      readonly requestVersion: number;
      /** The one failed op of the report is not to be tried again. */
      readonly noRetry: boolean;
      readonly retryAfterMs?: number | undefined;
    }
  /** It could not be understood, or is over a limit. */
  | { readonly status: "INVALID"; readonly error: PlainError };

/** `text` is JSON. */
export type StepResult =
  | { readonly type: "data"; readonly text: string }
  | { readonly type: "error"; readonly error: PlainError };

export type FetchResult =
  | StepResult
  /** It did not work, and may work when it is tried again. */
  | { readonly type: "retry"; readonly error: PlainError; readonly retryAfterMs?: number | undefined };

export type PinOptions = Omit<RunOptions, "cancelRules"> & Partial<Pick<RunOptions, "cancelRules">>;

export type Input =
  | {
      readonly type: "report";
      readonly jobId: string;
      /** The worker keeps the pass going over checkpoints, and reports everything that is parked. */
      readonly inPlace: boolean;
      readonly report: PassReport;
    }
  /** Parked steps that began, and what was deferred, while their pass goes on in place. */
  | { readonly type: "parked"; readonly ops: readonly Op[] }
  /** `startedMs`: when a worker first had the run, where the timer is about that; null = none has. */
  | { readonly type: "timer"; readonly jobId: string; readonly startedMs?: number | null }
  /** What a step waits for from outside has come. */
  | { readonly type: "arrived"; readonly key: string; readonly result: StepResult }
  /** A call that the gateway made for a step has ended. */
  | { readonly type: "fetched"; readonly jobId: string; readonly result: FetchResult }
  /** With `waitKey`: by an event that the run still waits for under that key. */
  | { readonly type: "cancel"; readonly reason: string; readonly waitKey?: string }
  /** The run cannot go on with this job, for a reason of the gateway's own. */
  | { readonly type: "fail"; readonly jobId: string; readonly error: PlainError }
  /** A worker of this version starts the run, with the options of that version; without `cancelRules` those stay. */
  | { readonly type: "pin"; readonly jobId: string; readonly version: string; readonly options: PinOptions }
  /** A failed run tries again to undo what it could not. */
  | { readonly type: "revive" }
  /** A run that failed or was cancelled goes on, as `resumePlan` found its log under this version of its head. */
  | {
      readonly type: "resume";
      readonly headVersion: number;
      readonly dropped: readonly string[];
      readonly appVersion: string;
      readonly options: RunOptions;
    };

/** What decisions take from outside. */
export interface DecideContext {
  /** The database's time, as well as it is known. */
  readonly nowMs: number;
  /** The latest that it may be: a job that is due later cannot have been claimed. */
  readonly latestMs: number;
  readonly random: Random;
  /** Makes ids of jobs. */
  readonly newId: () => string;
  readonly retry: BackoffPolicy;
  readonly maxSteps: number;
  /** Characters of a run's events and step results. */
  readonly maxStateLength: number;
  /** Whether a function of this id is registered. */
  readonly hasFunction: (functionId: string) => boolean;
  /** Why an expression cannot be used; null when it can. */
  readonly expressionProblem: (source: string) => string | null;
  /** What a wait with this condition is found by, for a run with this event. */
  readonly waitMatch: (condition: string, eventText: string, of: ConditionPlace) => string;
  /** Whether another step is known to wait for this signal; the store has the last word. */
  readonly isSignalTaken: (signal: string) => boolean;
  /** The span that events of a run, or of a step of it, come from; undefined: they carry none. */
  readonly spanOf?: (state: RunState, stepKey?: string) => SpanContext | undefined;
}
