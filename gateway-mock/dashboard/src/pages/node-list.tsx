/** The nodes of a graph as a list: as they are defined, or what became of them in a run. */
import type { JSX } from "preact";
import { nowMs } from "../data/clock.ts";
import { agoText, countOf, durationText } from "../data/format.ts";
import { type Graph, type GraphStatus, NODE_STATUS, NODE_WORDS, type NodeState } from "../data/graphs.ts";
import type { Step } from "../data/types.ts";
import { isWaiting } from "../data/waiting-nodes.ts";
import { ErrorView } from "../parts/error-view.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { lengthOf as stepLength } from "./step-list.tsx";

interface ChoiceProps {
  readonly selected: string | null;
  readonly onSelect: (nodeId: string) => void;
}

export function DefinedNodes({ graph, selected, onSelect }: ChoiceProps & { readonly graph: Graph }): JSX.Element {
  return (
    <ol class="steps">
      {graph.nodes.map((node, index) => {
        // Drafts may lack parts, and have two nodes of one id.
        const { id = "", type = "", title, config }: Partial<typeof node> = node;
        const ways = graph.edges.filter(({ from, to }) => from === id && to !== undefined);
        return (
          <li key={index.toString()}>
            <details
              id={`node-${id}`}
              class={id === selected ? "step selected" : "step"}
              onToggle={(event) => event.currentTarget.open && onSelect(id)}
            >
              <summary>
                <span class="step-mark" data-status="PENDING" />
                <span class="step-name">
                  <bdi>{title || id || type || "?"}</bdi>
                </span>
                <span class="step-note">
                  <bdi>{type}</bdi>
                </span>
                <span class="step-time mono">{title === undefined ? "" : id}</span>
              </summary>
              <div class="step-body">
                {ways.length > 0 && (
                  <p class="faint">
                    Leads to{" "}
                    {ways.map(({ to, handle }) => (handle === undefined ? to : `${to} (${handle})`)).join(", ")}
                  </p>
                )}
                <JsonView value={config ?? {}} label={`config of ${id}`} />
              </div>
            </details>
          </li>
        );
      })}
    </ol>
  );
}

const MOST = 500;

interface RunNodesProps extends ChoiceProps {
  readonly status: GraphStatus;
  /** Of the same run. */
  readonly steps: readonly Step[];
}

export function RunNodes({ status, steps, selected, onSelect }: RunNodesProps): JSX.Element {
  const { nodes, isCut } = status;
  const byId = new Map(steps.map((step) => [step.id, step]));
  const opened = new Set<string>();
  return (
    <>
      <ol class="steps">
        {nodes.slice(0, MOST).map((node) => {
          // The picture opens the first of a node's iterations.
          const isFirst = node.path.length === 0 && !opened.has(node.id);
          opened.add(node.id);
          const step = byId.get(node.stepId ?? "");
          const waits = isWaiting(node, step);
          return (
            <li key={node.key}>
              <details
                id={isFirst ? `node-${node.id}` : undefined}
                class={node.id === selected ? "step selected" : "step"}
                onToggle={(event) => event.currentTarget.open && onSelect(node.id)}
              >
                <summary>
                  <span class="step-mark" data-status={waits ? "WAITING" : NODE_STATUS[node.status]} />
                  <span class="step-name">
                    <bdi>{node.title ?? node.key}</bdi>
                  </span>
                  <span class="step-note">{noteOf(node, waits, nowMs.value)}</span>
                  <span class="step-time">{step === undefined ? lengthOf(node) : stepLength(step)}</span>
                </summary>
                <div class="step-body">
                  <NodeBody node={node} />
                </div>
              </details>
            </li>
          );
        })}
      </ol>
      {(isCut || nodes.length > MOST) && <p class="list-end">More have begun than are listed.</p>}
    </>
  );
}

function noteOf(node: NodeState, waits: boolean, now: number): string {
  const { type, status, attempts, dueMs, endedMs, handle, title, key } = node;
  const parts: string[] = [waits ? "waiting" : NODE_WORDS[status], type];
  if (title !== undefined) parts.push(key);
  if (handle !== undefined && handle !== "out") parts.push(`took “${handle}”`);
  if (attempts > 1) parts.push(countOf(attempts, "attempt"));
  if (endedMs === null && dueMs !== null) parts.push(`due ${agoText(dueMs, now)}`);
  return parts.join(" · ");
}

const lengthOf = ({ startedMs, endedMs }: NodeState): string =>
  startedMs === null || endedMs === null ? "" : durationText(endedMs - startedMs);

function NodeBody({ node }: { readonly node: NodeState }): JSX.Element {
  const { input, output, error, key, startedMs } = node;
  if (startedMs === null && input === undefined) return <p class="lead">It has not begun.</p>;
  return (
    <>
      {input !== undefined && (
        <div>
          <h3>Input</h3>
          <JsonView value={input} label={`input of ${key}`} />
        </div>
      )}
      {output !== undefined && (
        <div>
          <h3>Output</h3>
          <JsonView value={output} label={`output of ${key}`} />
        </div>
      )}
      {error !== undefined && <ErrorView error={error} />}
    </>
  );
}
