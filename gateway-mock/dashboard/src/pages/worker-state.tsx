/** What a worker says of itself, in words: its main thread, its pool of threads, and the rest of its debug state. */
import type { ComponentChildren, JSX } from "preact";
import { countOf, countText, durationText, sizeText } from "../data/format.ts";
import type { Isolation, WorkerState } from "../data/types.ts";
import { Ago } from "../parts/time.tsx";

/** The pairs that belong beside those of every worker. */
export function StatePairs({ state }: { readonly state: WorkerState }): JSX.Element {
  const { mainLagMs, isolation, process } = state;
  return (
    <>
      <dt>Main thread</dt>
      <dd>{mainLagMs === 0 ? "responsive" : `blocked for ${durationText(mainLagMs)}`}</dd>
      {isolation !== null && (
        <>
          <dt>Pool threads</dt>
          <dd>{poolText(isolation)}</dd>
        </>
      )}
      <dt>Process</dt>
      <dd>
        {sizeText(process.rssBytes)}
        {process.cpuShare !== null && `, ${process.cpuShare} of a processor`}, pid {process.pid}
      </dd>
      <dt>Last report</dt>
      <dd>{durationText(state.ageMs)} ago</dd>
    </>
  );
}

function poolText({ threads, busy, queued, oldestMs, overruns, crashes, recycled, abandoned }: Isolation): string {
  const past = [
    [overruns, "timeout", "timeouts"] as const,
    [crashes, "crash", "crashes"] as const,
    [recycled, "thread replaced", "threads replaced"] as const,
    [abandoned, "thread that could not be ended", "threads that could not be ended"] as const,
  ].flatMap(([count, one, many]) => (count === 0 ? [] : [countOf(count, one, many)]));
  const now = threads === 0 ? "none running" : `${countText(busy)} of ${countText(threads)} busy`;
  const waiting = queued === 0 ? [] : [`${countOf(queued, "turn waits", "turns wait")}`];
  const oldest = oldestMs === null ? [] : [`the oldest for ${durationText(oldestMs)}`];
  const before = past.length === 0 ? "" : `; so far: ${past.join(", ")}`;
  return `${[now, ...waiting, ...oldest].join(", ")}${before}`;
}

/** All of the rest, folded: for the one who looks for what is wrong. */
export function DebugState({ state }: { readonly state: WorkerState }): JSX.Element {
  const { requests, transitions, inFlight } = state;
  return (
    <details>
      <summary>Debug state, {durationText(state.ageMs)} old</summary>
      <dl class="pairs small">
        <Pair name="Phase">{state.phase.toLowerCase()}</Pair>
        <Pair name="In flight">{countText(inFlight)}</Pair>
        <Pair name="Outbox">
          {state.outboxCount === 0
            ? "empty"
            : `${countText(state.outboxCount)} not acknowledged, ${sizeText(state.outboxBytes)}`}
          {state.outboxFull && ", full"}
        </Pair>
        <Pair name="Heartbeats">
          {state.roundTripMs === null ? "none answered yet" : `answered after ${durationText(state.roundTripMs)}`}
          {state.unansweredHeartbeats > 0 && `, ${countText(state.unansweredHeartbeats)} unanswered`}
        </Pair>
        <Pair name="Reconnects">
          {state.reconnectAttempts === 0
            ? "none under way"
            : `${countOf(state.reconnectAttempts, "attempt")} in a row without success`}
        </Pair>
        <Pair name="Stalls">
          {countText(state.stalls)}
          {state.stallsUnseen && ", not looked for"}
        </Pair>
        <Pair name="Crashes">{countText(state.crashes)} of its connection thread</Pair>
        <Pair name="Log lines dropped">{countText(state.logsDropped)}</Pair>
        <Pair name="Process">
          runs for {durationText(state.process.uptimeMs)}, used {durationText(state.process.cpuMs)} of processor time
        </Pair>
        {state.lastError !== "" && (
          <Pair name="Last problem">
            {state.lastErrorCode !== "" && <code>{state.lastErrorCode}</code>} {state.lastError}
          </Pair>
        )}
      </dl>
      {requests.length > 0 && (
        <ul class="requests" aria-label="Requests">
          {requests.map(({ requestId, runId, functionSlug, replied, ageMs, leaseAgeMs }) => (
            <li key={requestId}>
              <a href={`/ui/runs/${encodeURIComponent(runId)}`}>
                <bdi>{functionSlug}</bdi>
              </a>
              , for {durationText(ageMs)}, lease {durationText(leaseAgeMs)} old{replied && ", its reply is on its way"}
            </li>
          ))}
          {inFlight > requests.length && <li>and {countText(inFlight - requests.length)} more</li>}
        </ul>
      )}
      {transitions.length > 0 && (
        <ol class="requests" aria-label="What its connection did last">
          {transitions.map(({ atMs, event, from, to }, index) => (
            <li key={`${atMs} ${index}`}>
              <Ago atMs={atMs} />: <code>{event}</code>, {from === to ? `still ${to}` : `${from} to ${to}`}
            </li>
          ))}
        </ol>
      )}
    </details>
  );
}

function Pair({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
