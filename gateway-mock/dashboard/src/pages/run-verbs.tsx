/** What can be done with a run: rerun, resume, cancel; taken along as a file or a test. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, mayChange, post, type Trouble, troubleOf } from "../data/api.ts";
import { testOf } from "../data/as-test.ts";
import { type GraphStatus, isOfGraph } from "../data/graphs.ts";
import { once } from "../data/once.ts";
import { usePress } from "../data/press.ts";
import { navigate } from "../data/router.ts";
import { isEnded, type RunDetail } from "../data/types.ts";
import { Dialog } from "../parts/dialog.tsx";
import { CopyButton } from "../parts/json-view.tsx";
import { Problem } from "../parts/notice.tsx";

export function RunVerbs({ run }: { readonly run: RunDetail }): JSX.Element {
  const [problem, setProblem] = useState<Trouble | null>(null);
  const [open, setOpen] = useState<"cancel" | "test" | null>(null);
  const path = `/v1/runs/${encodeURIComponent(run.id)}`;
  const press = usePress();
  const verb = async (name: "rerun" | "resume" | "compensations/retry" | "cancel"): Promise<void> => {
    setProblem(null);
    setOpen(null);
    const called = `${path}/${name}`;
    const answer = once(called, ({ ulid }) =>
      post<{ runId?: string }>(called, name === "rerun" ? { newRunId: ulid } : {}),
    );
    await answer.then(
      ({ runId }) => runId !== undefined && runId !== run.id && navigate(`/ui/runs/${runId}`),
      (error: unknown) => setProblem(troubleOf(error)),
    );
  };
  return (
    <div class="actions">
      {mayChange() && isEnded(run.status) && (
        <button type="button" {...press(() => verb("rerun"))}>
          Rerun
        </button>
      )}
      {mayChange() && run.resumable && (
        <button type="button" {...press(() => verb("resume"))}>
          Resume
        </button>
      )}
      {mayChange() && run.compensationsLeft && (
        <button type="button" {...press(() => verb("compensations/retry"))}>
          Retry undoing
        </button>
      )}
      {mayChange() && !isEnded(run.status) && (
        <button type="button" class="danger" onClick={() => setOpen("cancel")}>
          Cancel …
        </button>
      )}
      <button type="button" onClick={() => download(run)}>
        Export
      </button>
      {isEnded(run.status) && (
        <button type="button" onClick={() => setOpen("test")}>
          As test …
        </button>
      )}
      <Problem trouble={problem} />
      {open === "cancel" && (
        <Dialog title="Cancel this run" onClose={() => setOpen(null)}>
          <p>It ends as cancelled. Steps that have finished stay finished; it can be resumed later.</p>
          <div class="buttons">
            <button type="button" class="primary" {...press(() => verb("cancel"))}>
              Cancel the run
            </button>
            <button type="button" onClick={() => setOpen(null)}>
              Do nothing
            </button>
          </div>
        </Dialog>
      )}
      {open === "test" && <TestDialog run={run} onClose={() => setOpen(null)} />}
    </div>
  );
}

function TestDialog({ run, onClose }: { readonly run: RunDetail; readonly onClose: () => void }): JSX.Element | null {
  const isGraph = isOfGraph(run.eventName);
  const [nodes, setNodes] = useState<GraphStatus["nodes"] | null>(isGraph ? null : []);
  const [problem, setProblem] = useState<Trouble | null>(null);
  useEffect(() => {
    if (!isGraph) return;
    get<GraphStatus>(`/v1/runs/${encodeURIComponent(run.id)}/graph`).then(
      (status) => setNodes(status.nodes),
      (error: unknown) => setProblem(troubleOf(error)),
    );
  }, [isGraph, run.id]);
  if (nodes === null) {
    return problem === null ? null : (
      <Dialog title="This run as a test" onClose={onClose}>
        <Problem trouble={problem} />
      </Dialog>
    );
  }
  const text = testOf(run, nodes);
  return (
    <Dialog title="This run as a test" onClose={onClose}>
      <p>
        The test replays this run: the same event, and for each step the result that it had.{" "}
        {isGraph ? "It needs nothing from your code." : "Change the import to where your code exports the function."}
      </p>
      <pre class="long" tabIndex={0}>
        {text}
      </pre>
      <div class="buttons">
        <CopyButton text={text} what="the test" />
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

/** As `holdfast-gateway export` writes it. */
function download(run: RunDetail): void {
  const line = `${JSON.stringify({ format: "holdfast-run/1", run })}\n`;
  const url = URL.createObjectURL(new Blob([line], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${run.functionId}-${run.id}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
}
