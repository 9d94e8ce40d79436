/** The schedules of functions and graphs: what each started last, and when it comes next. */
import type { JSX } from "preact";
import { nowMs } from "../data/clock.ts";
import type { Schedule } from "../data/event-types.ts";
import { graphHref } from "../data/graphs.ts";
import { usePolled } from "../data/polled.ts";
import { Problem } from "../parts/notice.tsx";
import { StatusMark } from "../parts/status.tsx";
import { Ago, Expected } from "../parts/time.tsx";

export function Schedules(): JSX.Element {
  const { value, problem } = usePolled<{ schedules: readonly Schedule[] }>("/v1/schedules", {
    everyMs: 5_000,
    withRuns: true,
  });
  const schedules = [...(value?.schedules ?? [])].sort((a, b) => a.nextMs - b.nextMs);
  return (
    <>
      <h1>Schedules</h1>
      <Problem trouble={problem} />
      {value === null && problem === null && <p class="lead">Asking the gateway for the schedules …</p>}
      {value?.schedules.length === 0 && (
        <div class="empty">
          <h2>No schedules</h2>
          <p>A function with a cron trigger, or a published graph with one, appears here:</p>
          <pre>{'triggers: [{ cron: "0 9 * * 1-5" }]'}</pre>
        </div>
      )}
      {schedules.length > 0 && (
        <ul class="plain-list">
          {schedules.map((one) => (
            <li key={`${one.functionId ?? one.graph?.tenant} ${one.graph?.id ?? ""} ${one.cron}`}>
              <Row schedule={one} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Row({ schedule }: { readonly schedule: Schedule }): JSX.Element {
  const { cron, functionId, graph, paused, nextMs, dueMs, last } = schedule;
  const href = graph ? graphHref(graph) : `/ui/functions/${encodeURIComponent(functionId ?? "")}`;
  return (
    <div class="schedule-row">
      <p class="schedule-name">
        <a href={href}>
          <bdi>{graph ? graph.id : functionId}</bdi>
        </a>
        {graph && <span class="badge">graph</span>}
        {paused && <span class="badge wait">paused</span>}
      </p>
      <p class="schedule-cron">
        <code>{cron}</code>
      </p>
      <p class="schedule-next">
        <Next nextMs={nextMs} dueMs={dueMs} isPaused={paused} />
      </p>
      <p class="schedule-last">
        {last === null ? (
          "has not run yet"
        ) : (
          <a href={`/ui/runs/${encodeURIComponent(last.runId)}`}>
            <StatusMark status={last.status} isShort /> last <Ago atMs={last.createdMs} />
          </a>
        )}
      </p>
    </div>
  );
}

interface NextProps {
  readonly nextMs: number;
  readonly dueMs: number | null;
  readonly isPaused: boolean;
}

function Next({ nextMs, dueMs, isPaused }: NextProps): JSX.Element {
  if (dueMs === null) return <>its next run is not planned; a gateway plans it within a minute</>;
  if (isPaused && nextMs <= nowMs.value) return <>waits until its function is resumed</>;
  return <Expected what="next" atMs={Math.max(nextMs, dueMs)} />;
}
