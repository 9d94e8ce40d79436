/** What has come in, the newest first, and what each has started. */
import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, environment, get, mayChange, type Trouble, troubleOf } from "../data/api.ts";
import { renewal } from "../data/coalesce.ts";
import { NO_EVENTS, withNewest, withOlder } from "../data/event-rows.ts";
import type { EventPage, ListedEvent } from "../data/event-types.ts";
import { countOf, countText } from "../data/format.ts";
import { onFacts } from "../data/live.ts";
import { query, setQuery } from "../data/router.ts";
import { Problem } from "../parts/notice.tsx";
import { Ago } from "../parts/time.tsx";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { SendDialog } from "./send-dialog.tsx";

const HEAD = 60;
const NEXT = 300;
const ROW_HEIGHT = 62;
/** An event that starts nothing is in no stream. */
const EVERY_MS = 2_000;

interface List {
  /** Null: nothing has been read yet. */
  readonly page: EventPage | null;
  readonly problem: Trouble | null;
  readonly more: () => void;
  readonly again: () => void;
}

const address = (name: string, limit: number, cursor: string | null): string => {
  const given = { limit: String(limit), ...(name === "" ? {} : { name }), ...(cursor === null ? {} : { cursor }) };
  return `/v1/events?${new URLSearchParams(given)}`;
};

/** The events of a name, kept up to date. */
function useEvents(name: string): List {
  const [page, setPage] = useState<EventPage | null>(null);
  const [problem, setProblem] = useState<Trouble | null>(null);
  const [asked, setAsked] = useState<{ readonly again: () => void }>({ again: () => {} });
  const shown = useRef<EventPage>(NO_EVENTS);
  const isReadingMore = useRef(false);
  const scope = environment.value;
  const show = (next: EventPage): void => {
    shown.current = next;
    setPage(next);
  };
  useEffect(() => {
    let isOver = false;
    shown.current = NO_EVENTS;
    setPage(null);
    const head = renewal(async () => {
      try {
        const next = await get<EventPage>(address(name, HEAD, null));
        if (isOver) return;
        show(withNewest(shown.current, next));
        setProblem(null);
      } catch (error) {
        if (!isOver && error instanceof ApiError && error.status !== 0) setProblem(troubleOf(error));
      }
    });
    head.ask();
    setAsked({ again: head.ask });
    const timer = setInterval(() => {
      if (!document.hidden) head.ask();
    }, EVERY_MS);
    const end = onFacts(head.ask, head.ask);
    return () => {
      isOver = true;
      clearInterval(timer);
      head.end();
      end();
    };
  }, [name, scope]);
  const more = useCallback(() => {
    const { nextCursor } = shown.current;
    if (nextCursor === null || isReadingMore.current) return;
    isReadingMore.current = true;
    void get<EventPage>(address(name, NEXT, nextCursor))
      .then((next) => {
        // What was shown meanwhile may be of another name.
        if (shown.current.nextCursor === nextCursor) show(withOlder(shown.current, next));
      })
      .catch((error: unknown) => setProblem(troubleOf(error)))
      .finally(() => {
        isReadingMore.current = false;
      });
  }, [name, scope]);
  return { page, problem, more, again: asked.again };
}

export function Events(): JSX.Element {
  const name = query.value.get("name") ?? "";
  const { page, problem, more, again } = useEvents(name);
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
        {page === null && problem === null && <p class="lead">Asking the gateway for the newest events …</p>}
        {page?.events.length === 0 && page.nextCursor !== null && <Searching onMore={more} />}
        {page?.events.length === 0 && page.nextCursor === null && <Nothing isFiltered={name !== ""} />}
        {page !== null && page.events.length > 0 && (
          <>
            <VirtualRows
              label="Events"
              rows={page.events}
              rowHeight={ROW_HEIGHT}
              keyOf={({ id }) => id}
              onNearEnd={more}
              hasMore={page.nextCursor !== null}
            >
              {(event) => <EventRow event={event} />}
            </VirtualRows>
            <p class="list-end">
              {page.nextCursor === null
                ? `${countText(page.events.length)} in all`
                : `${countText(page.events.length)} read; older ones follow as you scroll`}
            </p>
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
      <span class="run-length">{runCount === 0 ? "started nothing" : countOf(runCount, "run")}</span>
    </a>
  );
}

/** A page may have nothing that fits while there are older events. */
function Searching({ onMore }: { readonly onMore: () => void }): JSX.Element {
  useEffect(onMore);
  return <p class="lead">Looking through older events …</p>;
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
