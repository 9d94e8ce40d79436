/** A new run that keeps what had ended before a step; the step's result may be given. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, post, type Trouble, troubleOf } from "../data/api.ts";
import { BUILT_IN_TYPES, type GraphStatus, isOfGraph, type NodeState } from "../data/graphs.ts";
import { once } from "../data/once.ts";
import { usePress } from "../data/press.ts";
import { navigate } from "../data/router.ts";
import type { RunDetail, Step } from "../data/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/notice.tsx";

export interface ForkDialogProps {
  readonly run: RunDetail;
  readonly step: Step;
  readonly onClose: () => void;
}

/** Of a graph's run the node and its output are shown, and not what is stored of its step. */
export function ForkDialog({ run, step, onClose }: ForkDialogProps): JSX.Element | null {
  const isGraph = isOfGraph(run.eventName);
  const path = isGraph ? `/v1/runs/${encodeURIComponent(run.id)}/graph` : null;
  const [nodes, setNodes] = useState<GraphStatus["nodes"] | null>(null);
  const [problem, setProblem] = useState<Trouble | null>(null);
  useEffect(() => {
    if (path === null) return;
    get<GraphStatus>(path).then(
      (status) => setNodes(status.nodes),
      (error: unknown) => setProblem(troubleOf(error)),
    );
  }, [path]);
  if (!isGraph) return <Form run={run} name={nameIn(run, step)} output={step.output} onClose={onClose} />;
  const node = nodes?.find(({ stepId }) => stepId === step.id);
  if (nodes !== null)
    return <Form run={run} name={node?.key ?? step.id} output={node && givenBy(node)} onClose={onClose} />;
  // A dialog that is replaced by another one would close both.
  if (problem === null) return null;
  return (
    <Dialog title="Rerun from here" onClose={onClose}>
      <Problem trouble={problem} />
    </Dialog>
  );
}

/** A type of the app that took a way of its own says so beside its output. */
function givenBy({ type, handle, output }: NodeState): unknown {
  const isOwn = !BUILT_IN_TYPES.has(type) && handle !== undefined && handle !== "out" && handle !== "error";
  return isOwn ? { $handle: handle, output } : output;
}

interface FormProps {
  readonly run: RunDetail;
  readonly name: string;
  readonly output: unknown;
  readonly onClose: () => void;
}

function Form({ run, name, output, onClose }: FormProps): JSX.Element {
  const [givesResult, setGives] = useState(false);
  const [text, setText] = useState(() => JSON.stringify(output ?? null, null, 2));
  const [problem, setProblem] = useState<Trouble | null>(null);
  const press = usePress();
  const begin = async (): Promise<void> => {
    const result = givesResult ? parsed(text) : { value: undefined };
    if (result === null) return setProblem("This is not JSON.");
    setProblem(null);
    const path = `/v1/runs/${encodeURIComponent(run.id)}/fork`;
    const body = { step: name, ...(givesResult ? { result: result.value } : {}) };
    await once(`${path} ${JSON.stringify(body)}`, ({ ulid }) =>
      post<{ runId: string }>(path, { ...body, newRunId: ulid }),
    ).then(
      ({ runId }) => navigate(`/ui/runs/${runId}`),
      (error: unknown) => setProblem(troubleOf(error)),
    );
  };
  return (
    <Dialog title={`Rerun from “${name}”`} onClose={onClose}>
      <p>A new run keeps what had ended before this step, and goes on from here with the newest version of the app.</p>
      <fieldset class="choice">
        <legend class="hidden-text">The step itself</legend>
        <label>
          <input type="radio" name="result" checked={!givesResult} onChange={() => setGives(false)} />
          <span>The step is done again</span>
        </label>
        <label>
          <input type="radio" name="result" checked={givesResult} onChange={() => setGives(true)} />
          <span>The step gives this result</span>
        </label>
      </fieldset>
      {givesResult && (
        <label>
          Result, as JSON
          <textarea rows={8} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
      )}
      <Problem trouble={problem} />
      <div class="buttons">
        <button type="button" class="primary" {...press(begin)}>
          Rerun
        </button>
        <button type="button" onClick={onClose}>
          Do nothing
        </button>
      </div>
    </Dialog>
  );
}

function parsed(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** As the API names a step: repeats of an id carry their number. */
function nameIn({ steps }: RunDetail, step: Step): string {
  const same = steps.filter(({ name }) => name === step.name);
  const at = same.findIndex(({ id }) => id === step.id);
  return at > 0 ? `${step.name ?? step.id}:${at}` : (step.name ?? step.id);
}
