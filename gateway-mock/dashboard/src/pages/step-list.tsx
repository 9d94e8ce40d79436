/** The steps in the order in which the run met them; each opens to what it gave or failed with. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { nowMs } from "../data/clock.ts";
import { foldedSteps, foundSteps, isLong, type StepRow, stepName } from "../data/folded-steps.ts";
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

export function StepList(props: StepListProps): JSX.Element {
  const { run, selected } = props;
  const { steps } = run;
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const [text, setText] = useState("");
  const toFocus = useRef<string | null>(null);
  // The button that had it is gone.
  useLayoutEffect(() => {
    if (toFocus.current !== null) document.getElementById(`step-${toFocus.current}`)?.querySelector("summary")?.focus();
    toFocus.current = null;
  }, [unfolded]);
  if (steps.length === 0) {
    return <p class="lead">{isEnded(run.status) ? "It had no steps." : "No step has been stored yet."}</p>;
  }
  const { failures } = pastOf(run);
  const found = text === "" ? null : foundSteps(steps, text);
  return (
    <>
      {isLong(steps) && <FindStep all={steps.length} shown={found} onFind={setText} />}
      <ol class="steps">
        {(found?.rows ?? foldedSteps(steps, { selected, unfolded })).map((row) =>
          row.kind === "step" ? (
            <StepItem key={row.step.id} {...props} step={row.step} earlier={failures.get(row.step.id) ?? []} />
          ) : (
            <FoldedSteps
              key={`from ${row.steps[0]?.id}`}
              row={row}
              onUnfold={() => {
                toFocus.current = row.steps[0]?.id ?? null;
                setUnfolded((before) => new Set([...before, ...row.steps.map(({ id }) => id)]));
              }}
            />
          ),
        )}
      </ol>
    </>
  );
}

interface FoldedStepsProps {
  readonly row: Extract<StepRow, { kind: "folded" }>;
  readonly onUnfold: () => void;
}

function FoldedSteps({ row: { steps, done }, onUnfold }: FoldedStepsProps): JSX.Element {
  const [first] = steps;
  const last = steps.at(-1);
  return (
    <li>
      <button type="button" class="folded" onClick={onUnfold}>
        Show {countOf(steps.length, "more step")}
        {done && ", all completed"}: <bdi>{first && stepName(first)}</bdi> to <bdi>{last && stepName(last)}</bdi>
      </button>
    </li>
  );
}

interface FindStepProps {
  readonly all: number;
  /** Null: nothing is looked for. */
  readonly shown: ReturnType<typeof foundSteps> | null;
  readonly onFind: (text: string) => void;
}

function FindStep({ all, shown, onFind }: FindStepProps): JSX.Element {
  const found = shown?.count ?? all;
  const most = shown?.rows.length ?? all;
  return (
    <p class="find-step">
      <label>
        <span class="hidden-text">Find a step</span>
        <input
          type="search"
          placeholder="Find a step"
          spellcheck={false}
          onInput={(event) => onFind(event.currentTarget.value.trim())}
        />
      </label>
      <span class="faint" role="status">
        {shown === null ? countOf(all, "step") : `${found} of ${countOf(all, "step")}`}
        {most < found && `, the first ${most}`}
      </span>
    </p>
  );
}

interface StepItemProps extends StepListProps {
  readonly step: Step;
  readonly earlier: readonly EarlierFailure[];
}

function StepItem({ run, childIds, selected, onSelect, onFork, step, earlier }: StepItemProps): JSX.Element {
  // What a step gave is an element for each of its values: of many steps only of those that were opened.
  const [isOpened, setOpened] = useState(!isLong(run.steps));
  return (
    <li>
      <details
        id={`step-${step.id}`}
        class={step.id === selected ? "step selected" : "step"}
        onToggle={(event) => {
          if (!event.currentTarget.open) return;
          setOpened(true);
          onSelect(step.id);
        }}
      >
        <summary>
          <StepMark step={step} isUnfinished={isUnfinished(run, step)} />
          <span class="step-name">
            <bdi>{stepName(step)}</bdi>
          </span>
          <span class="step-note">
            {noteOf(step, {
              now: nowMs.value,
              isUnfinished: isUnfinished(run, step),
              earlier,
              undoes: step.compensation === true,
            })}
          </span>
          <span class="step-time">{lengthOf(step)}</span>
        </summary>
        <div class="step-body">
          {isOpened && (
            <StepBody step={step} earlier={earlier} childId={childIds.get(step.id) ?? null} onFork={onFork(step)} />
          )}
        </div>
      </details>
    </li>
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
      {step.output !== undefined && <JsonView value={step.output} label={`output of ${stepName(step)}`} />}
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
