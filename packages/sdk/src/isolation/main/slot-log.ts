/** What is logged of a thread that ends, where no attempt of a step says it. */
import type { Log, PlainError } from "@holdfast/core";
import { type NamedSubject, named, subjectWords } from "../shared/subject-text.ts";

/** `last`: whose turn was the last one in the thread. */
export function dataOfEnd({ code }: PlainError, last: NamedSubject | null): Readonly<Record<string, unknown>> {
  if (last === null) return { code };
  const { functionSlug, runId, step } = last;
  return { code, function: functionSlug, run: runId, ...(step ? { step: step.id } : {}) };
}

/** No attempt fails by it, so nothing else says it. */
export function logEndBetweenTurns(log: Log, reason: PlainError, last: NamedSubject | null): void {
  const { message, cause } = reason;
  const after = last === null ? "before its first turn" : `after that of ${subjectWords(last)}`;
  const data = dataOfEnd(reason, last);
  log(
    "warn",
    `A thread of the pool ended between turns, ${after}: ${message}`,
    cause === undefined ? data : { ...data, err: cause },
  );
}

/** `subject`: null = the thread had not begun with it. */
export function textOfLostTurn({ message }: PlainError, subject: NamedSubject | null): string {
  return subject ? named(subject, message) : `An isolated function with which its thread had not begun: ${message}`;
}
