/** What can be done with a graph: start a run of it, publish its draft or an earlier version, take it back. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, post, type Trouble, troubleOf } from "../data/api.ts";
import type { GraphDefinition } from "../data/graphs.ts";
import { once } from "../data/once.ts";
import { usePress } from "../data/press.ts";
import { navigate } from "../data/router.ts";
import { DataForm, type GivenData } from "../parts/data-form.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/notice.tsx";
import { PROBLEMS_ID } from "./graph-problems.tsx";

export interface GraphVerbsProps {
  readonly graph: GraphDefinition;
  /** `draft`, or the number of a version. */
  readonly shown: string;
  /** How many problems the draft has. */
  readonly problems: number;
  readonly onChanged: () => void;
}

export function GraphVerbs({ graph, shown, problems, onChanged }: GraphVerbsProps): JSX.Element {
  const [problem, setProblem] = useState<Trouble | null>(null);
  const [isStarting, setStarting] = useState(false);
  const owner = graph.tenant === "" ? "" : `?tenant=${encodeURIComponent(graph.tenant)}`;
  const path = `/v1/graphs/${encodeURIComponent(graph.id)}`;
  const isDraft = shown === "draft";
  const press = usePress();
  const change = async (verb: "publish" | "unpublish", body?: object): Promise<void> => {
    setProblem(null);
    const called = call("POST", `${path}/${verb}${owner}`, body === undefined ? {} : { body });
    await called.then(onChanged, (error: unknown) => setProblem(troubleOf(error)));
  };
  const publication = isDraft ? { expectedRevision: graph.revision } : { version: Number(shown) };
  return (
    <div class="actions">
      {graph.version !== null && (
        <button type="button" class="primary" onClick={() => setStarting(true)}>
          Start …
        </button>
      )}
      {isDraft && problems > 0 ? (
        <button type="button" aria-disabled="true" aria-describedby={PROBLEMS_ID} title="The draft has problems">
          Publish the draft
        </button>
      ) : (
        <button type="button" {...press(() => change("publish", publication))}>
          {isDraft ? "Publish the draft" : "Publish this version"}
        </button>
      )}
      {isDraft && graph.version !== null && (
        <button type="button" {...press(() => change("unpublish"))}>
          Unpublish
        </button>
      )}
      <Problem trouble={problem} />
      {isStarting && <StartGraph graph={graph} path={`${path}/runs${owner}`} onClose={() => setStarting(false)} />}
    </div>
  );
}

const NOTHING = {};

interface StartProps {
  readonly graph: GraphDefinition;
  readonly path: string;
  readonly onClose: () => void;
}

function StartGraph({ graph, path, onClose }: StartProps): JSX.Element {
  const [input, setInput] = useState<GivenData>({ data: {} });
  const [problem, setProblem] = useState<Trouble | null>(null);
  const version = graph.version ?? undefined;
  const press = usePress();
  const start = async (): Promise<void> => {
    if (input.problem !== undefined) return setProblem(input.problem);
    setProblem(null);
    const body = { input: input.data, version };
    const answer = once(`${path} ${JSON.stringify(body)}`, ({ headers }) =>
      post<{ runId: string }>(path, body, headers),
    );
    await answer.then(
      ({ runId }) => navigate(`/ui/runs/${runId}`),
      (error: unknown) => setProblem(troubleOf(error)),
    );
  };
  return (
    <Dialog title={`Start ${graph.title === "" ? graph.id : graph.title}`} onClose={onClose}>
      <DataForm
        label="Input"
        schema={(graph.graph as { readonly input?: unknown }).input}
        example={NOTHING}
        onChange={setInput}
      />
      <Problem trouble={problem} />
      <div class="buttons">
        <button type="button" class="primary" {...press(start)}>
          Start version {version}
        </button>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
