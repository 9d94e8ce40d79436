/** One graph: its drawing, its versions, what triggers it, its runs; publishing it, starting it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayChange } from "../data/api.ts";
import { type GraphDefinition, type GraphVersion, graphHref, nodeOfProblem } from "../data/graphs.ts";
import { usePageTitle } from "../data/page-title.ts";
import { usePolled } from "../data/polled.ts";
import { query } from "../data/router.ts";
import type { RunPage } from "../data/types.ts";
import { GraphView } from "../parts/graph-view.tsx";
import { Problem } from "../parts/notice.tsx";
import { RunRow } from "../parts/run-row.tsx";
import { Ago } from "../parts/time.tsx";
import { GraphProblems, useProblems } from "./graph-problems.tsx";
import { GraphVerbs } from "./graph-verbs.tsx";
import { DefinedNodes } from "./node-list.tsx";
import type { ViewProps } from "./view-props.ts";

const SHOWN = 8;
const VERSIONS = 20;

export function GraphPage({ params }: ViewProps): JSX.Element {
  const id = params.id ?? "";
  const tenant = query.value.get("tenant") ?? "";
  const version = query.value.get("version") ?? "draft";
  const path = `/v1/graphs/${encodeURIComponent(id)}`;
  const owner = tenant === "" ? "" : `tenant=${encodeURIComponent(tenant)}&`;
  const { value, problem, again } = usePolled<GraphDefinition>(
    `${path}?${owner}version=${encodeURIComponent(version)}`,
    { everyMs: 4_000, withRuns: false },
  );
  const versions = usePolled<{ versions: readonly GraphVersion[] }>(`${path}/versions?${owner}limit=${VERSIONS}`, {
    everyMs: 4_000,
    withRuns: false,
  }).value;
  const runs = usePolled<RunPage>(`/v1/runs?${owner}graph=${encodeURIComponent(id)}&limit=${SHOWN}&waiting=1`, {
    everyMs: 10_000,
    withRuns: true,
  }).value;
  const revision = version === "draft" && value !== null ? value.revision : null;
  const problems = useProblems(`${path}?${owner}problems=1`, revision);
  const [selected, setSelected] = useState<string | null>(null);
  usePageTitle(value === null ? null : value.title || id, "Graph");
  if (value === null) {
    return (
      <>
        <h1>Graph</h1>
        {problem === null ? <p class="lead">Asking the gateway for the graph …</p> : <Problem trouble={problem} />}
      </>
    );
  }
  const wrong = new Set(problems.flatMap((one) => nodeOfProblem(value.graph, one) ?? []));
  return (
    <>
      <header class="run-head">
        <p class="crumbs">
          <a href="/ui/graphs">Graphs</a> / <bdi>{tenant === "" ? id : `${tenant} / ${id}`}</bdi>
        </p>
        <div class="page-head">
          <h1>
            <bdi>{value.title === "" ? id : value.title}</bdi>
          </h1>
          {mayChange() && <GraphVerbs graph={value} shown={version} problems={problems.length} onChanged={again} />}
        </div>
        <Versions graph={value} shown={version} versions={versions?.versions ?? []} />
      </header>
      <Problem trouble={problem} />
      <GraphProblems graph={value.graph} problems={problems} onSelect={openNode(setSelected)} />
      <section aria-label="Drawing">
        <div class="card">
          <GraphView graph={value.graph} wrong={wrong} selected={selected} onSelect={openNode(setSelected)} />
        </div>
      </section>
      <section aria-labelledby="triggers">
        <h2 id="triggers">Started by</h2>
        <Triggers graph={value} />
      </section>
      <section aria-labelledby="nodes">
        <h2 id="nodes">Nodes</h2>
        <DefinedNodes graph={value.graph} selected={selected} onSelect={setSelected} />
      </section>
      <section aria-labelledby="newest">
        <h2 id="newest">Newest runs</h2>
        {runs?.runs.length === 0 && <p class="lead">It has no runs.</p>}
        {runs !== null && runs.nextCursor !== null && (
          <p class="lead">
            <a href={`/ui/runs?${owner}graph=${encodeURIComponent(id)}`}>Show all of its runs</a>
          </p>
        )}
        <ul class="plain-list rows-of-runs">
          {runs?.runs.map((run) => (
            <li key={run.id}>
              <RunRow run={run} />
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

/** A node that was chosen in the picture opens in the list. */
export const openNode =
  (select: (id: string) => void) =>
  (id: string): void => {
    select(id);
    const item = document.getElementById(`node-${id}`);
    item?.scrollIntoView({ block: "nearest" });
    if (item instanceof HTMLDetailsElement) item.open = true;
  };

interface VersionsProps {
  readonly graph: GraphDefinition;
  /** As it is in the address. */
  readonly shown: string;
  readonly versions: readonly GraphVersion[];
}

function Versions({ graph, shown, versions }: VersionsProps): JSX.Element {
  const link = (name: string, text: string, isShown: boolean): JSX.Element => (
    <li key={name}>
      <a
        class="choice-link"
        href={graphHref(graph, name === "draft" ? undefined : name)}
        aria-current={isShown ? "true" : undefined}
      >
        {text}
      </a>
    </li>
  );
  // A graph that is asked for by a version answers with that as its `version`.
  const published = shown === "draft" ? graph.version : null;
  const at = versions.find(({ version }) => String(version) === shown);
  return (
    <>
      <ul class="choices" aria-label="Versions">
        {link("draft", `Draft, revision ${graph.revision}`, shown === "draft")}
        {versions.map(({ version }) =>
          link(
            String(version),
            version === published ? `Version ${version}, published` : `Version ${version}`,
            String(version) === shown,
          ),
        )}
      </ul>
      {at && (
        <p class="lead">
          Made of draft {at.revision} <Ago atMs={at.publishedMs} />. A version never changes.
        </p>
      )}
      {versions.length === 0 && <p class="lead">Nothing of it has been published: runs name no version of it yet.</p>}
    </>
  );
}

interface GraphTrigger {
  readonly events?: readonly { readonly event: string; readonly if?: string }[];
  readonly cron?: readonly { readonly cron: string; readonly timezone?: string }[];
}

function Triggers({ graph }: { readonly graph: GraphDefinition }): JSX.Element {
  const { events = [], cron = [] } = (graph.graph as { readonly trigger?: GraphTrigger }).trigger ?? {};
  if (events.length + cron.length === 0) return <p class="lead">Nothing but a call: no event, and no schedule.</p>;
  return (
    <ul class="relatives">
      {events.map(({ event, if: condition }) => (
        <li key={`${event} ${condition ?? ""}`}>
          the event <bdi>{event}</bdi>
          {condition !== undefined && (
            <>
              {" "}
              if <code>{condition}</code>
            </>
          )}
        </li>
      ))}
      {cron.map(({ cron: expression, timezone }) => (
        <li key={`${expression} ${timezone ?? ""}`}>
          the schedule <code>{expression}</code>
          {timezone !== undefined && `, ${timezone}`}
        </li>
      ))}
    </ul>
  );
}
