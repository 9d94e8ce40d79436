/** What the head of a run says besides what it is: what it did not undo, that it was resumed, where its failure came from. */
import { Fragment, type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, get } from "../data/api.ts";
import { failedCallOf, failedStepOf, MAX_LEVELS, type TrailRun, trailOf } from "../data/failure-trail.ts";
import { durationText, instantText, withLocalTimes } from "../data/format.ts";
import { errorLine, pastOf, type Revival } from "../data/revivals.ts";
import type { RunDetail } from "../data/types.ts";
import { undoingReport } from "../data/undoing.ts";
import { Words } from "../parts/words.tsx";

export const runHref = (id: string): string => `/ui/runs/${encodeURIComponent(id)}`;

/** Why a run was cancelled. */
export function CancelledNotice({ run: { status, error } }: { readonly run: RunDetail }): JSX.Element | null {
  const { message } = (error ?? {}) as { readonly message?: string };
  if (status !== "CANCELLED" || message === undefined) return null;
  return (
    <p class="notice">
      <bdi>
        <Words text={withLocalTimes(message)} />
      </bdi>
    </p>
  );
}

/** What became of the steps that a failed run was to undo. */
export function UndoingNotice({ run }: { readonly run: RunDetail }): JSX.Element | null {
  const report = undoingReport(run);
  if (report === null) return null;
  const { undone, failed, notRun } = report;
  const names = <Names of={undone} />;
  if (failed.length + notRun.length === 0) return undone.length === 0 ? null : <p class="notice">Undone: {names}.</p>;
  return (
    <div class="notice bad undoing">
      <p>Not all of its steps were undone.</p>
      <ul>
        {failed.map(({ stepId, error }) => (
          <li key={stepId}>
            <strong>
              <bdi>{stepId}</bdi>
            </strong>{" "}
            was not undone: its compensation failed with “<bdi>{errorLine(error)}</bdi>”
          </li>
        ))}
        {notRun.map((stepId) => (
          <li key={stepId}>
            <strong>
              <bdi>{stepId}</bdi>
            </strong>{" "}
            was not undone: its compensation has not run.
          </li>
        ))}
      </ul>
      {undone.length > 0 && <p>Undone: {names}.</p>}
    </div>
  );
}

function Names({ of }: { readonly of: readonly string[] }): JSX.Element {
  return (
    <>
      {of.map((name, index) => (
        <Fragment key={name}>
          {index > 0 && ", "}
          <bdi>{name}</bdi>
        </Fragment>
      ))}
    </>
  );
}

/** That the run had ended before, each time. */
export function ResumedNotice({ run }: { readonly run: RunDetail }): JSX.Element | null {
  const { revivals } = pastOf(run);
  if (revivals.length === 0) return null;
  return (
    <ul class="relatives" aria-label="Resumed">
      {revivals.map((revival) => (
        <li key={revival.atMs}>
          <bdi>{revivalText(revival)}</bdi>
        </li>
      ))}
    </ul>
  );
}

function revivalText({ atMs, status, endedMs, error, isOfUndoing }: Revival): string {
  const what = isOfUndoing ? "What was not undone was tried again" : "Resumed";
  const how = status === "FAILED" ? `it had failed with “${errorLine(error)}”` : "it had been cancelled";
  return `${what} at ${instantText(atMs)}, ${durationText(atMs - endedMs)} after ${how}`;
}

/** The step that it failed in, and the runs which that had invoked, down to the one that failed by itself. */
export function FailureTrail({ run }: { readonly run: RunDetail }): JSX.Element | null {
  const trail = useTrail(run);
  const call = failedCallOf(run);
  const step = call?.step ?? failedStepOf(run);
  if (step === null) return null;
  const [first, ...further] = trail;
  const isDeeper = trail.length >= MAX_LEVELS;
  return (
    <div class="trail">
      <p>
        In the step{" "}
        <strong>
          <bdi>{step}</bdi>
        </strong>
        {call !== null && (
          <>
            , which had invoked <RunLink runId={call.runId} functionId={first?.functionId ?? null} />
          </>
        )}
        {first?.failedStep && <OwnStep name={first.failedStep} />}
      </p>
      {further.length > 0 && (
        <ol aria-label="Down to the first failure">
          {further.map((one) => (
            <li key={one.runId}>
              There in the step{" "}
              <strong>
                <bdi>{one.step}</bdi>
              </strong>
              , which had invoked <RunLink runId={one.runId} functionId={one.functionId} />
              {one.failedStep && <OwnStep name={one.failedStep} />}
            </li>
          ))}
          {isDeeper && <li>It goes on from there.</li>}
        </ol>
      )}
    </div>
  );
}

function OwnStep({ name }: { readonly name: string }): JSX.Element {
  return (
    <>
      , which failed in its step{" "}
      <strong>
        <bdi>{name}</bdi>
      </strong>
    </>
  );
}

function RunLink({ runId, functionId }: { readonly runId: string; readonly functionId: string | null }): JSX.Element {
  return (
    <>
      {functionId !== null && (
        <>
          <bdi>{functionId}</bdi>{" "}
        </>
      )}
      <a class="mono" href={runHref(runId)}>
        {runId}
      </a>
    </>
  );
}

const NONE: readonly TrailRun[] = [];

function useTrail(run: RunDetail): readonly TrailRun[] {
  const [trail, setTrail] = useState(NONE);
  // A run that has failed changes only by being resumed.
  const of = failedCallOf(run)?.runId ?? null;
  useEffect(() => {
    let isOver = false;
    setTrail(NONE);
    if (of !== null) void trailOf(run, readRun).then((found) => !isOver && setTrail(found));
    return () => {
      isOver = true;
    };
  }, [of, run.endedMs]);
  return trail;
}

/** Null: it is gone, or cannot be read now. */
async function readRun(runId: string): Promise<RunDetail | null> {
  try {
    return await get<RunDetail>(`/v1/runs/${encodeURIComponent(runId)}?log=1`);
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}
