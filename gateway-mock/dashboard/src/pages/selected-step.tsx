/** Under the timeline: the step that is selected in it, and what can be done with it, without looking for it in the list. */
import type { JSX } from "preact";
import { isUnfinished, type RunDetail, type Step } from "../data/types.ts";
import { StepMark } from "./step-list.tsx";

interface SelectedStepProps {
  readonly run: RunDetail;
  /** Id of a step. */
  readonly selected: string;
  /** Null: the step cannot be gone on from. */
  readonly onFork: (step: Step) => (() => void) | null;
}

export function SelectedStep({ run, selected, onFork }: SelectedStepProps): JSX.Element | null {
  const step = run.steps.find(({ id }) => id === selected);
  if (step === undefined) return null;
  const fork = onFork(step);
  return (
    <div class="selected-step" role="group" aria-label="Selected step">
      <StepMark step={step} isUnfinished={isUnfinished(run, step)} />
      <span class="step-name">
        <bdi>{step.name ?? step.id}</bdi>
      </span>
      {fork !== null && (
        <button type="button" onClick={fork}>
          Rerun from here …
        </button>
      )}
    </div>
  );
}
