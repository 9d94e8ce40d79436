/** One run: why it is where it is, its timeline, its steps, and what can be done with it. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { mayChange } from "../data/api.ts";
import { nowMs } from "../data/clock.ts";
import { countOf, durationText, instantText, withLocalTimes } from "../data/format.ts";
import { graphOfRunText, isOfGraph } from "../data/graphs.ts";
import { usePageTitle } from "../data/page-title.ts";
import { useRun } from "../data/run-state.ts";
import { awaitedSignals } from "../data/run-waits.ts";
import { childRunIds, type Timeline, timelineOf } from "../data/timeline.ts";
import { isEnded, type RunDetail, type Step } from "../data/types.ts";
import { ErrorView } from "../parts/error-view.tsx";
import { CopyButton, JsonView } from "../parts/json-view.tsx";
import { useKeptFocus } from "../parts/kept-focus.ts";
import { NotHere } from "../parts/not-here.tsx";
import { Problem } from "../parts/notice.tsx";
import { STATUS_WORDS, StatusMark } from "../parts/status.tsx";
import { Ago, Lasted } from "../parts/time.tsx";
import { TimelineLegend } from "../parts/timeline-legend.tsx";
import { TimelineView } from "../parts/timeline-view.tsx";
import { Words } from "../parts/words.tsx";
import { ForkDialog } from "./fork-dialog.tsx";
import { RunFacts } from "./run-facts.tsx";
import { RunGraph } from "./run-graph.tsx";
import { RunInput } from "./run-input.tsx";
import { CancelledNotice, FailureTrail, ResumedNotice, runHref, UndoingNotice } from "./run-notices.tsx";
import { RunVerbs } from "./run-verbs.tsx";
import { SelectedStep } from "./selected-step.tsx";
import { SignalForm } from "./signal-form.tsx";
import { StepList } from "./step-list.tsx";
import type { ViewProps } from "./view-props.ts";

export function RunPage({ params }: ViewProps): JSX.Element {
  const { run, problem, isMissing } = useRun(params.id ?? "");
  if (run === null) {
    return (
      <>
        <h1>Run</h1>
        {problem === null ? <p class="lead">Asking the gateway for the run …</p> : <Problem trouble={problem} />}
        {isMissing && <NotHere runId={params.id ?? ""} />}
      </>
    );
  }
  return <RunView run={run} />;
}

function RunView({ run }: { readonly run: RunDetail }): JSX.Element {
  const [selected, setSelected] = useState<string | null>(null);
  // Once a step was chosen in the timeline it stays there which one is selected: nothing jumps when the list is opened.
  const [isChosen, setChosen] = useState(false);
  const [forked, setForked] = useState<Step | null>(null);
  const mayFork = mayChange() && isEnded(run.status);
  const forkFrom = (step: Step): (() => void) | null => (mayFork && step.forkable ? () => setForked(step) : null);
  const timeline = timelineOf(run, isEnded(run.status) ? 0 : nowMs.value);
  const toOpen = useRef<string | null>(null);
  const select = (stepId: string): void => {
    setSelected(stepId);
    setChosen(true);
    // In a long list it is shown only now that it is selected.
    if (!openStep(stepId)) toOpen.current = stepId;
  };
  useLayoutEffect(() => {
    if (toOpen.current !== null) openStep(toOpen.current);
    toOpen.current = null;
  });
  usePageTitle(`${STATUS_WORDS[run.status] ?? run.status}: ${nameOf(run)}`, "Run");
  return (
    <>
      <Head run={run} />
      {run.waiting && (
        <p class="notice">
          <bdi>
            <Words text={withLocalTimes(run.waiting.message)} />
          </bdi>{" "}
          {run.waiting.runId !== null && <a href={runHref(run.waiting.runId)}>Show that run</a>}
        </p>
      )}
      <Answers run={run} />
      <CancelledNotice run={run} />
      <UndoingNotice run={run} />
      {run.status === "FAILED" && run.error !== null && (
        <section aria-labelledby="failed">
          <h2 id="failed">It failed with</h2>
          <div class="card padded">
            <FailureTrail run={run} />
            <ErrorView error={run.error} />
          </div>
        </section>
      )}
      {isOfGraph(run.eventName) && <RunGraph run={run} />}
      <section aria-labelledby="timeline">
        <h2 id="timeline">Timeline</h2>
        <div class="card">
          <TimelineView timeline={timeline} selected={selected} onSelect={select} />
          {isChosen && selected !== null && <SelectedStep run={run} selected={selected} onFork={forkFrom} />}
          <TimelineLegend timeline={timeline} />
        </div>
        <Blocks timeline={timeline} />
      </section>
      <section aria-labelledby="steps">
        <h2 id="steps">Steps</h2>
        <StepList run={run} childIds={childRunIds(run)} selected={selected} onSelect={setSelected} onFork={forkFrom} />
        {forked !== null && <ForkDialog run={run} step={forked} onClose={() => setForked(null)} />}
      </section>
      <div class={hasOutput(run) ? "pair" : undefined}>
        <RunInput run={run} />
        {hasOutput(run) && (
          <section aria-labelledby="output">
            <h2 id="output">Output</h2>
            {run.status === "COMPLETED" ? (
              <JsonView value={run.output} label="output" />
            ) : (
              <p class="lead">It has not returned yet.</p>
            )}
          </section>
        )}
      </div>
      <RunFacts run={run} />
    </>
  );
}

/** False: the list does not show it. */
function openStep(stepId: string): boolean {
  const item = document.getElementById(`step-${stepId}`);
  if (!(item instanceof HTMLDetailsElement)) return false;
  item.scrollIntoView({ block: "nearest" });
  item.open = true;
  return true;
}

