/** One function: what starts it, how its runs go, its versions; pausing it, starting it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayChange, post, type Trouble, troubleOf } from "../data/api.ts";
import { countText, durationText } from "../data/format.ts";
import { usePageTitle } from "../data/page-title.ts";
import { usePolled } from "../data/polled.ts";
import { partText, rateText, statsOf } from "../data/stats.ts";
import type { FunctionDetail, RunPage } from "../data/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Figure, TimeFigures } from "../parts/figure.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { Problem } from "../parts/notice.tsx";
import { RunRow } from "../parts/run-row.tsx";
import { Ago } from "../parts/time.tsx";
import { Triggers } from "../parts/trigger-text.tsx";
import { FunctionHistory } from "./function-history.tsx";
import { RolloutForm } from "./rollout-form.tsx";
import { StartDialog } from "./start-dialog.tsx";
import type { ViewProps } from "./view-props.ts";

const NEWEST = 200;
const SHOWN = 8;

export function FunctionPage({ params }: ViewProps): JSX.Element {
  const id = params.id ?? "";
  const path = `/v1/functions/${encodeURIComponent(id)}`;
  const { value: fn, problem, again } = usePolled<FunctionDetail>(path, { everyMs: 4_000, withRuns: false });
  const runs = usePolled<RunPage>(`/v1/runs?limit=${NEWEST}&waiting=1&function=${encodeURIComponent(id)}`, {
    everyMs: 10_000,
    withRuns: true,
  });
  usePageTitle(fn?.id ?? null, "Function");
  if (fn === null) {
    return (
      <>
        <h1>Function</h1>
        {problem === null ? <p class="lead">Asking the gateway for the function …</p> : <Problem trouble={problem} />}
      </>
    );
  }
  return (
    <>
      <header class="run-head">
        <p class="crumbs">
          <a href="/ui/functions">Functions</a> / <bdi>{fn.appId}</bdi>
        </p>
        <div class="page-head">
          <h1>
            <bdi>{fn.id}</bdi>
          </h1>
          {mayChange() && <Verbs fn={fn} onChanged={again} lastEvent={runs.value?.runs[0]?.id ?? null} />}
        </div>
      </header>
      {fn.pause && (
        <p class="notice">
          Paused <Ago atMs={fn.pause.sinceMs} />: its runs wait until it is resumed.
          {fn.pause.note !== null && (
            <>
              {" "}
              <bdi>{fn.pause.note}</bdi>
            </>
          )}
        </p>
      )}
      <Figures page={runs.value} />
      <FunctionHistory id={fn.id} />
      <section aria-labelledby="newest">
        <div class="page-head">
          <h2 id="newest">Newest runs</h2>
          <a href={`/ui/runs?function=${encodeURIComponent(fn.id)}`}>All of them</a>
        </div>
        {runs.value?.runs.length === 0 && <p class="lead">It has no runs.</p>}
        <ul class="plain-list rows-of-runs">
          {runs.value?.runs.slice(0, SHOWN).map((run) => (
            <li key={run.id}>
              <RunRow run={run} />
            </li>
          ))}
        </ul>
      </section>
      <div class="pair">
        <section aria-labelledby="options">
          <h2 id="options">Options</h2>
          <Options fn={fn} />
        </section>
        <section aria-labelledby="versions">
          <h2 id="versions">Versions of the app</h2>
          <RolloutForm fn={fn} />
        </section>
      </div>
    </>
  );
}

function Figures({ page }: { readonly page: RunPage | null }): JSX.Element {
  if (page === null) return <p class="lead">Asking the gateway for its newest runs …</p>;
  const stats = statsOf(page.runs);
  const { count, ended, failed, going, perMinute } = stats;
  return (
    <section aria-label="Figures">
      <dl class="figures">
        <Figure name={page.nextCursor === null ? "runs" : "newest runs"} value={countText(count)} />
        <Figure name="a minute, of the newest" value={perMinute === null ? "–" : rateText(perMinute)} />
        <Figure name="going on" value={countText(going)} />
        <Figure name="failed, of those that ended" value={partText(failed, ended)} isBad={failed > 0} />
        <TimeFigures stats={stats} />
      </dl>
    </section>
  );
}

const LENGTHS = ["deadlineMs", "finishTimeoutMs", "startTimeoutMs"] as const;
const LABELS: Readonly<Record<(typeof LENGTHS)[number], string>> = {
  deadlineMs: "Deadline of a run",
  finishTimeoutMs: "Ends at the latest after",
  startTimeoutMs: "Begins at the latest after",
};
const RULES = [
  "concurrency",
  "throttle",
  "rateLimits",
  "debounce",
  "batchEvents",
  "singleton",
  "priority",
  "cancelOn",
] as const;

function Options({ fn }: { readonly fn: FunctionDetail }): JSX.Element {
  const rules = RULES.filter((name) => {
    const value = fn[name];
    return Array.isArray(value) ? value.length > 0 : value !== null;
  });
  return (
    <>
      <dl class="pairs">
        <dt>Started by</dt>
        <dd>
          <Triggers triggers={fn.triggers} />
        </dd>
        <dt>Attempts</dt>
        <dd>{fn.maxAttempts}</dd>
        <dt>Queue</dt>
        <dd>
          <bdi>{fn.queue}</bdi>
        </dd>
        {LENGTHS.map((name) => {
          const ms = fn[name];
          return ms === null ? null : (
            <>
              <dt>{LABELS[name]}</dt>
              <dd>{durationText(ms)}</dd>
            </>
          );
        })}
      </dl>
      {rules.length > 0 && (
        <JsonView value={Object.fromEntries(rules.map((name) => [name, fn[name]]))} label="flow control" />
      )}
    </>
  );
}

interface VerbsProps {
  readonly fn: FunctionDetail;
  readonly onChanged: () => void;
  /** The newest run, whose event the form begins with. */
  readonly lastEvent: string | null;
}

function Verbs({ fn, onChanged, lastEvent }: VerbsProps): JSX.Element {
  const [open, setOpen] = useState<"pause" | "start" | null>(null);
  const [note, setNote] = useState("");
  const [problem, setProblem] = useState<Trouble | null>(null);
  const change = (verb: "pause" | "resume", body: object): void => {
    setOpen(null);
    post(`/v1/functions/${encodeURIComponent(fn.id)}/${verb}`, body).then(onChanged, (error: unknown) =>
      setProblem(troubleOf(error)),
    );
  };
  return (
    <div class="actions">
      <button type="button" class="primary" onClick={() => setOpen("start")}>
        Start …
      </button>
      {fn.paused ? (
        <button type="button" onClick={() => change("resume", {})}>
          Resume
        </button>
      ) : (
        <button type="button" onClick={() => setOpen("pause")}>
          Pause …
        </button>
      )}
      <Problem trouble={problem} />
      {open === "pause" && (
        <Dialog title="Pause this function" onClose={() => setOpen(null)}>
          <p>No worker is given work of it until it is resumed. Events still start runs, which wait.</p>
          <label>
            Why; runs that wait say it
            <input value={note} maxLength={500} onInput={(event) => setNote(event.currentTarget.value)} />
          </label>
          <div class="buttons">
            <button type="button" class="primary" onClick={() => change("pause", note.trim() === "" ? {} : { note })}>
              Pause
            </button>
            <button type="button" onClick={() => setOpen(null)}>
              Do nothing
            </button>
          </div>
        </Dialog>
      )}
      {open === "start" && <StartDialog fn={fn} lastRunId={lastEvent} onClose={() => setOpen(null)} />}
    </div>
  );
}
