/** A run in a list: two lines, the same height whatever it is called. */
import type { JSX } from "preact";
import { withLocalTimes } from "../data/format.ts";
import { graphOfRunText } from "../data/graphs.ts";
import type { Run } from "../data/types.ts";
import { StatusMark } from "./status.tsx";
import { Ago, Lasted } from "./time.tsx";
import { Words } from "./words.tsx";

export function RunRow({ run }: { readonly run: Run }): JSX.Element {
  const { id, functionId, eventName, graph, status, createdMs, startedMs, endedMs } = run;
  return (
    <a class="run-row" href={`/ui/runs/${encodeURIComponent(id)}`}>
      <StatusMark status={status} />
      <span class="run-name">
        {graph ? (
          <>
            <bdi>{graphOfRunText(graph)}</bdi> <span class="faint">by {functionId}</span>
          </>
        ) : (
          <bdi>{functionId}</bdi>
        )}
      </span>
      <span class="run-note">
        <Note run={run} />
      </span>
      <span class="run-time">
        <Ago atMs={createdMs} />
      </span>
      <span class="run-length">
        {startedMs === null && endedMs === null ? (
          <span class="hidden-text">has not begun</span>
        ) : (
          <Lasted fromMs={startedMs ?? createdMs} toMs={endedMs} />
        )}
      </span>
      <span class="hidden-text">
        , event {eventName}, run {id}
      </span>
    </a>
  );
}

/** What is worth saying of it: why it waits, what it failed with, or else where it comes from. */
function Note({ run: { waiting, status, error, eventName, id } }: { readonly run: Run }): JSX.Element {
  if (waiting) {
    return (
      <bdi>
        <Words text={withLocalTimes(waiting.message)} />
      </bdi>
    );
  }
  if (status === "FAILED" || status === "CANCELLED") {
    const { name, message } = (error ?? {}) as { readonly name?: string; readonly message?: string };
    if (message !== undefined)
      return <bdi class="error-note">{name === undefined ? message : `${name}: ${message}`}</bdi>;
  }
  return (
    <>
      <bdi>{eventName}</bdi> <span class="mono faint">{id}</span>
    </>
  );
}
