/** Concurrency limits and throttles: what is in use of each key, who holds its places, and who waits for one. */
import type { JSX } from "preact";
import { nowMs } from "../data/clock.ts";
import type { KeyInUse, LimitedRun, LimitInUse } from "../data/event-types.ts";
import { countOf, countText, durationText } from "../data/format.ts";
import { usePolled } from "../data/polled.ts";
import { Problem } from "../parts/notice.tsx";
import { Expected, Lasted } from "../parts/time.tsx";
import { Words } from "../parts/words.tsx";

export function Limits(): JSX.Element {
  const { value, problem } = usePolled<{ limits: readonly LimitInUse[] }>("/v1/limits", {
    everyMs: 2_000,
    withRuns: true,
  });
  return (
    <>
      <h1>Limits</h1>
      <Problem trouble={problem} />
      {value === null && problem === null && <p class="lead">Asking the gateway what is in use …</p>}
      {value?.limits.length === 0 && (
        <div class="empty">
          <h2>No function has limits</h2>
          <p>One with a concurrency limit or a throttle appears here, with who has its places and who waits:</p>
          <pre>{'concurrency: { limit: 2, key: "event.data.customer" }'}</pre>
        </div>
      )}
      <ul class="limits">
        {value?.limits.map((limit, index) => (
          <li key={`${limit.functionId} ${limit.kind} ${index.toString()}`}>
            <Card limit={limit} />
          </li>
        ))}
      </ul>
    </>
  );
}

const SCOPES = {
  fn: "",
  env: " across all functions of the environment",
  account: " across all environments",
} as const;

/** On the plain protocol each parallel step of a run is a request of its own, and has a slot. */
function ruleText({ kind, limit, key, scope = "fn", periodMs = 0, burst = 0 }: LimitInUse): string {
  const each = key === null ? "" : ` for each \`${key}\``;
  if (kind === "concurrency") return `${countOf(limit, "run")} at a time${each}${SCOPES[scope]}`;
  const more = burst > 0 ? `, and ${countText(burst)} more at once` : "";
  return `${countOf(limit, "start")} in ${durationText(periodMs)}${each}${more}`;
}

function Card({ limit }: { readonly limit: LimitInUse }): JSX.Element {
  const { functionId, uses, isCut, kind } = limit;
  return (
    <section class="card padded limit" aria-label={`${kind} of ${functionId}`}>
      <div class="page-head">
        <h2>
          <a href={`/ui/functions/${encodeURIComponent(functionId)}`}>
            <bdi>{functionId}</bdi>
          </a>
        </h2>
        <p class="faint">{kind === "concurrency" ? "Concurrency" : "Throttle"}</p>
      </div>
      <p class="lead">
        <bdi>
          <Words text={ruleText(limit)} />
        </bdi>
      </p>
      {uses.length === 0 && <p class="faint">Nothing is in use.</p>}
      <ul class="uses">
        {uses.map((use, index) => (
          <li key={`${use.key ?? ""} ${index.toString()}`}>
            <Use limit={limit} use={use} />
          </li>
        ))}
      </ul>
      {isCut && <p class="list-end">More keys are in use than are listed.</p>}
    </section>
  );
}

function Use({ limit, use }: { readonly limit: LimitInUse; readonly use: KeyInUse }): JSX.Element {
  const { kind, key, burst = 0 } = limit;
  const { taken, waiting, holders, waiters, nextStartMs } = use;
  const most = kind === "concurrency" ? limit.limit : limit.limit + burst;
  const name = key === null ? (kind === "concurrency" ? "Places" : "Starts") : (use.key ?? "a key whose event is gone");
  return (
    <div class="load">
      <p>
        <bdi>{name}</bdi>
        <span class="number">
          {countText(taken)} of {countText(most)}
          {waiting > 0 && <strong class="waits"> · {countText(waiting)} waiting</strong>}
        </span>
      </p>
      <progress value={Math.min(taken, most)} max={most} aria-label={`${name} in use`} />
      {nextStartMs !== null && (
        <p>
          <span>
            <Expected what="The next may start" atMs={Math.max(nextStartMs, nowMs.value)} />
          </span>
        </p>
      )}
      <RunsOf title={(runs) => `held by ${runs}`} runs={holders} more={taken - holders.length} />
      <RunsOf title={(runs) => `${runs} waiting`} runs={waiters} more={waiting - waiters.length} />
    </div>
  );
}

interface RunsOfProps {
  readonly title: (runs: string) => string;
  readonly runs: readonly LimitedRun[];
  readonly more: number;
}

function RunsOf({ title, runs, more }: RunsOfProps): JSX.Element | null {
  if (runs.length === 0) return null;
  return (
    <details class="runs-of">
      <summary>{title(countOf(runs.length + Math.max(0, more), "run"))}</summary>
      <ul>
        {runs.map(({ runId, functionId, sinceMs }, index) => (
          <li key={`${runId} ${index.toString()}`}>
            <a href={`/ui/runs/${encodeURIComponent(runId)}`}>
              <bdi>{functionId}</bdi> <span class="mono faint">{runId}</span>
            </a>{" "}
            <span class="faint">
              for <Lasted fromMs={sinceMs} toMs={null} />
            </span>
          </li>
        ))}
        {more > 0 && <li class="faint">and {countText(more)} more</li>}
      </ul>
    </details>
  );
}
