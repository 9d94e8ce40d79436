import type { DurationInput } from "@holdfast/core";
import type { OutgoingEvent } from "../events/event-types.ts";
import type { HoldfastFunction } from "../functions/define-function.ts";
import type { StepKind } from "../steps/step-kinds.ts";

/** What a step does in a test. */
export interface StepAnswer {
  /** The step's id; of a repeat in a loop "id:1", "id:2" ..., while "id" answers all that have no answer of their own. */
  readonly id: string;
  /**
   * What the step gives. For `step.run` it replaces the body and gets its arguments. For a wait it returns the event, or
   * its data, or the signal's data, or null for "none came"; for `step.invoke` the result of the invoked function; for
   * `step.fetch` a Response. What it throws is what the step fails with.
   */
  readonly handler: (...args: never[]) => unknown;
  /** Waits and invocations: how long after its beginning the step ends. Default: at once. */
  readonly after?: DurationInput;
}

export interface FunctionTestOptions {
  /** The event that starts the run; default: one of the first trigger, without data. */
  readonly event?: OutgoingEvent;
  /** The events of a batch. */
  readonly events?: readonly OutgoingEvent[];
  readonly steps?: readonly StepAnswer[];
  /** Functions that are run in memory, too, when they are invoked. */
  readonly functions?: readonly HoldfastFunction[];
  /**
   * After every step the handler is started again from the top, as after a crash: code that is not deterministic shows.
   * Default false.
   */
  readonly replay?: boolean;
  /**
   * Where isolated steps and handlers run: "inline" (default) in the test's thread, so that breakpoints work; "real" in
   * threads, as in the app, with their budgets. Steps that `steps` answers run in the test's thread either way.
   */
  readonly isolation?: "inline" | "real";
  /** What time it is at the start, in milliseconds since the Unix epoch. Default: now. */
  readonly nowMs?: number;
}

/** A step as a test sees it. */
export interface TestStep {
  readonly id: string;
  readonly kind: StepKind;
  readonly status: "completed" | "failed" | "waiting";
  /** Of a completed step. */
  readonly output: unknown;
  /** Of a failed step, and of the last attempt of one that will be tried again. */
  readonly error: Error | undefined;
  /** How often its body was run; 0 for waits. */
  readonly attempts: number;
  /** What the gateway would receive: a wait's event and timeout, the data of an invocation ... */
  readonly options: Readonly<Record<string, unknown>>;
}

export interface TestRun<Output = unknown> {
  /**
   * "stopped": at the step that `runUntil` names; "cancelled": by the function's `timeouts.finish`; "continued": it would
   * go on as a new run, with `continuedAs`.
   */
  readonly status: "completed" | "failed" | "cancelled" | "stopped" | "continued";
  /** What the handler gave `continueAs`. */
  readonly continuedAs: unknown;
  readonly output: Output | undefined;
  readonly error: Error | undefined;
  /** In the order in which they were met. */
  readonly steps: readonly TestStep[];
  /** Results of completed steps by id. */
  readonly state: Readonly<Record<string, unknown>>;
  /**
   * Events that the run sent by `step.sendEvent`, or by a client meanwhile. They are checked, and go nowhere. With
   * `isolation: "real"` code in a thread sends by a client as always.
   */
  readonly sentEvents: readonly OutgoingEvent[];
  readonly sentSignals: readonly { readonly signal: string; readonly data?: unknown }[];
  /** How much time passed in the run: sleeps, waits, the waits before retries. */
  readonly elapsedMs: number;
  /** How often the handler was started. */
  readonly passes: number;
  /**
   * The ids of the answers in `steps` that no step has used: those of a branch that was not taken, of steps behind the one
   * that `runUntil` names, and those with a wrong id.
   */
  readonly unusedAnswers: readonly string[];
  /** The run of `onFailure`, when there is one and this run has failed. */
  readonly onFailure?: TestRun;
}
