/** Sends an event. Its data begins with that of the newest event of the name, in the fields that its schema has. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "../data/api.ts";
import { useEventSchema } from "../data/event-schemas.ts";
import { unheard } from "../data/meant-event.ts";
import { newestData } from "../data/newest-data.ts";
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

/** Names of events by which functions are triggered, as far as they are known yet. */
function useTriggers(): readonly string[] {
  const [known, setKnown] = useState<readonly string[]>([]);
  useEffect(() => {
    void get<{ functions: readonly FunctionView[] }>("/v1/functions").then(
      ({ functions }) => setKnown([...new Set(functions.flatMap(({ triggers }) => eventNames(triggers)))]),
      () => {},
    );
  }, []);
  return known;
}

interface Example {
  readonly data: unknown;
  readonly isAwaited: boolean;
}

/** What the newest event of the name has carried; filling in the form waits for nothing. */
function useExample(name: string): Example {
  const [example, setExample] = useState<Example>({ data: NOTHING, isAwaited: false });
  useEffect(() => {
    if (name === "") return;
    const end = new AbortController();
    const found = (data: unknown): void => {
      if (!end.signal.aborted) setExample({ data: data ?? NOTHING, isAwaited: false });
    };
    setExample(({ data }) => ({ data, isAwaited: true }));
    void newestData(name, end.signal).then(found, () => found(undefined));
    return () => end.abort();
  }, [name]);
  return example;
}

export function SendDialog({ name: given, onClose, onSent }: SendDialogProps): JSX.Element {
  const [text, setText] = useState(given);
  const [name, setName] = useState(given);
  const triggers = useTriggers();
  const example = useExample(name);
  const schema = useEventSchema(name);
  const change = (next: string): void => {
    setText(next);
    setName(next.trim());
  };
  const send = async (data: object): Promise<ComponentChildren> => {
    if (name === "") throw new Error("An event has a name, such as shop/paid.");
    const { id, runIds } = await sendEvent(name, data);
    onSent();
    if (runIds.length === 0) return <StartedNone id={id} />;
    navigate(`/ui/events/${encodeURIComponent(id)}`);
    return null;
  };
  return (
    <DataDialog title="Send an event" verb="Send" submit={send} example={example.data} {...{ schema, onClose }}>
      <label>
        Name
        <input
          value={text}
          list="event-names"
          spellcheck={false}
          onInput={(event) => setText(event.currentTarget.value)}
          onChange={(event) => change(event.currentTarget.value)}
        />
        <datalist id="event-names">
          {triggers
            .filter((one) => !one.includes("*"))
            .map((one) => (
              <option key={one} value={one} />
            ))}
        </datalist>
      </label>
      <Unheard name={name} triggers={triggers} onChoose={change} />
      {example.isAwaited && <p class="faint">Looking for the newest event of this name, for its data …</p>}
    </DataDialog>
  );
}

/** What an event did to runs that waited for it is not stored with it. */
export function StartedNone({ id }: { readonly id: string }): JSX.Element {
  return (
    <>
      The event was stored as <a href={`/ui/events/${encodeURIComponent(id)}`}>{id}</a>, and started no run. If a run
      was waiting for it, that run has gone on.
    </>
  );
}

interface UnheardProps {
  readonly name: string;
  readonly triggers: readonly string[];
  readonly onChoose: (name: string) => void;
}

function Unheard({ name, triggers, onChoose }: UnheardProps): JSX.Element | null {
  const near = unheard(name, triggers)?.near;
  if (near === undefined) return null;
  return (
    <p class="faint" role="status">
      No function is triggered by “<bdi>{name}</bdi>”; runs that wait for it have it. Did you mean{" "}
      <button type="button" class="link" onClick={() => onChoose(near)}>
        {near}
      </button>
      ?
    </p>
  );
}
