/** Why a turn in the pool has no result, in words: each names the step, its function and run. */
import { type ErrorCode, HoldfastError, type PlainError, plainError } from "@holdfast/core";
import { readThrown, type Thrown } from "../../execution/thrown.ts";
import type { FailCause } from "../machines/pool-types.ts";
import type { TurnSubject } from "../shared/isolation-messages.ts";
import { named } from "../shared/subject-text.ts";
import type { TurnPhase } from "../shared/thread-cells.ts";

/** How long a module may take to be evaluated in a thread, and a thread to begin a turn. */
export const LOAD_MS = 30_000;

export interface Overrun {
  readonly phase: TurnPhase;
  readonly forMs: number;
  readonly budgetMs: number;
}

/** Why a turn was ended whose time is over, without its name. */
export function overrunReason({ phase, forMs, budgetMs }: Overrun): PlainError & { readonly code: ErrorCode } {
  switch (phase) {
    case "running":
      return reasonOf(
        "ISOLATE_BUDGET",
        `it ran for ${forMs} ms and its budget is ${budgetMs} ms; its thread was ended.`,
      );
    case "loading":
      return reasonOf(
        "ISOLATE_MODULE_INVALID",
        `evaluating the module of its code took longer than ${LOAD_MS} ms; the thread was ended.`,
      );
    case "waiting":
      return reasonOf(
        "ISOLATE_THREAD_LOST",
        `its thread did not begin it within ${LOAD_MS} ms, because code that an earlier turn left behind keeps the thread busy; it was ended.`,
      );
  }
}

const reasonOf = (code: ErrorCode, message: string): PlainError & { readonly code: ErrorCode } => ({
  ...plainError(code, message),
  code,
});

/** The error of such a turn. */
export function overrunError(subject: TurnSubject | null, overrun: Overrun): HoldfastError {
  const { code, message } = overrunReason(overrun);
  return new HoldfastError(code, named(subject, message));
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
  const message = named(subject, reason?.message ?? text);
  const error = new HoldfastError(code, message, reason?.cause === undefined ? {} : { cause: reason.cause });
  return readThrown(error);
}

/** A reason that already says all. */
export function thrownOf(reason: PlainError): Thrown {
  return { error: { ...reason, __serialized: true }, isFinal: false, isStepError: false };
}
