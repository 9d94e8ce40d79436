/**
 * Log lines of what fails: each attempt of a step or a handler that failed in this process, and the run when it fails
 * finally. A replay runs nothing again, so it logs nothing again.
 */
import { durationText, headOf, type Log, logFor } from "@holdfast/core";
import type { RegisteredFunction } from "../functions/registry.ts";
import type { PassReply } from "../steps/pass-types.ts";
import { whyNotRetried } from "../steps/retry-policy.ts";
import { withoutUndoPrefix } from "./compensation.ts";
import type { TracedExecution } from "./current.ts";
import { loggedError } from "./logged-error.ts";
import { nextAttemptMs } from "./next-attempt.ts";
import type { PassOptions } from "./pass-options.ts";
import type { Thrown } from "./thrown.ts";
import { traceIds } from "./trace-ids.ts";

/** What Holdfast logs of this app's functions, where nothing else is said. */
export function failureLogOf({ client }: RegisteredFunction): Log {
  const { logger, logLevel } = client.options;
  return logFor(logger, logLevel);
}

/** An attempt that failed. */
export interface AttemptEnd {
  readonly thrown: Thrown;
  /** Zero-based. */
  readonly attempt: number;
  /** How many there are in all; undefined = as many as the gateway likes. */
  readonly limit: number | undefined;
  readonly isFinal: boolean;
  readonly retryAfter?: string | undefined;
}

/** Keys that the messages have in words. */
const IN_WORDS = ["code", "functionSlug", "stepId", "attempt", "maxAttempts", "nextAttemptInMs"];

/** What is logged says of the pass. */
type LoggedPass = Pick<PassOptions, "fn" | "log" | "input" | "ports">;

export class FailureLog {
  readonly #pass: LoggedPass;
  readonly #execution: TracedExecution;
  #thrown: Thrown | undefined;

  constructor(pass: LoggedPass, execution: TracedExecution) {
    this.#pass = pass;
    this.#execution = execution;
  }

  /** An attempt of a step's body. `fullId`: as its author wrote it, with the index of a repeat. */
  step(fullId: string, end: AttemptEnd): void {
    const undone = withoutUndoPrefix(fullId);
    const what = undone === undefined ? `Step "${fullId}"` : `The compensation of step "${undone}"`;
    this.#attempt(what, end, { stepId: fullId });
  }

  /** What the handler threw. Only the first error counts. */
  noteThrown(thrown: Thrown): void {
    this.#thrown ??= thrown;
  }

  /** The run fails, and so many finished steps are undone first. */
  runIsUndone(steps: number): void {
    if (this.#thrown) this.#run(this.#handlerEnd(this.#thrown, true), steps);
  }

  onReply(reply: PassReply): void {
    if (reply.type !== "end" || reply.end.type !== "failed" || this.#thrown === undefined) return;
    const { final, retryAfter } = reply.end;
    const end = this.#handlerEnd(this.#thrown, final, retryAfter);
    if (final) this.#run(end, 0);
    else this.#attempt("The handler", end, {});
  }

  #handlerEnd(thrown: Thrown, isFinal: boolean, retryAfter?: string): AttemptEnd {
    const { attempt, maxAttempts } = this.#pass.input;
    return { thrown, attempt, limit: maxAttempts, isFinal, retryAfter };
  }

  #run(end: AttemptEnd, undoes: number): void {
    const { runId, functionSlug } = this.#execution;
    const { error, failedStep } = end.thrown;
    const what = failedStep === undefined ? headOf(error) : `step "${failedStep}" failed: ${headOf(error)}`;
    const steps = undoes === 1 ? "1 finished step is" : `${undoes} finished steps are`;
    const next = undoes > 0 ? ` ${steps} undone now.` : "";
    const why = failedStep === undefined ? ` ${this.#whyFinal(end)}` : "";
    const message = `Run ${runId} of ${functionSlug} failed: ${ended(what)}${why}${next}`;
    this.#pass.log(
      "error",
      message,
      { ...this.#fields(end, "RUN_FAILED"), ...(failedStep === undefined ? {} : { stepId: failedStep }) },
      [...IN_WORDS, "runId"],
    );
  }

  /** What was undone of a run that has failed. */
  undone(report: {
    readonly undone: readonly string[];
    readonly failed: readonly { readonly stepId: string }[];
  }): void {
    const { runId, functionSlug } = this.#execution;
    const failed = report.failed.map(({ stepId }) => `"${stepId}"`);
    const rest = failed.length === 0 ? "." : `, but not ${failed.join(", ")}: the compensation failed.`;
    const message = `Run ${runId} of ${functionSlug} has undone ${named(report.undone)}${rest}`;
    this.#pass.log(failed.length === 0 ? "info" : "error", message, { runId, functionSlug, ...report }, [
      "runId",
      "functionSlug",
      "undone",
      "failed",
      "notRun",
    ]);
  }

  #attempt(what: string, end: AttemptEnd, more: Readonly<Record<string, unknown>>): void {
    const { attempt, limit, thrown } = end;
    const which = `attempt ${attempt + 1}${limit === undefined ? "" : ` of ${limit}`}`;
    const next = end.isFinal ? this.#whyFinal(end) : this.#next(end);
    const message = `${what} of ${this.#execution.functionSlug} failed, ${which}: ${ended(headOf(thrown.error))} ${next}`;
    this.#pass.log("warn", message, { ...this.#fields(end, "ATTEMPT_FAILED"), ...more }, IN_WORDS);
  }

  #fields(end: AttemptEnd, code: "ATTEMPT_FAILED" | "RUN_FAILED"): Readonly<Record<string, unknown>> {
    const { runId, functionSlug } = this.#execution;
    const { attempt, limit, thrown } = end;
    const inMs = end.isFinal ? undefined : this.#nextInMs(end);
    return {
      code,
      runId,
      functionSlug,
      attempt,
      ...(limit === undefined ? {} : { maxAttempts: limit }),
      ...(inMs === undefined ? {} : { nextAttemptInMs: inMs }),
      ...traceIds(this.#execution),
      err: loggedError(thrown),
    };
  }

  #next(end: AttemptEnd): string {
    const inMs = this.#nextInMs(end);
    return inMs === undefined ? "It is tried again." : `Next attempt in ${durationText(inMs)}.`;
  }

  #nextInMs(end: AttemptEnd): number | undefined {
    return nextAttemptMs(end, this.#pass.input.extended?.retry, this.#pass.ports.clock.nowMs());
  }

  #whyFinal({ thrown, attempt, limit }: AttemptEnd): string {
    const { error, isFinal } = thrown;
    if (isFinal) {
      const whose =
        error.code === undefined ? `its error is a ${error.name}` : `${error.code} would come up in each attempt`;
      return `It is not tried again: ${whose}.`;
    }
    if (limit !== undefined && attempt + 1 >= limit) return "No attempts are left.";
    const why = whyNotRetried(this.#pass.fn.definition.retryIf, error) ?? "`retryIf` said so";
    return `It is not tried again: ${why}.`;
  }
}

const ended = (text: string): string => (/[.!?\u2026]$/.test(text) ? text : `${text}.`);

function named(steps: readonly string[]): string {
  return steps.length === 0 ? "no step" : steps.map((step) => `"${step}"`).join(", ");
}
