/** How the gateway is, at a glance: what to look at, what happens, how long it takes, what it is stored in. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type Alert, alertsOf, asksForCauses, type Metrics } from "../data/alerts.ts";
import { type Causes, type ServedFunction, STRANDED_MS, strandedSince } from "../data/causes.ts";
import { nowMs } from "../data/clock.ts";
import { clockText } from "../data/clock-text.ts";
import { countText, durationText, sizeText } from "../data/format.ts";
import { linkText } from "../data/link.ts";
import { type Polled, usePolled, useRead } from "../data/polled.ts";
import { type Second, seconds, startRates } from "../data/rates.ts";
import { readCauses } from "../data/read-causes.ts";
import { statsOf } from "../data/stats.ts";
import type { RunPage, Worker } from "../data/types.ts";
import { isAnswered, link } from "../data/watch-link.ts";
import { Figure, TimeFigures } from "../parts/figure.tsx";
import { FirstSteps } from "../parts/first-steps.tsx";
import { Problem } from "../parts/notice.tsx";
import { RateChart } from "../parts/rate-chart.tsx";
import { RunRow } from "../parts/run-row.tsx";

const NEWEST = 200;
const SHOWN = 6;
const SOON = { everyMs: 2_000, withRuns: false };
const NOW_AND_THEN = { everyMs: 3_000, withRuns: false };

/** Of gateways that live. */
const connectionsOf = (workers: readonly Worker[] | undefined): number | undefined =>
  workers?.filter(({ status }) => status !== "GATEWAY_SILENT").length;

interface Findings {
  readonly alerts: readonly Alert[];
  /** What may be nothing in a moment. */
  readonly isUnsure: boolean;
}

interface Situation {
  readonly metrics: Polled<Metrics>;
  readonly workers: Polled<{ readonly workers: readonly Worker[] }>;
  readonly known: Polled<{ readonly functions: readonly ServedFunction[] }>;
  readonly page: Polled<RunPage>;
}

function useFindings({ metrics, workers, known, page }: Situation): Findings {
  const functions = known.value?.functions ?? null;
  const since = useRef<ReadonlyMap<string, number>>(new Map());
  const isAsked = asksForCauses(metrics.value, functions);
  const read = useRead<Causes>(
    isAsked ? "causes" : null,
    async (end) => {
      const causes = await readCauses(functions ?? [], end);
      since.current = strandedSince(since.current, causes.stranded, Date.now());
      return causes;
    },
    SOON,
  );
  const causes = isAsked ? read.value : null;
  if (!isAsked) since.current = new Map();
  const all = causes?.stranded ?? [];
  const stranded = all.filter(({ appId }) => Date.now() - (since.current.get(appId) ?? Date.now()) >= STRANDED_MS);
  const alerts = alertsOf({
    metrics: metrics.value,
    workers: workers.value?.workers ?? null,
    functions,
    newest: page.value && statsOf(page.value.runs),
    causes,
    stranded,
  });
  return { alerts, isUnsure: all.length > stranded.length || (isAsked && causes === null) };
}

export function Overview(): JSX.Element {
  useEffect(() => startRates(), []);
  const metrics = usePolled<Metrics>("/v1/metrics", SOON);
  const workers = usePolled<{ workers: readonly Worker[] }>("/v1/workers", NOW_AND_THEN);
  const known = usePolled<{ functions: readonly ServedFunction[] }>("/v1/functions", NOW_AND_THEN);
  const page = usePolled<RunPage>(`/v1/runs?limit=${NEWEST}&waiting=1`, { everyMs: 10_000, withRuns: true });
  const situation = { metrics, workers, known, page };
  const findings = useFindings(situation);
  const isOld = isOldNow(metrics);
  return (
    <>
      <h1>Overview</h1>
      <section aria-label="What to look at">
        <Verdict situation={situation} findings={findings} />
      </section>
      <Now situation={situation} isOld={isOld} />
      <NewestRuns page={page.value} />
      {metrics.value !== null && <Database metrics={metrics.value} oldMs={isOld ? metrics.readMs : null} />}
    </>
  );
}

const isOldNow = ({ lateMs, problem }: Polled<Metrics>): boolean =>
  !isAnswered.value || lateMs !== null || problem !== null;

