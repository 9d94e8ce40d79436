/** Starts a function: by an event, as its app would, or alone. Begins with the data that came last. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, post, type Trouble, troubleOf } from "../data/api.ts";
import { useEventSchema } from "../data/event-schemas.ts";
import { countOf } from "../data/format.ts";
import { navigate } from "../data/router.ts";
import type { FunctionDetail, RunDetail } from "../data/types.ts";
import { DataForm, type GivenData } from "../parts/data-form.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/notice.tsx";
import { eventNames } from "../parts/trigger-text.tsx";

export interface StartDialogProps {
  readonly fn: FunctionDetail;
  readonly lastRunId: string | null;
  readonly onClose: () => void;
}

const ALONE = "";
const NOTHING = {};

export function StartDialog({ fn, lastRunId, onClose }: StartDialogProps): JSX.Element {
  const names = eventNames(fn.triggers).filter((name) => !name.includes("*"));
  const [event, setEvent] = useState(names[0] ?? ALONE);
  const [example, setExample] = useState<unknown>(NOTHING);
  const [given, setGiven] = useState<GivenData>({ data: {} });
  const [said, setSaid] = useState<string | null>(null);
  const [problem, setProblem] = useState<Trouble | null>(null);
  // Alone it is given the data of one of its events.
  const schema = useEventSchema(event === ALONE ? (names[0] ?? "") : event, fn.id);
  useEffect(() => {
    if (lastRunId === null) return;
    void get<RunDetail>(`/v1/runs/${encodeURIComponent(lastRunId)}`).then(
      ({ event: last }) => setExample((last as { data?: unknown } | null)?.data ?? NOTHING),
      () => {},
    );
  }, []);
  const start = async (): Promise<void> => {
    setProblem(null);
    if (given.problem !== undefined) return setProblem(given.problem);
    const value = given.data;
    try {
      if (event === ALONE) return await startAlone(fn, value, setSaid);
      const { ids } = await post<{ ids: string[] }>("/v1/events", { name: event, data: value });
      const { runIds } = await get<{ runIds: string[] }>(`/v1/events/${encodeURIComponent(ids[0] ?? "")}`);
      if (runIds.length === 1 && runIds[0] !== undefined) return navigate(`/ui/runs/${runIds[0]}`);
      setSaid(`The event was sent, and started ${countOf(runIds.length, "run")}.`);
    } catch (error) {
      setProblem(troubleOf(error));
    }
  };
  return (
    <Dialog title={`Start ${fn.id}`} onClose={onClose}>
      <label>
        How
        <select value={event} onChange={(change) => setEvent(change.currentTarget.value)}>
          {names.map((name) => (
            <option key={name} value={name}>
              Send the event {name}
            </option>
          ))}
          <option value={ALONE}>Start this function alone</option>
        </select>
      </label>
      <DataForm label="Data" schema={schema} example={example} onChange={setGiven} />
      <Problem trouble={problem} />
      {said !== null && (
        <p class="notice ok" role="status">
          {said}
        </p>
      )}
      <div class="buttons">
        <button type="button" class="primary" onClick={() => void start()}>
          {event === ALONE ? "Start" : "Send"}
        </button>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

async function startAlone(fn: FunctionDetail, data: object, say: (text: string) => void): Promise<void> {
  const path = `/v1/functions/${encodeURIComponent(fn.id)}/runs`;
  const { outcome, runId } = await post<{ outcome: string; runId?: string }>(path, { data });
  if (runId !== undefined) navigate(`/ui/runs/${runId}`);
  else
    say(
      outcome === "skipped"
        ? "A rule of the function keeps the run back."
        : "The run begins later: events are collected first.",
    );
}
