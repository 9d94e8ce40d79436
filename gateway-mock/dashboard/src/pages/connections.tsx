/** The workers that are connected, at all gateways: what they can do, what they do, and taking them out of service. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayChange, post, type Trouble, troubleOf } from "../data/api.ts";
import { countOf, countText, durationText } from "../data/format.ts";
import { usePolled } from "../data/polled.ts";
import type { Worker, WorkerCondition } from "../data/types.ts";
import { Problem } from "../parts/notice.tsx";
import { Ago } from "../parts/time.tsx";
import { DebugState, StatePairs } from "./worker-state.tsx";

export function Connections(): JSX.Element {
  const { value, problem, again } = usePolled<{ workers: readonly Worker[] }>("/v1/workers", {
    everyMs: 1_000,
    withRuns: true,
  });
  const workers = [...(value?.workers ?? [])].sort((a, b) => a.connectedMs - b.connectedMs);
  return (
    <>
      <div class="page-head">
        <h1>Connections</h1>
        {workers.length > 0 && <p class="lead">{summary(workers)}</p>}
      </div>
      <Problem trouble={problem} />
      {value === null && problem === null && <p class="lead">Asking the gateway who is connected …</p>}
      {value?.workers.length === 0 && (
        <div class="empty">
          <h2>No worker is connected</h2>
          <p>Runs that are due wait until one is. Start an app:</p>
          <pre>HOLDFAST_DEV={location.origin} node app.js</pre>
        </div>
      )}
      <ul class="workers">
        {workers.map((worker) => (
          <li key={worker.connectionId}>
            <WorkerCard worker={worker} onChanged={again} />
          </li>
        ))}
      </ul>
    </>
  );
}

function summary(workers: readonly Worker[]): string {
  const live = workers.filter(({ status }) => status !== "GATEWAY_SILENT" && status !== "SILENT");
  const gateways = new Set(live.map(({ gatewayId }) => gatewayId)).size;
  const known = workers.flatMap(({ inFlight }) => inFlight ?? []);
  const busy = known.reduce((sum, one) => sum + one, 0);
  return `${countOf(live.length, "connection")} at ${countOf(gateways, "gateway")}, ${countOf(busy, "request")} in flight here`;
}

const STATES: Readonly<Record<string, [text: string, status: string]>> = {
  READY: ["Ready", "COMPLETED"],
  DRAINING: ["Drained", "WAITING"],
  PAUSED: ["Paused", "WAITING"],
  MAIN_BLOCKED: ["Main thread blocked", "WAITING"],
  SILENT: ["Silent, probably gone", "FAILED"],
  GATEWAY_SILENT: ["Gateway silent, probably gone", "FAILED"],
  CONNECTED: ["Connecting", "PENDING"],
};

function WorkerCard({ worker, onChanged }: { readonly worker: Worker; readonly onChanged: () => void }): JSX.Element {
  const [problem, setProblem] = useState<Trouble | null>(null);
  const {
    connectionId,
    instanceId,
    apps,
    status,
    drained,
    connectedMs,
    queues,
    capacity,
    inFlight,
    partitions,
    condition,
  } = worker;
  const [text, tone] = STATES[status] ?? [status, "PENDING"];
  const change = (verb: "drain" | "resume"): void => {
    setProblem(null);
    post(`/v1/workers/${encodeURIComponent(instanceId)}/${verb}`).then(onChanged, (error: unknown) =>
      setProblem(troubleOf(error)),
    );
  };
  return (
    <article class="card padded worker" aria-label={`Worker ${instanceId}`}>
      <div class="page-head">
        <h2>
          <bdi>{instanceId}</bdi>
        </h2>
        <span class="status" data-status={tone}>
          <span class="step-mark" />
          {text}
        </span>
      </div>
      <p class="apps">
        <Badges texts={apps.map((app) => app.replace(/@$/, ""))} />
      </p>
      <Load name="Requests" capacity={capacity} inFlight={inFlight} />
      {partitions.map((one) => (
        <Load
          key={one.functions.join()}
          name={one.functions.join(", ")}
          capacity={one.capacity}
          inFlight={one.inFlight}
        />
      ))}
      <dl class="pairs small">
        <dt>Connected</dt>
        <dd>
          <Ago atMs={connectedMs} />
        </dd>
        <dt>Queues</dt>
        <dd>
          <bdi>{queues.includes("*") ? "all" : queues.join(", ")}</bdi>
        </dd>
        <GatewayOf worker={worker} />
        {condition && <Signs condition={condition} />}
      </dl>
      {condition && <Stalls condition={condition} />}
      {condition?.state && <DebugState state={condition.state} />}
      <Problem trouble={problem} />
      <a href={`/ui/connections/${connectionId}/frames`}>Frames</a>
      {mayChange() && (
        <div class="buttons">
          {drained ? (
            <button type="button" onClick={() => change("resume")}>
              Give it work again
            </button>
          ) : (
            <button type="button" onClick={() => change("drain")}>
              Drain
            </button>
          )}
        </div>
      )}
    </article>
  );
}

/** The gateway that it is connected to; of another one also when that was heard of last. */
function GatewayOf({ worker: { gatewayId, silentMs, condition } }: { readonly worker: Worker }): JSX.Element {
  return (
    <>
      <dt>Gateway</dt>
      <dd class="mono">{gatewayId}</dd>
      {condition === null && silentMs !== undefined && (
        <>
          <dt>Its gateway</dt>
          <dd>last heard of {durationText(silentMs)} ago</dd>
        </>
      )}
    </>
  );
}

