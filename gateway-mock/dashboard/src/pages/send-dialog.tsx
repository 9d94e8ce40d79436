/** Sends an event. Its data begins with that of the newest event of the name, in the fields that its schema has. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "../data/api.ts";
import { useEventSchema } from "../data/event-schemas.ts";
import type { EventPage, StoredEvent } from "../data/event-types.ts";
import { countOf } from "../data/format.ts";
import { navigate } from "../data/router.ts";
import { sendEvent } from "../data/send-event.ts";
import type { FunctionView } from "../data/types.ts";
import { DataDialog } from "../parts/data-dialog.tsx";
import { eventNames } from "../parts/trigger-text.tsx";

export interface SendDialogProps {
  /** What it begins with; may be empty. */
  readonly name: string;
  readonly onClose: () => void;
  readonly onSent: () => void;
}

const NOTHING = {};

async function newestData(name: string): Promise<unknown> {
  const { events } = await get<EventPage>(`/v1/events?limit=1&name=${encodeURIComponent(name)}`);
  const [newest] = events;
  if (!newest) return NOTHING;
  const { event } = await get<StoredEvent>(`/v1/events/${encodeURIComponent(newest.id)}`);
  return (event as { readonly data?: unknown } | null)?.data ?? NOTHING;
}

export function SendDialog({ name: given, onClose, onSent }: SendDialogProps): JSX.Element {
  const [name, setName] = useState(given);
  const [known, setKnown] = useState<readonly string[]>([]);
  const [example, setExample] = useState<unknown>(NOTHING);
  const schema = useEventSchema(name);
  useEffect(() => {
    void get<{ functions: readonly FunctionView[] }>("/v1/functions").then(
      ({ functions }) =>
        setKnown(
          [...new Set(functions.flatMap(({ triggers }) => eventNames(triggers)))].filter((one) => !one.includes("*")),
        ),
      () => {},
    );
  }, []);
  useEffect(() => {
    let isOver = false;
    if (name === "") return;
    void newestData(name).then(
      (found) => !isOver && setExample(found),
      () => {},
    );
    return () => {
      isOver = true;
    };
  }, [name]);
  const send = async (data: object): Promise<string | null> => {
    if (name === "") throw new Error("An event has a name, such as shop/paid.");
    const { id, runIds } = await sendEvent(name, data);
    onSent();
    if (runIds.length === 0) return `The event was stored as ${id}, and started ${countOf(0, "run")}.`;
    navigate(`/ui/events/${encodeURIComponent(id)}`);
    return null;
  };
  return (
    <DataDialog title="Send an event" verb="Send" submit={send} {...{ schema, example, onClose }}>
      <label>
        Name
        <input
          defaultValue={given}
          list="event-names"
          spellcheck={false}
          onChange={(event) => setName(event.currentTarget.value.trim())}
        />
        <datalist id="event-names">
          {known.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      </label>
    </DataDialog>
  );
}