/** A run that failed or was cancelled gave nothing, and will not. */
const hasOutput = ({ status }: RunDetail): boolean => status === "COMPLETED" || !isEnded(status);

/** As lists call it. */
const nameOf = ({ functionId, graph }: RunDetail): string => (graph ? graphOfRunText(graph) : functionId);

/** What can be given to the steps that wait. */
function Answers({ run }: { readonly run: RunDetail }): JSX.Element | null {
  const awaited = mayChange() ? awaitedSignals(run) : [];
  if (awaited.length === 0) return null;
  return (
    <>
      {awaited.map((one) => (
        <SignalForm key={one.signal} awaited={one} isApproval={isOfGraph(run.eventName)} />
      ))}
    </>
  );
}

function Head({ run }: { readonly run: RunDetail }): JSX.Element {
  const { id, functionId, status, createdMs, startedMs, endedMs, eventName, eventId, appVersion } = run;
  const head = useRef<HTMLElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  useKeptFocus(head, heading);
  return (
    <header class="run-head" ref={head}>
      <p class="crumbs">
        <a href="/ui/runs">Runs</a> / <a href={`/ui/runs?function=${encodeURIComponent(functionId)}`}>{functionId}</a>
      </p>
      <div class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          <bdi>{nameOf(run)}</bdi>
        </h1>
        <RunVerbs run={run} />
      </div>
      <dl class="summary">
        <Item name="Status">
          <StatusMark status={status} />
        </Item>
        <Item name="Created">
          <span title={instantText(createdMs)}>
            <Ago atMs={createdMs} />
          </span>
        </Item>
        <Item name={endedMs === null ? "For" : "Took"}>
          <Lasted fromMs={startedMs ?? createdMs} toMs={endedMs} />
        </Item>
        {startedMs !== null && startedMs > createdMs && (
          <Item name="In the queue">{durationText(startedMs - createdMs)}</Item>
        )}
        <Item name="Event">
          <a href={`/ui/events/${encodeURIComponent(eventId)}`}>
            <bdi>{eventName}</bdi>
          </a>
        </Item>
        {appVersion !== "" && <Item name="Version">{appVersion}</Item>}
        {run.leasesLost > 0 && <Item name="Taken up again">{countOf(run.leasesLost, "time")}</Item>}
        {run.deadlineMs !== null && !isEnded(status) && (
          <Item name="Deadline">
            <Ago atMs={run.deadlineMs} />
          </Item>
        )}
        <Item name="Run">
          <code>{id}</code> <CopyButton text={id} what="the run's id" />
        </Item>
      </dl>
      <Relatives run={run} />
      <ResumedNotice run={run} />
    </header>
  );
}

function Item({
  name,
  children,
}: {
  readonly name: string;
  readonly children: JSX.Element | JSX.Element[] | string | (JSX.Element | string)[];
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The runs that it came from, and that came of it. */
function Relatives({ run }: { readonly run: RunDetail }): JSX.Element | null {
  const links: [text: string, runId: string][] = [
    ...(run.parent ? ([["Invoked by", run.parent.runId]] as [string, string][]) : []),
    ...(run.rerunOf ? ([["Rerun of", run.rerunOf]] as [string, string][]) : []),
    ...(run.forkedFrom
      ? ([[`Forked at “${run.forkedFrom.step}” from`, run.forkedFrom.runId]] as [string, string][])
      : []),
    ...(run.continuedFrom ? ([["Continues", run.continuedFrom]] as [string, string][]) : []),
    ...(run.continuedAs ? ([["Went on as", run.continuedAs]] as [string, string][]) : []),
    ...run.descendants.map(({ kind, step, runId }): [string, string] => [
      kind === "fork" ? `Forked at “${step ?? ""}” as` : "Rerun as",
      runId,
    ]),
  ];
  if (links.length === 0) return null;
  return (
    <ul class="relatives" aria-label="Related runs">
      {links.map(([text, runId]) => (
        <li key={`${text} ${runId}`}>
          <bdi>{text}</bdi>{" "}
          <a class="mono" href={runHref(runId)}>
            {runId}
          </a>
          {text !== "Invoked by" && (
            <>
              {" "}
              <a href={`/ui/compare?a=${encodeURIComponent(runId)}&b=${encodeURIComponent(run.id)}`}>compare</a>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Who blocked the thread: the line of the source. */
function Blocks({ timeline }: { readonly timeline: Timeline }): JSX.Element | null {
  if (timeline.blocks.length === 0) return null;
  return (
    <ul class="blocks" aria-label="Blocked time">
      {timeline.blocks.map(({ fromMs, stall }) => (
        <li key={fromMs} class="notice">
          The main thread was blocked for {durationText(stall.stalledMs)}
          {stall.stepId !== undefined && (
            <>
              {" "}
              in the step <strong>{stall.stepId}</strong>
            </>
          )}
          {stall.location !== undefined && (
            <>
              , at <code>{stall.codeName ?? "the handler"}</code> <code class="place">{stall.location}</code>
            </>
          )}
          {stall.stack !== undefined && (
            <details>
              <summary>Stack</summary>
              <pre class="stack" tabIndex={0}>
                {stall.stack}
              </pre>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}
