/** How the gateway is, at a glance: what to look at, what happens, how long it takes, what it is stored in. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { alertsOf, type Metrics } from "../data/alerts.ts";
import { countText, durationText, sizeText } from "../data/format.ts";
import { usePolled } from "../data/polled.ts";
import { type Second, seconds, startRates } from "../data/rates.ts";
import { type Percentiles, statsOf } from "../data/stats.ts";
import type { FunctionDetail, RunPage, Worker } from "../data/types.ts";
import { RateChart } from "../parts/rate-chart.tsx";
import { RunRow } from "../parts/run-row.tsx";

const NEWEST = 200;
const SHOWN = 6;

/** Of gateways that live. */
const connectionsOf = (workers: readonly Worker[] | undefined): number | undefined =>
  workers?.filter(({ status }) => status !== "GATEWAY_SILENT").length;

export function Overview(): JSX.Element {
  useEffect(() => startRates(), []);
  const metrics = usePolled<Metrics>("/v1/metrics", { everyMs: 2_000, withRuns: false }).value;
  const workers = usePolled<{ workers: readonly Worker[] }>("/v1/workers", { everyMs: 3_000, withRuns: false }).value;
  const known = usePolled<{ functions: readonly FunctionDetail[] }>("/v1/functions", {
    everyMs: 5_000,
    withRuns: false,
  });
  const page = usePolled<RunPage>(`/v1/runs?limit=${NEWEST}&waiting=1`, { everyMs: 10_000, withRuns: true }).value;
  const newest = page === null ? null : statsOf(page.runs);
  const functions = known.value?.functions ?? null;
  const alerts = alertsOf({ metrics, workers: workers?.workers ?? null, functions, newest });
  const of = (name: keyof Second): number[] => seconds.value.map((second) => second[name]);
  return (
    <>
      <h1>Overview</h1>
      <section aria-label="What to look at">
        {metrics === null ? (
          <p class="lead">Asking the gateway how it is …</p>
        ) : alerts.length === 0 ? (
          <p class="notice ok">All is well: nothing waits that should not.</p>
        ) : (
          <ul class="blocks">
            {alerts.map(({ text, href, isBad }) => (
              <li key={text} class={isBad ? "notice bad" : "notice"}>
                <bdi>{text}</bdi> {href !== undefined && <a href={href}>Show</a>}
              </li>
            ))}
          </ul>
        )}
      </section>
      <section aria-labelledby="now">
        <h2 id="now">Now</h2>
        <div class="rates">
          <RateChart name="Runs begun" values={of("begun")} tone="accent" />
          <RateChart name="Steps finished" values={of("steps")} tone="accent" />
          <RateChart name="Runs failed" values={of("failed")} tone="bad" />
        </div>
        <dl class="figures">
          <Figure name="due" value={countOrDash(metrics?.queue?.due)} />
          <Figure name="oldest due waits" value={lengthOrDash(metrics?.queue?.oldestDueMs)} />
          <Figure name="with workers" value={countOrDash(metrics?.queue?.leased)} />
          <Figure name="later" value={countOrDash(metrics?.queue?.later)} />
          <Figure name="connections" value={countOrDash(connectionsOf(workers?.workers))} />
          <Figure name="functions" value={countOrDash(functions?.length)} />
        </dl>
      </section>
      <section aria-labelledby="newest-runs">
        <div class="page-head">
          <h2 id="newest-runs">Newest runs</h2>
          <a href="/ui/runs">All runs</a>
        </div>
        {newest !== null && newest.count > 0 && (
          <p class="lead">
            Of the last {countText(newest.count)}: in the queue {pairText(newest.queuedMs)}, took{" "}
            {pairText(newest.tookMs)} (p50 and p99), {countText(newest.failed)} failed.
          </p>
        )}
        {page?.runs.length === 0 && (
          <div class="empty">
            <h2>No runs yet</h2>
            <p>Connect an app and send an event:</p>
            <pre>
              HOLDFAST_DEV={location.origin} node app.js{"\n"}curl {location.origin}/e/dev -d '
              {'{"name":"demo/hello","data":{}}'}'
            </pre>
          </div>
        )}
        <ul class="plain-list rows-of-runs">
          {page?.runs.slice(0, SHOWN).map((run) => (
            <li key={run.id}>
              <RunRow run={run} />
            </li>
          ))}
        </ul>
      </section>
      {metrics !== null && <Database metrics={metrics} />}
    </>
  );
}

const countOrDash = (count: number | null | undefined): string => (typeof count === "number" ? countText(count) : "–");
const lengthOrDash = (ms: number | null | undefined): string => (typeof ms === "number" ? durationText(ms) : "–");
const pairText = (times: Percentiles | null): string =>
  times === null ? "–" : `${durationText(times.p50)} · ${durationText(times.p99)}`;

function Figure({ name, value }: { readonly name: string; readonly value: string }): JSX.Element {
  return (
    <div class="card figure">
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

interface Histogram {
  readonly sum: number;
  readonly count: number;
}

function Database({ metrics }: { readonly metrics: Metrics }): JSX.Element {
  const { tables, database, store } = metrics;
  const bytes = (tables ?? []).reduce((sum, table) => sum + table.bytes, 0);
  const largest = [...(tables ?? [])].sort((a, b) => b.bytes - a.bytes).slice(0, 5);
  const commits = store.commitSeconds as Histogram | undefined;
  const units = store.commitUnits as Histogram | undefined;
  return (
    <section aria-labelledby="database">
      <h2 id="database">Database</h2>
      <dl class="figures">
        <Figure name="state" value={database.ok ? "answers" : "is away"} />
        <Figure name="size" value={tables === null ? "–" : sizeText(bytes)} />
        <Figure
          name="a commit takes, on average"
          value={commits && commits.count > 0 ? durationText((1_000 * commits.sum) / commits.count) : "–"}
        />
        <Figure
          name="changes a commit, on average"
          value={units && units.count > 0 ? (units.sum / units.count).toFixed(1) : "–"}
        />
      </dl>
      {largest.length > 0 && (
        // What scrolls is reached with the keyboard.
        <div class="table-scroll" tabIndex={0} role="group" aria-label="Largest tables">
          <table>
            <thead>
              <tr>
                <th scope="col">Largest tables</th>
                <th scope="col">Size</th>
                <th scope="col">Rows, about</th>
              </tr>
            </thead>
            <tbody>
              {largest.map(({ table, bytes: own, rows }) => (
                <tr key={table}>
                  <td>
                    <code>{table}</code>
                  </td>
                  <td class="number">{sizeText(own)}</td>
                  <td class="number">{countText(Math.max(0, Math.round(rows)))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p class="list-end">Of the gateway that answered; counts of commits are since it was started.</p>
    </section>
  );
}
