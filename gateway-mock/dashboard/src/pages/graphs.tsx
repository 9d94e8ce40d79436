/** The graphs that the gateway has: what is published of each, and what has been changed since. */
import type { JSX } from "preact";
import { countOf } from "../data/format.ts";
import { graphHref, type ListedGraph } from "../data/graphs.ts";
import { usePolled } from "../data/polled.ts";
import { Problem } from "../parts/notice.tsx";
import { Ago } from "../parts/time.tsx";

const MOST = 1_000;

export function Graphs(): JSX.Element {
  const { value, problem } = usePolled<{ graphs: readonly ListedGraph[]; nextCursor: string | null }>(
    `/v1/graphs?limit=${MOST}`,
    { everyMs: 4_000, withRuns: false },
  );
  return (
    <>
      <h1>Graphs</h1>
      <Problem trouble={problem} />
      {value === null && problem === null && <p class="lead">Asking the gateway for the graphs …</p>}
      {value?.graphs.length === 0 && (
        <div class="empty">
          <h2>No graphs yet</h2>
          <p>A graph is a workflow as data: nodes and edges in JSON. Store and publish one:</p>
          <pre>npx holdfast-gateway graphs put onboarding.json --publish</pre>
        </div>
      )}
      {value !== null && value.graphs.length > 0 && (
        <ul class="plain-list">
          {value.graphs.map((graph) => (
            <li key={`${graph.tenant}\n${graph.id}`}>
              <Row graph={graph} />
            </li>
          ))}
        </ul>
      )}
      {value !== null && value.nextCursor !== null && (
        <p class="list-end">The first {countOf(MOST, "graph")}; the API has the others.</p>
      )}
    </>
  );
}

function Row({ graph }: { readonly graph: ListedGraph }): JSX.Element {
  const { id, tenant, title, version, revision, updatedMs, publishedMs } = graph;
  return (
    <a class="fn-row" href={graphHref(graph)}>
      <span class="run-name">
        <bdi>{title === "" ? id : title}</bdi>
        {tenant !== "" && (
          <span class="badge">
            <bdi>{tenant}</bdi>
          </span>
        )}
      </span>
      <span class="run-note">
        <bdi class="mono">{id}</bdi>
      </span>
      <span class="run-time">{version === null ? "nothing is published" : `version ${version}`}</span>
      <span class="run-length">
        {publishedMs !== null && updatedMs <= publishedMs ? (
          <>
            published <Ago atMs={publishedMs} />
          </>
        ) : (
          <>
            draft {revision} written <Ago atMs={updatedMs} />
          </>
        )}
      </span>
    </a>
  );
}
