/** The steps in the order in which the run met them; each opens to what it gave or failed with. */
import type { JSX } from "preact";
import { nowMs } from "../data/clock.ts";
import { countOf, durationText, expectedText, instantText } from "../data/format.ts";
import { NODE_WORDS } from "../data/graphs.ts";
import { type EarlierFailure, failedAttempts, pastOf } from "../data/revivals.ts";
import { isEnded, isUnfinished, type RunDetail, type Step } from "../data/types.ts";
import { FAILURE_STEP } from "../data/undoing.ts";
import { ErrorView } from "../parts/error-view.tsx";
import { JsonView } from "../parts/json-view.tsx";

const KINDS: Readonly<Record<string, string>> = {
  StepRun: "step",
  Sleep: "sleep",
  WaitForEvent: "wait for an event",
  WaitForSignal: "wait for a signal",
  InvokeFunction: "invocation",
  Gateway: "HTTP call",
  AIGateway: "AI call",
};

const STATES: Readonly<Record<Step["status"], string>> = {
  planned: "PENDING",
  waiting: "WAITING",
  retrying: "WAITING",
  completed: "COMPLETED",
  failed: "FAILED",
};

export interface StepListProps {
  readonly run: RunDetail;
  readonly childIds: ReadonlyMap<string, string>;
  readonly selected: string | null;
  readonly onSelect: (stepId: string) => void;
  /** Null: the step cannot be gone on from. */
  readonly onFork: (step: Step) => (() => void) | null;
}

export function StepList({ run, childIds, selected, onSelect, onFork }: StepListProps): JSX.Element {
  if (run.steps.length === 0) {
    return <p class="lead">{isEnded(run.status) ? "It had no steps." : "No step has been stored yet."}</p>;
  }
  const { failures } = pastOf(run);
  return (
    <ol class="steps">
      {run.steps.map((step) => (
        <li key={step.id}>
          <details
            id={`step-${step.id}`}
            class={step.id === selected ? "step selected" : "step"}
            onToggle={(event) => event.currentTarget.open && onSelect(step.id)}
          >
            <summary>
              <StepMark step={step} isUnfinished={isUnfinished(run, step)} />
              <span class="step-name">
                <bdi>{step.name ?? step.id}</bdi>
              </span>
              <span class="step-note">
                {noteOf(step, {
                  now: nowMs.value,
                  isUnfinished: isUnfinished(run, step),
                  earlier: failures.get(step.id) ?? [],
                  undoes: step.compensation === true,
                })}
              </span>
              <span class="step-time">{lengthOf(step)}</span>
            </summary>
            <div class="step-body">
              <StepBody
                step={step}
                earlier={failures.get(step.id) ?? []}
                childId={childIds.get(step.id) ?? null}
                onFork={onFork(step)}
              />
            </div>
          </details>
        </li>
      ))}
    </ol>
  );
}

interface MarkProps {
  readonly step: Step;
  /** The run has ended without it. */
  readonly isUnfinished: boolean;
}

export function StepMark({ step: { status }, isUnfinished: isCut }: MarkProps): JSX.Element {
  const word = isCut ? "not finished" : status;
  return (
    <span class="step-mark" data-status={isCut ? "CANCELLED" : STATES[status]} title={word}>
      <span class="hidden-text">{word}</span>
    </span>
  );
}

interface StepContext {
  readonly now: number;
  readonly isUnfinished: boolean;
  readonly earlier: readonly EarlierFailure[];
  readonly undoes: boolean;
}

function noteOf(step: Step, { now, isUnfinished: isCut, earlier, undoes }: StepContext): string {
  const kind = KINDS[step.op] ?? step.op;
  const parts = [step.id === FAILURE_STEP ? "the undoing begins" : undoes ? "compensation" : kind];
  if (step.kept) parts.push("kept from the run it was forked from");
  if (step.edited) parts.push("its result was given");
  const failed = failedAttempts(step);
  if (failed > 0) parts.push(countOf(failed, "failed attempt"));
  if (earlier.length > 0) parts.push("failed before the run went on");
  if (isCut) parts.push(NODE_WORDS.unfinished);
  else if (step.endedMs === null && step.dueMs !== null) {
    parts.push(expectedText(step.status === "retrying" ? "next attempt" : "ends", step.dueMs, now));
  }
  return parts.join(" · ");
}

/** How long it took, as its worker measured it; of a wait, from its beginning to its end. */
export function lengthOf({ durationMs, openedMs, endedMs, startedMs }: Step): string {
  if (durationMs !== null) return durationText(durationMs);
  const from = openedMs ?? startedMs;
  return from !== null && endedMs !== null ? durationText(endedMs - from) : "";
}

interface StepBodyProps {
  readonly step: Step;
  /** With which it had ended before the run went on. */
  readonly earlier: readonly EarlierFailure[];
  readonly childId: string | null;
  readonly onFork: (() => void) | null;
}

function StepBody({ step, earlier, childId, onFork }: StepBodyProps): JSX.Element {
  return (
    <>
      {childId !== null && (
        <p>
          Invoked the run <a href={`/ui/runs/${encodeURIComponent(childId)}`}>{childId}</a>
        </p>
      )}
      {step.endedMs !== null && (
        <p class="faint">
          Stored {instantText(step.endedMs)}
          {step.attempt > 0 && `, attempt ${step.attempt + 1}`}
        </p>
      )}
      {step.output !== undefined && <JsonView value={step.output} label={`output of ${step.name ?? step.id}`} />}
      {step.error !== undefined && <ErrorView error={step.error} />}
      {step.failedAttempts.map(({ attempt, atMs, error }) => (
        <div key={attempt} class="failed-attempt">
          <h3>
            Attempt {attempt + 1} failed, {instantText(atMs)}
          </h3>
          <ErrorView error={error} />
        </div>
      ))}
      {earlier.map(({ atMs, error }) => (
        <div key={atMs} class="failed-attempt">
          <h3>Failed, {instantText(atMs)}, before the run went on</h3>
          <ErrorView error={error} />
        </div>
      ))}
      {onFork !== null && (
        <p>
          <button type="button" onClick={onFork}>
            Rerun from here …
          </button>
        </p>
      )}
    </>
  );
}
