/** The functions of all apps, with how their newest runs went. */
import type { JSX } from "preact";
import { countOf, durationText } from "../data/format.ts";
import { usePolled } from "../data/polled.ts";
import { partText, statsOf } from "../data/stats.ts";
import type { FunctionDetail, Run, RunPage } from "../data/types.ts";
import { Problem } from "../parts/notice.tsx";
import { Triggers } from "../parts/trigger-text.tsx";

/** Of all functions together: what is said of each rests on those of them that are its own. */
const NEWEST = 1_000;

export function Functions(): JSX.Element {
  const { value, problem } = usePolled<{ functions: readonly FunctionDetail[] }>("/v1/functions", {
    everyMs: 5_000,
    withRuns: false,
  });
  const runs = usePolled<RunPage>(`/v1/runs?limit=${NEWEST}`, { everyMs: 10_000, withRuns: true });
  const byFunction = new Map<string, Run[]>();
  for (const run of runs.value?.runs ?? []) {
    const own = byFunction.get(run.functionId);
    if (own) own.push(run);
    else byFunction.set(run.functionId, [run]);
  }
  return (
    <>
      <h1>Functions</h1>
      <Problem trouble={problem} />
      {value === null && problem === null && <p class="lead">Asking the gateway for the functions …</p>}
      {value?.functions.length === 0 && (
        <div class="empty">
          <h2>No functions yet</h2>
          <p>They appear here once an app has connected:</p>
          <pre>HOLDFAST_DEV={location.origin} node app.js</pre>
        </div>
      )}
      {value !== null && value.functions.length > 0 && (
        <>
          <ul class="plain-list">
            {value.functions.map((fn) => (
              <li key={fn.uuid}>
                <FunctionRow fn={fn} runs={byFunction.get(fn.id) ?? []} />
              </li>
            ))}
          </ul>
          <p class="list-end">What is said of runs is of the newest {NEWEST.toLocaleString("en")} of all functions.</p>
        </>
      )}
    </>
  );
}

function FunctionRow({ fn, runs }: { readonly fn: FunctionDetail; readonly runs: readonly Run[] }): JSX.Element {
  const { count, ended, failed, tookMs } = statsOf(runs);
  return (
    <a class="fn-row" href={`/ui/functions/${encodeURIComponent(fn.id)}`}>
      <span class="run-name">
        <bdi>{fn.id}</bdi>
        {fn.paused && <span class="badge wait">paused</span>}
        {!fn.active && <span class="badge">not in the newest version</span>}
      </span>
      <span class="run-note">
        <Triggers triggers={fn.triggers} />
      </span>
      <span class="run-time">{count === 0 ? "no runs lately" : countOf(count, "run")}</span>
      <span class="run-length">
        {ended > 0 && (
          <>
            {failed > 0 && <span class="error-note">{partText(failed, ended)} failed · </span>}
            {tookMs && `p50 ${durationText(tookMs.p50)}`}
          </>
        )}
      </span>
    </a>
  );
}
