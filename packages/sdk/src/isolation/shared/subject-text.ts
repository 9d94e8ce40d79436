/** What a message about a turn begins with: the step or handler, its function and run. */
export interface NamedSubject {
  readonly runId: string;
  readonly functionSlug: string;
  readonly step?: { readonly id: string; readonly attempt: number };
}

function describeSubject(subject: NamedSubject | null): string {
  if (subject === null) return "Loading isolated code";
  const { functionSlug, runId, step } = subject;
  const what = step === undefined ? "The handler" : `Step "${step.id}" (attempt ${step.attempt + 1})`;
  return `${what} of function "${functionSlug}", run ${runId}`;
}

/** In the middle of a message. */
export function subjectWords(subject: NamedSubject): string {
  const text = describeSubject(subject);
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

/** A message about what a reason says of the subject. */
export function named(subject: NamedSubject | null, reason: string): string {
  return `${describeSubject(subject)}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}
