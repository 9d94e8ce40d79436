/**
 * What is logged when the process exits while steps run: a step that ends its process takes all others along, and the
 * gateway does not learn which of them it was.
 */
import type { Log } from "@holdfast/core";
import { type CurrentExecution, currentExecution } from "../../execution/current.ts";
import type { RunningStepEntry } from "../../execution/running-steps.ts";

export interface ExitSubject {
  readonly running: { all(): Iterable<RunningStepEntry> };
  readonly log: Log;
}

const MAX_NAMED = 5;

/** One listener of the process for all connections, and one line: Node warns of a leak where there are more than ten. */
const subjects = new Set<ExitSubject>();

function onExit(code: number): void {
  const [first] = subjects;
  const running = [...subjects].flatMap((subject) => [...subject.running.all()]);
  const message = exitMessage(code, running, currentExecution());
  if (message !== undefined) first?.log(code === 0 ? "warn" : "error", message);
}

/** Gives what ends it. */
export function reportExit(subject: ExitSubject): () => void {
  if (subjects.size === 0) process.on("exit", onExit);
  subjects.add(subject);
  return () => {
    if (subjects.delete(subject) && subjects.size === 0) process.removeListener("exit", onExit);
  };
}

/** @param caller whose code has ended the process, where that is known */
export function exitMessage(
  code: number,
  running: readonly Pick<RunningStepEntry, "requestId" | "runId" | "stepId">[],
  caller?: CurrentExecution,
): string | undefined {
  const others = running.filter(({ requestId, stepId }) => {
    return requestId !== caller?.requestId || stepId !== caller.step?.id;
  });
  const named = others.slice(0, MAX_NAMED).map(({ stepId, runId }) => `step "${stepId}" of run ${runId}`);
  const more = others.length > MAX_NAMED ? ` and ${others.length - MAX_NAMED} more` : "";
  const list = `${named.join(", ")}${more}`;
  const exits = `The process exits with code ${code}`;
  if (caller !== undefined) {
    const place = caller.step
      ? `step "${caller.step.id}" of run ${caller.runId}`
      : `the handler of run ${caller.runId}`;
    return `${exits} in ${place}.${list === "" ? "" : ` Also running: ${list}.`}`;
  }
  return list === "" ? undefined : `${exits} while running ${list}.`;
}
