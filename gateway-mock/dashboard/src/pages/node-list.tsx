/** The nodes of a graph as a list: as they are defined, or what became of them in a run. */
import type { JSX } from "preact";
import { nowMs } from "../data/clock.ts";
import { agoText, countOf, countText, durationText } from "../data/format.ts";
import {
  type Graph,
  type GraphStatus,
  NODE_STATUS,
  NODE_WORDS,
  type NodeState,
  type ShownStatus,
} from "../data/graphs.ts";
import { endedText, type LoopProgress, type NodeProgress, statusIn } from "../data/node-progress.ts";
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
  readonly progress: NodeProgress;
  /** Of the same run. */
  readonly steps: readonly Step[];
}

export function RunNodes({ status, progress, steps, selected, onSelect }: RunNodesProps): JSX.Element {
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
          const shown = isWaiting(node, step) ? "waits" : statusIn(progress, node);
          return (
            <li key={node.key}>
              <details
                id={isFirst ? `node-${node.id}` : undefined}
                class={node.id === selected ? "step selected" : "step"}
                onToggle={(event) => event.currentTarget.open && onSelect(node.id)}
              >
                <summary>
                  <span class="step-mark" data-status={shown === "waits" ? "WAITING" : NODE_STATUS[shown]} />
                  <span class="step-name">
                    <bdi>{node.title ?? node.key}</bdi>
                  </span>
                  <span class="step-note">{noteOf(node, shown, progress.loops.get(node.key))}</span>
                  <span class="step-time">{step === undefined ? lengthOf(node) : stepLength(step)}</span>
                </summary>
                <div class="step-body">
                  <NodeBody node={node} hasBegun={BEGUN.has(shown)} />
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

function noteOf(node: NodeState, shown: ShownStatus | "waits", loop: LoopProgress | undefined): string {
  const { type, status, attempts, dueMs, endedMs, handle, title, key } = node;
  const parts: string[] = [shown === "waits" ? "waiting" : NODE_WORDS[shown], type];
  if (title !== undefined) parts.push(key);
  if (handle !== undefined && handle !== "out") parts.push(`took “${handle}”`);
  if (attempts > 1) parts.push(countOf(attempts, "attempt"));
  if (loop !== undefined) parts.push(endedText(loop, countText));
  // Of a run that has ended nothing is due.
  if (endedMs === null && dueMs !== null && status !== "dead") parts.push(`due ${agoText(dueMs, nowMs.value)}`);
  return parts.join(" · ");
}

const lengthOf = ({ startedMs, endedMs }: NodeState): string =>
  startedMs === null || endedMs === null ? "" : durationText(endedMs - startedMs);

const BEGUN: ReadonlySet<string> = new Set(["waits", "running", "done", "failed", "unfinished"]);

interface NodeBodyProps {
  readonly node: NodeState;
  readonly hasBegun: boolean;
}

function NodeBody({ node: { input, output, error, key }, hasBegun }: NodeBodyProps): JSX.Element {
  if (input === undefined && output === undefined && error === undefined)
    return <p class="lead">{hasBegun ? "It has no values of its own." : "It has not begun."}</p>;
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