/** All is well where all that could say otherwise was read, and just now. */
function Verdict(props: { readonly situation: Situation; readonly findings: Findings }): JSX.Element {
  const { situation, findings } = props;
  const all = Object.values(situation);
  const { readMs } = situation.metrics;
  const isOld = isOldNow(situation.metrics);
  const lateMs = Math.min(...all.map((one) => one.lateMs ?? Number.POSITIVE_INFINITY));
  const late = Number.isFinite(lateMs) ? `An answer of the gateway has been awaited since ${clockText(lateMs)}.` : null;
  const isCut = link.value.type === "cut";
  const trouble = (isCut ? null : linkText(link.value, nowMs.value)) ?? late;
  const problem = all.find((one) => one.problem !== null)?.problem ?? null;
  const alerts = isOld ? [] : findings.alerts;
  // A database that is away is named by the numbers as well.
  if (trouble !== null && alerts.length === 0) {
    const upTo = readMs === null ? "Nothing is known yet." : `What follows is as it was at ${clockText(readMs)}.`;
    return (
      <p class="notice bad">
        {trouble} {isOld && upTo}
      </p>
    );
  }
  if (alerts.length > 0 || problem !== null) {
    return (
      <>
        <Problem trouble={problem} />
        <Alerts alerts={alerts} />
      </>
    );
  }
  if (all.some(({ value }) => value === null)) return <p class="lead">Asking the gateway how it is …</p>;
  if (!isAnswered.value) return <p class="lead">The gateway does not answer just now.</p>;
  if (findings.isUnsure) return <p class="lead">Some runs wait; whether that lasts shows in a moment.</p>;
  return <p class="notice ok">All is well: nothing waits that should not.</p>;
}

function Alerts({ alerts }: { readonly alerts: readonly Alert[] }): JSX.Element {
  return (
    <ul class="blocks">
      {alerts.map(({ text, href, isBad }) => (
        <li key={text} class={isBad ? "notice bad" : "notice"}>
          <bdi>{text}</bdi> {href !== undefined && <a href={href}>Show</a>}
        </li>
      ))}
    </ul>
  );
}

/** Numbers of before are not of now, and do not look so. */
const asOf = (name: string, oldMs: number | null): string =>
  oldMs === null ? name : `${name}, as of ${clockText(oldMs)}`;

function Now({ situation, isOld }: { readonly situation: Situation; readonly isOld: boolean }): JSX.Element {
  const { metrics, workers, known } = situation;
  const of = (name: keyof Second): number[] => seconds.value.map((second) => second[name]);
  const queue = metrics.value?.queue;
  return (
    <section aria-labelledby="now" class={isOld ? "old" : undefined}>
      <h2 id="now">{isOld && metrics.readMs !== null ? `As of ${clockText(metrics.readMs)}` : "Now"}</h2>
      <div class="rates">
        <RateChart name="Runs created" values={of("begun")} tone="accent" isOld={isOld} />
        <RateChart name="Steps finished" values={of("steps")} tone="accent" isOld={isOld} />
        <RateChart name="Runs failed" values={of("failed")} tone="bad" isOld={isOld} />
      </div>
      <dl class="figures">
        <Figure name="due" value={countOrDash(queue?.due)} />
        <Figure name="oldest due waits" value={lengthOrDash(queue?.oldestDueMs)} />
        <Figure name="with workers" value={countOrDash(queue?.leased)} />
        <Figure name="later" value={countOrDash(queue?.later)} />
        <Figure name="connections" value={countOrDash(connectionsOf(workers.value?.workers))} />
        <Figure name="functions" value={countOrDash(known.value?.functions.length)} />
      </dl>
    </section>
  );
}

function NewestRuns({ page }: { readonly page: RunPage | null }): JSX.Element {
  const newest = page === null ? null : statsOf(page.runs);
  return (
    <section aria-labelledby="newest-runs">
      <div class="page-head">
        <h2 id="newest-runs">Newest runs</h2>
        <a href="/ui/runs">All runs</a>
      </div>
      {newest !== null && newest.count > 0 && (
        <dl class="figures">
          <Figure name={page?.nextCursor === null ? "runs" : "newest runs"} value={countText(newest.count)} />
          <Figure name="failed" value={countText(newest.failed)} isBad={newest.failed > 0} />
          <TimeFigures stats={newest} />
        </dl>
      )}
      {page?.runs.length === 0 && (
        <div class="empty">
          <h2>No runs yet</h2>
          <p>Connect an app and send an event:</p>
          <FirstSteps />
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
  );
}

const countOrDash = (count: number | null | undefined): string => (typeof count === "number" ? countText(count) : "–");
const lengthOrDash = (ms: number | null | undefined): string => (typeof ms === "number" ? durationText(ms) : "–");
interface Histogram {
  readonly sum: number;
  readonly count: number;
}

interface DatabaseProps {
  readonly metrics: Metrics;
  /** When they were read, where that is long ago. */
  readonly oldMs: number | null;
}

function Database({ metrics, oldMs }: DatabaseProps): JSX.Element {
  const { tables, database, store } = metrics;
  const bytes = (tables ?? []).reduce((sum, table) => sum + table.bytes, 0);
  const largest = [...(tables ?? [])].sort((a, b) => b.bytes - a.bytes).slice(0, 5);
  const commits = store.commitSeconds as Histogram | undefined;
  const units = store.commitUnits as Histogram | undefined;
  return (
    <section aria-labelledby="database" class={oldMs === null ? undefined : "old"}>
      <h2 id="database">{asOf("Database", oldMs)}</h2>
      <dl class="figures">
        <Figure name="state" value={oldMs !== null ? "not known" : database.ok ? "answers" : "is away"} />
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
