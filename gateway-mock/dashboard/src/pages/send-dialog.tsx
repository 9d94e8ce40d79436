/** Sends an event. Its data begins with that of the newest event of the name, in the fields that its schema has. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, post, type Trouble, troubleOf } from "../data/api.ts";
import { useEventSchema } from "../data/event-schemas.ts";
import type { EventPage, StoredEvent } from "../data/event-types.ts";
import { countOf } from "../data/format.ts";
import { navigate } from "../data/router.ts";
import type { FunctionView } from "../data/types.ts";
import { DataForm, type GivenData } from "../parts/data-form.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/notice.tsx";
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
  const [data, setData] = useState<GivenData>({ data: {} });
  const [problem, setProblem] = useState<Trouble | null>(null);
  const [said, setSaid] = useState<string | null>(null);
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
  const send = async (): Promise<void> => {
    setProblem(null);
    setSaid(null);
    if (name === "") return setProblem("An event has a name, such as shop/paid.");
    if (data.problem !== undefined) return setProblem(data.problem);
    try {
      const { ids } = await post<{ ids: string[] }>("/v1/events", { name, data: data.data });
      const id = ids[0] ?? "";
      const { runIds } = await get<StoredEvent>(`/v1/events/${encodeURIComponent(id)}`);
      onSent();
      if (runIds.length > 0) return navigate(`/ui/events/${encodeURIComponent(id)}`);
      setSaid(`The event was stored as ${id}, and started ${countOf(runIds.length, "run")}.`);
    } catch (error) {
      setProblem(troubleOf(error));
    }
  };
  return (
    <Dialog title="Send an event" onClose={onClose}>
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
      <DataForm label="Data" schema={schema} example={example} onChange={setData} />
      <Problem trouble={problem} />
      {said !== null && (
        <p class="notice ok" role="status">
          {said}
        </p>
      )}
      <div class="buttons">
        <button type="button" class="primary" onClick={() => void send()}>
          Send
        </button>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
