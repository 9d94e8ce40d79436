/** Why a turn in the pool has no result, in words: each names the step, its function and run. */
import { type ErrorCode, HoldfastError, type PlainError, plainError, toPlainError } from "@holdfast/core";
import { readThrown, type Thrown } from "../../execution/thrown.ts";
import type { FailCause } from "../machines/pool-types.ts";
import type { TurnSubject } from "../shared/isolation-messages.ts";
import type { LastWords } from "../shared/last-words.ts";
import { type NamedSubject, named, subjectWords } from "../shared/subject-text.ts";
import type { TurnPhase } from "../shared/thread-cells.ts";

/** How long a module may take to be evaluated in a thread. */
export const LOAD_MS = 30_000;
/** How long a thread may take to begin its turn: it is free, so only code of an earlier turn can be in the way. */
export const BEGIN_MS = 5_000;
/** What has been posted is read meanwhile. */
export const READ_MS = 100;

export interface Overrun {
  readonly phase: TurnPhase;
  readonly forMs: number;
  readonly budgetMs: number;
}

/** What was there when a turn was ended whose time is over. */
export interface Seen {
  readonly words: LastWords | null;
  /** Whose turn was the last one there before. */
  readonly last: NamedSubject | null;
}

/** Why a turn was ended whose time is over, without its name. */
export function overrunReason(overrun: Overrun, seen: Seen): CodedReason {
  const { code, message } = reasonOf(overrun, seen);
  const stack = seen.words?.stack;
  return { ...plainError(code, message), code, ...(stack ? { stack: `${code}: ${message}\n${stack}` } : {}) };
}

/** Why a thread does not begin with a turn. */
export function leftBehindReason(busyMs: number | null, last: NamedSubject | null): CodedReason {
  const keeps = busyMs === null ? "keeps its thread busy" : `has kept its thread busy for ${busyMs} ms`;
  const message = `code that an earlier turn left behind ${keeps}${lastWas(last)}; the thread was ended, and another one gets the turn.`;
  const code = "ISOLATE_THREAD_LOST";
  return { ...plainError(code, message), code };
}

const lastWas = (last: NamedSubject | null): string =>
  last === null ? "" : ` (the last one there was that of ${subjectWords(last)})`;

type CodedReason = PlainError & { readonly code: ErrorCode };

function reasonOf({ phase, forMs, budgetMs }: Overrun, { words, last }: Seen): { code: ErrorCode; message: string } {
  const where = whereOf(words?.stack ?? null);
  switch (phase) {
    case "running": {
      if (words?.leftBy) {
        const message = `it did not end within its budget of ${budgetMs} ms, and code that ${subjectWords(words.leftBy)} left behind kept its thread busy; the thread was ended${where}.`;
        return { code: "ISOLATE_THREAD_LOST", message };
      }
      const message = `it ran for ${forMs} ms and its budget is ${budgetMs} ms; its thread was ended${where}.`;
      return { code: "ISOLATE_BUDGET", message };
    }
    case "loading": {
      const message = `evaluating the module of its code took longer than ${LOAD_MS} ms; the thread was ended${where}.`;
      return { code: "ISOLATE_MODULE_INVALID", message };
    }
    case "asking":
    case "waiting": {
      const whose = words?.leftBy ? ` (that of ${subjectWords(words.leftBy)})` : lastWas(last);
      const message = `its thread did not begin it within ${BEGIN_MS} ms, because code that an earlier turn left behind keeps the thread busy${whose}; the thread was ended${where}, and another one gets the turn.`;
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

/** The error of such a turn; that of a thread that is lost gets its name where it is given to the step. */
export function overrunError(subject: TurnSubject | null, overrun: Overrun, seen: Seen): PlainError {
  const reason = overrunReason(overrun, seen);
  if (reason.code === "ISOLATE_THREAD_LOST") return reason;
  const error = new HoldfastError(reason.code, named(subject, reason.message));
  error.stack = `${error.name}: ${error.message}${seen.words?.stack ? `\n${seen.words.stack}` : ""}`;
  return toPlainError(error);
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
