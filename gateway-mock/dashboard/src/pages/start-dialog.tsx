/** Starts a function: by an event, as its app would, or alone. Begins with the data that came last. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, post } from "../data/api.ts";
import { useEventSchema } from "../data/event-schemas.ts";
import { countOf } from "../data/format.ts";
import { once } from "../data/once.ts";
import { navigate } from "../data/router.ts";
import { sendEvent } from "../data/send-event.ts";
import type { FunctionDetail, RunDetail } from "../data/types.ts";
import { DataDialog } from "../parts/data-dialog.tsx";
import { eventNames } from "../parts/trigger-text.tsx";
import { StartedNone } from "./send-dialog.tsx";

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
  // Alone it is given the data of one of its events.
  const schema = useEventSchema(event === ALONE ? (names[0] ?? "") : event, fn.id);
  useEffect(() => {
    if (lastRunId === null) return;
    void get<RunDetail>(`/v1/runs/${encodeURIComponent(lastRunId)}`).then(
      ({ event: last }) => setExample((last as { data?: unknown } | null)?.data ?? NOTHING),
      () => {},
    );
  }, []);
  const start = async (data: object): Promise<ComponentChildren> => {
    if (event === ALONE) return startAlone(fn, data);
    const { id, runIds } = await sendEvent(event, data);
    if (runIds.length === 0) return <StartedNone id={id} />;
    if (runIds.length !== 1) return `The event was sent, and started ${countOf(runIds.length, "run")}.`;
    navigate(`/ui/runs/${runIds[0]}`);
    return null;
  };
  const verb = event === ALONE ? "Start" : "Send";
  return (
    <DataDialog title={`Start ${fn.id}`} submit={start} {...{ verb, schema, example, onClose }}>
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
    </DataDialog>
  );
}

async function startAlone(fn: FunctionDetail, data: object): Promise<string | null> {
  const path = `/v1/functions/${encodeURIComponent(fn.id)}/runs`;
  const { outcome, runId } = await once(`${path} ${JSON.stringify(data)}`, ({ headers }) =>
    post<{ outcome: string; runId?: string }>(path, { data }, headers),
  );
  if (runId === undefined) {
    return outcome === "skipped"
      ? "A rule of the function keeps the run back."
      : "The run begins later: events are collected first.";
  }
  navigate(`/ui/runs/${runId}`);
  return null;
}
