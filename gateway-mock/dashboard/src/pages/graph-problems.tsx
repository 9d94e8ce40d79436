/** What has to be fixed in a draft before it can be published, with the nodes that it is about. */
import type { JSX } from "preact";
import { get } from "../data/api.ts";
import { countOf } from "../data/format.ts";
import { type Graph, type GraphDefinition, type GraphProblem, nodeOfProblem } from "../data/graphs.ts";
import { useRead } from "../data/polled.ts";
import { Words } from "../parts/words.tsx";

const MOST = 100;
/** Validating is work for the gateway; only what a draft names outside of itself changes without it. */
const EVERY_MS = 60_000;
const NONE: readonly GraphProblem[] = [];

/** Of a draft as it was read; null: it is none. */
export function useProblems(path: string, revision: number | null): readonly GraphProblem[] {
  const { value } = useRead(
    revision === null ? null : `problems ${path} ${revision}`,
    (signal) => get<GraphDefinition>(path, { signal }),
    { everyMs: EVERY_MS, withRuns: false },
  );
  return value?.problems ?? NONE;
}

interface ProblemsProps {
  readonly graph: Graph;
  readonly problems: readonly GraphProblem[];
  readonly onSelect: (nodeId: string) => void;
}

export const PROBLEMS_ID = "problems";

export function GraphProblems({ graph, problems, onSelect }: ProblemsProps): JSX.Element | null {
  if (problems.length === 0) return null;
  return (
    <section aria-labelledby={PROBLEMS_ID}>
      <h2 id={PROBLEMS_ID}>
        {countOf(problems.length, "problem")} {problems.length === 1 ? "keeps" : "keep"} the draft from being published
      </h2>
      <ul class="blocks">
        {problems.slice(0, MOST).map((problem, index) => (
          <li key={index.toString()} class="notice bad">
            <About graph={graph} problem={problem} onSelect={onSelect} />
            <Words text={problem.message} /> <Words text={problem.fix} /> <code>{problem.code}</code>
          </li>
        ))}
      </ul>
      {problems.length > MOST && <p class="list-end">The first {MOST}; the API has the others.</p>}
    </section>
  );
}

function About({ graph, problem, onSelect }: Omit<ProblemsProps, "problems"> & { readonly problem: GraphProblem }) {
  const index = nodeOfProblem(graph, problem);
  const node: Partial<Graph["nodes"][number]> | undefined = index === null ? undefined : graph.nodes[index];
  if (node === undefined) return problem.edge === undefined ? null : <strong>Edge {problem.edge + 1}: </strong>;
  const { id = "", title } = node;
  const name = <bdi>{title || id || `Node ${(index ?? 0) + 1}`}</bdi>;
  return (
    <>
      <strong>
        {id === "" ? (
          name
        ) : (
          <a
            href={`#node-${id}`}
            onClick={(event) => {
              event.preventDefault();
              onSelect(id);
            }}
          >
            {name}
          </a>
        )}
      </strong>
      :{" "}
    </>
  );
}
