/** What has come in, the newest first, and what each has started. */

import { ulidTimeMs } from "@holdfast/core";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { mayChange } from "../data/api.ts";
import { useEvents } from "../data/event-list.ts";
import type { EventPage, ListedEvent } from "../data/event-types.ts";
import { countOf, countText, instantText } from "../data/format.ts";
import { query, setQuery } from "../data/router.ts";
import { Problem } from "../parts/notice.tsx";
import { Ago } from "../parts/time.tsx";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { SendDialog } from "./send-dialog.tsx";

const ROW_HEIGHT = 62;

export function Events(): JSX.Element {
  const name = query.value.get("name") ?? "";
  const { list, problem, isLooking, more, again } = useEvents(name);
  const [isSending, setSending] = useState(false);
  return (
    <>
      <div class="page-head">
        <h1>Events</h1>
        {mayChange() && (
          <div class="actions">
            <button type="button" class="primary" onClick={() => setSending(true)}>
              Send …
            </button>
          </div>
        )}
      </div>
      <form class="fields one-field" role="search" aria-label="Filter events" onSubmit={find}>
        <label>
          Name
          <input key={name} name="name" defaultValue={name} spellcheck={false} placeholder="shop/paid, or shop/*" />
        </label>
        <button type="submit">Find</button>
        {name !== "" && (
          <a class="clear" href="/ui/events">
            Show all
          </a>
        )}
      </form>
      <Problem trouble={problem} />
      <section aria-label="List of events">
        {list === null && problem === null && <p class="lead">Asking the gateway for the newest events …</p>}
        {list?.events.length === 0 && list.nextCursor !== null && <Searching list={list} onMore={more} />}
        {list?.events.length === 0 && list.nextCursor === null && <Nothing isFiltered={name !== ""} />}
        {list !== null && list.events.length > 0 && (
          <>
            <VirtualRows
              label="Events"
              rows={list.events}
              rowHeight={ROW_HEIGHT}
              keyOf={({ id }) => id}
              onNearEnd={more}
              hasMore={list.nextCursor !== null}
            >
              {(event) => <EventRow event={event} />}
            </VirtualRows>
            <p class="list-end">{endText(list, isLooking)}</p>
          </>
        )}
      </section>
      {isSending && (
        <SendDialog name={name.includes("*") ? "" : name} onClose={() => setSending(false)} onSent={again} />
      )}
    </>
  );
}

function find(event: SubmitEvent): void {
  event.preventDefault();
  setQuery({ name: String(new FormData(event.currentTarget as HTMLFormElement).get("name") ?? "").trim() });
}

function EventRow({ event }: { readonly event: ListedEvent }): JSX.Element {
  const { id, name, receivedMs, runCount } = event;
  return (
    <a class="run-row event-row" href={`/ui/events/${encodeURIComponent(id)}`}>
      <span class="run-name">
        <bdi>{name}</bdi>
      </span>
      <span class="run-note mono">{id}</span>
      <span class="run-time">
        <Ago atMs={receivedMs} />
      </span>
      <span class="run-length">{runCount === 0 ? "started no run" : countOf(runCount, "run")}</span>
    </a>
  );
}

/** How far back has been looked, where there may be more: ids begin with their time. */
const lookedText = (cursor: string): string =>
  `looking through older events, back to ${instantText(ulidTimeMs(cursor))} so far …`;

function endText({ events, nextCursor }: EventPage, isLooking: boolean): string {
  if (nextCursor === null) return `${countText(events.length)} in all`;
  return `${countText(events.length)} read; ${isLooking ? lookedText(nextCursor) : "older ones follow as you scroll"}`;
}

interface SearchingProps {
  readonly list: EventPage;
  readonly onMore: () => void;
}

/** A page may have nothing that fits while there are older events. */
function Searching({ list: { nextCursor }, onMore }: SearchingProps): JSX.Element {
  useEffect(onMore, [onMore]);
  return <p class="lead">None yet; {nextCursor !== null && lookedText(nextCursor)}</p>;
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }): JSX.Element {
  if (isFiltered) {
    return (
      <div class="empty">
        <h2>No event of this name</h2>
        <p>
          One that comes appears here by itself. <a href="/ui/events">Show all events</a>
        </p>
      </div>
    );
  }
  return (
    <div class="empty">
      <h2>No events yet</h2>
      <p>Send one, from here or from anywhere:</p>
      <pre>
        curl {location.origin}/e/dev -d '{'{"name":"demo/hello","data":{}}'}'
      </pre>
    </div>
  );
}