/** What its connection thread says of itself: also while the app is busy. */
function Signs({ condition }: { readonly condition: WorkerCondition }): JSX.Element {
  const { heartbeatMs, silentMs, roundTripMs, state } = condition;
  return (
    <>
      <dt>Heartbeats</dt>
      <dd>
        every {durationText(heartbeatMs)}, last heard of {durationText(silentMs)} ago
      </dd>
      <dt>Round trip</dt>
      <dd>{roundTripMs === null ? "not measured yet" : durationText(roundTripMs)}</dd>
      {state !== null && <StatePairs state={state} />}
    </>
  );
}

/** When its main thread did not move, and at which line of the source. */
function Stalls({ condition: { stalls } }: { readonly condition: WorkerCondition }): JSX.Element | null {
  if (stalls.length === 0) return null;
  return (
    <ul class="blocks" aria-label="Blocked main thread">
      {stalls.map((stall) => (
        <li key={`${stall.atMs} ${stall.runId ?? ""}`} class="notice">
          {stall.cause === "no-cpu" ? "It was given no processor for " : "Its main thread was blocked for "}
          {durationText(stall.stalledMs)}
          {!stall.ended && ", and was so still"}, <Ago atMs={stall.atMs} />
          {stall.location !== undefined && (
            <>
              {" "}
              at <code>{stall.codeName ?? "the handler"}</code> <code class="place">{stall.location}</code>
            </>
          )}
          {stall.runId !== null && (
            <>
              {" "}
              <a href={`/ui/runs/${encodeURIComponent(stall.runId)}`}>Show its run</a>
            </>
          )}
          {stall.stack !== undefined && (
            <details>
              <summary>Stack</summary>
              <pre class="stack">{stall.stack}</pre>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}

function Badges({ texts }: { readonly texts: readonly string[] }): JSX.Element {
  return (
    <>
      {texts.map((text) => (
        <span key={text} class="badge">
          <bdi>{text}</bdi>
        </span>
      ))}
    </>
  );
}

interface LoadProps {
  readonly name: string;
  readonly capacity: number;
  readonly inFlight: number | null;
}

function Load({ name, capacity, inFlight }: LoadProps): JSX.Element {
  return (
    <div class="load">
      <p>
        <bdi>{name}</bdi>
        <span class="number">
          {inFlight === null
            ? `up to ${countText(capacity)}; its own gateway counts`
            : `${countText(inFlight)} of ${countText(capacity)}`}
        </span>
      </p>
      {inFlight !== null && <progress value={inFlight} max={Math.max(1, capacity)} aria-label={`${name} in flight`} />}
    </div>
  );
}
