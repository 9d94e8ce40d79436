/** Why a turn in the pool has no result, in words: each names the step, its function and run. */
import { type ErrorCode, HoldfastError, type PlainError, plainError } from "@holdfast/core";
import { readThrown, type Thrown } from "../../execution/thrown.ts";
import type { FailCause } from "../machines/pool-types.ts";
import type { TurnSubject } from "../shared/isolation-messages.ts";
import { named } from "../shared/subject-text.ts";
import type { TurnPhase } from "../shared/thread-cells.ts";

/** How long a module may take to be evaluated in a thread. */
export const LOAD_MS = 30_000;
/** How long a thread may take to begin its turn: it is free, so only code of an earlier turn can be in the way. */
export const BEGIN_MS = 5_000;

export interface Overrun {
  readonly phase: TurnPhase;
  readonly forMs: number;
  readonly budgetMs: number;
}

/** Why a turn was ended whose time is over, without its name. The stack is what it did then, "" = nothing: it waited. */
export function overrunReason(overrun: Overrun, stack: string | null): CodedReason {
  const { code, message } = reasonOf(overrun, stack);
  return { ...plainError(code, message), code, ...(stack ? { stack: `${code}: ${message}\n${stack}` } : {}) };
}

type CodedReason = PlainError & { readonly code: ErrorCode };

function reasonOf({ phase, forMs, budgetMs }: Overrun, stack: string | null): { code: ErrorCode; message: string } {
  const where = whereOf(stack);
  switch (phase) {
    case "running": {
      const message = `it ran for ${forMs} ms and its budget is ${budgetMs} ms; its thread was ended${where}.`;
      return { code: "ISOLATE_BUDGET", message };
    }
    case "loading": {
      const message = `evaluating the module of its code took longer than ${LOAD_MS} ms; the thread was ended${where}.`;
      return { code: "ISOLATE_MODULE_INVALID", message };
    }
    case "waiting": {
      const message = `its thread did not begin it within ${BEGIN_MS} ms, because code that an earlier turn left behind keeps the thread busy; it was ended${where}.`;
      return { code: "ISOLATE_THREAD_LOST", message };
    }
  }
}

/** The innermost place that is not built in. */
function whereOf(stack: string | null): string {
  if (stack === null) return "";
  if (stack === "") return ", while it waited";
  const frame = stack.split("\n").find((line) => !line.endsWith("(native)") && !line.endsWith("at native"));
  return frame === undefined ? "" : `, ${frame.trim()}`;
}

/** The error of such a turn. */
export function overrunError(subject: TurnSubject | null, overrun: Overrun, stack: string | null): HoldfastError {
  const { code, message } = overrunReason(overrun, stack);
  const error = new HoldfastError(code, named(subject, message));
  error.stack = `${error.name}: ${error.message}${stack ? `\n${stack}` : ""}`;
  return error;
}

const FALLBACKS: Readonly<Record<FailCause, readonly [ErrorCode, string]>> = {
  QUEUE_FULL: ["ISOLATE_QUEUE_FULL", "more steps wait for a thread than `isolation.maxQueue` allows."],
  EXHAUSTED: ["ISOLATE_THREAD_LOST", "no thread can be started: too many do not end, probably in native code."],
  ENDED: ["ISOLATE_THREAD_LOST", "its thread ended."],
  NOT_STARTED: ["ISOLATE_THREAD_LOST", "no thread could be started."],
  STOPPED: ["ISOLATE_THREAD_LOST", "the connection is closed, and its threads with it."],
};

/** The error that the step gets. The reason is the thread's, where there is one. */
export function failedTurn(subject: TurnSubject | null, cause: FailCause, reason: PlainError | null): Thrown {
  const [code, text] = FALLBACKS[cause];
  if (reason?.code === "ISOLATE_BUDGET" || reason?.code === "ISOLATE_MODULE_INVALID") return thrownOf(reason);
  const message = named(subject, reason?.message ?? text);
  const error = new HoldfastError(code, message, reason?.cause === undefined ? {} : { cause: reason.cause });
  // Where the thread is missed says nothing; what ended it is the cause.
  error.stack = `${error.name}: ${error.message}`;
  return readThrown(error);
}

/** A reason that already says all. */
export function thrownOf(reason: PlainError): Thrown {
  return { error: { ...reason, __serialized: true }, isFinal: false, isStepError: false };
}
