/** Why a turn in the pool has no result, in words: each names the step, its function and run. */
import { type ErrorCode, HoldfastError, type PlainError } from "@holdfast/core";
import { readThrown, type Thrown } from "../../execution/thrown.ts";
import type { FailCause } from "../machines/pool-types.ts";
import type { TurnSubject } from "../shared/isolation-messages.ts";
import type { TurnPhase } from "../shared/thread-cells.ts";

/** How long a module may take to be evaluated in a thread, and a thread to begin a turn. */
export const LOAD_MS = 30_000;

export function describeSubject(subject: TurnSubject | null): string {
  if (subject === null) return "Loading isolated code";
  const { functionSlug, runId, step } = subject;
  const what = step === undefined ? "The handler" : `Step "${step.id}" (attempt ${step.attempt})`;
  return `${what} of function "${functionSlug}", run ${runId}`;
}

export interface Overrun {
  readonly phase: TurnPhase;
  readonly forMs: number;
  readonly budgetMs: number;
}

/** The error of a turn whose time is over. */
export function overrunError(subject: TurnSubject | null, { phase, forMs, budgetMs }: Overrun): HoldfastError {
  const who = describeSubject(subject);
  switch (phase) {
    case "running":
      return new HoldfastError(
        "ISOLATE_BUDGET",
        `${who}: it ran for ${forMs} ms and its budget is ${budgetMs} ms; its thread was ended.`,
      );
    case "loading":
      return new HoldfastError(
        "ISOLATE_MODULE_INVALID",
        `${who}: evaluating the module of its code took longer than ${LOAD_MS} ms; the thread was ended.`,
      );
    case "waiting":
      return new HoldfastError(
        "ISOLATE_THREAD_LOST",
        `${who}: its thread did not begin it within ${LOAD_MS} ms, because code that an earlier turn left behind keeps the thread busy; it was ended.`,
      );
  }
}

const FALLBACKS: Readonly<Record<FailCause, readonly [ErrorCode, string]>> = {
  QUEUE_FULL: ["ISOLATE_QUEUE_FULL", "more steps wait for a thread than `isolation.maxQueue` allows."],
  EXHAUSTED: ["ISOLATE_THREAD_LOST", "no thread can be started: too many do not end, probably in native code."],
  ENDED: ["ISOLATE_THREAD_LOST", "its thread ended."],
  NOT_STARTED: ["ISOLATE_THREAD_LOST", "no thread could be started."],
  STOPPED: ["ISOLATE_THREAD_LOST", "the connection is closed, and its threads with it."],
};

/** What the step is told. The reason is the thread's, where there is one. */
export function failedTurn(subject: TurnSubject | null, cause: FailCause, reason: PlainError | null): Thrown {
  const [code, text] = FALLBACKS[cause];
  if (reason?.code === "ISOLATE_BUDGET" || reason?.code === "ISOLATE_MODULE_INVALID") return thrownOf(reason);
  const message = `${describeSubject(subject)}: ${reason === null ? text : lowerFirst(reason.message)}`;
  const error = new HoldfastError(code, message, reason?.cause === undefined ? {} : { cause: reason.cause });
  return readThrown(error);
}

/** A reason that already says all. */
export function thrownOf(reason: PlainError): Thrown {
  return { error: { ...reason, __serialized: true }, isFinal: false, isStepError: false };
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
