/** One event: what it carries, what it has started, who collects it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayChange } from "../data/api.ts";
import type { StoredEvent } from "../data/event-types.ts";
import { instantText, withLocalTimes } from "../data/format.ts";
import { usePolled } from "../data/polled.ts";
import type { RunPage } from "../data/types.ts";
import { CopyButton, JsonView } from "../parts/json-view.tsx";
import { Problem } from "../parts/notice.tsx";
import { RunRow } from "../parts/run-row.tsx";
import { Ago } from "../parts/time.tsx";
import { SendDialog } from "./send-dialog.tsx";
import type { ViewProps } from "./view-props.ts";

const SHOWN = 50;
const NOTHING_STARTED =
  "It started no run. If a run was waiting for it with waitForEvent, that run went on; such runs are not listed here.";

export function EventPage({ params }: ViewProps): JSX.Element {
  const id = params.id ?? "";
  const { value: event, problem } = usePolled<StoredEvent>(`/v1/events/${encodeURIComponent(id)}`, {
    everyMs: 4_000,
    withRuns: true,
  });
  const runs = usePolled<RunPage>(`/v1/runs?event=${encodeURIComponent(id)}&limit=${SHOWN}&waiting=1`, {
    everyMs: 4_000,
    withRuns: true,
  }).value;
  const [isSending, setSending] = useState(false);
  if (event === null) {
    return (
      <>
        <h1>Event</h1>
        {problem === null ? <p class="lead">Asking the gateway for the event …</p> : <Problem trouble={problem} />}
      </>
    );
  }
  return (
    <>
      <Head event={event} onSend={() => setSending(true)} />
      {event.collected.map(({ functionId, message }) => (
        <p key={functionId} class="notice">
          <bdi>{functionId}</bdi>: <bdi>{withLocalTimes(message)}</bdi>
        </p>
      ))}
      <section aria-labelledby="started">
        <h2 id="started">What it started</h2>
        {runs?.runs.length === 0 && <p class="lead">{event.collected.length > 0 ? "No run yet." : NOTHING_STARTED}</p>}
        <ul class="plain-list rows-of-runs">
          {runs?.runs.map((run) => (
            <li key={run.id}>
              <RunRow run={run} />
            </li>
          ))}
        </ul>
        {runs !== null && runs.nextCursor !== null && (
          <p class="list-end">
            <a href={`/ui/runs?event=${encodeURIComponent(id)}`}>All of them</a>
          </p>
        )}
      </section>
      <section aria-labelledby="payload">
        <h2 id="payload">Payload</h2>
        <JsonView value={event.event} label="payload" />
      </section>
      {isSending && <SendDialog name={event.name} onClose={() => setSending(false)} onSent={() => {}} />}
    </>
  );
}

function Head({ event, onSend }: { readonly event: StoredEvent; readonly onSend: () => void }): JSX.Element {
  return (
    <header class="run-head">
      <p class="crumbs">
        <a href="/ui/events">Events</a> /{" "}
        <a href={`/ui/events?name=${encodeURIComponent(event.name)}`}>
          <bdi>{event.name}</bdi>
        </a>
      </p>
      <div class="page-head">
        <h1>
          <bdi>{event.name}</bdi>
        </h1>
        {mayChange() && (
          <div class="actions">
            <button type="button" onClick={onSend}>
              Send another …
            </button>
          </div>
        )}
      </div>
      <dl class="summary">
        <div>
          <dt>Received</dt>
          <dd>
            <Ago atMs={event.receivedMs} />
          </dd>
        </div>
        {Math.abs(event.tsMs - event.receivedMs) > 1_000 && (
          <div>
            <dt>Its own time</dt>
            <dd>{instantText(event.tsMs)}</dd>
          </div>
        )}
        <div>
          <dt>Event</dt>
          <dd>
            <code>{event.id}</code> <CopyButton text={event.id} what="the event's id" />
          </dd>
        </div>
      </dl>
    </header>
  );
}
