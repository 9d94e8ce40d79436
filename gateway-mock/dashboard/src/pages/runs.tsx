/** All runs, the newest first, as they happen. */
import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, environment, get, mayChange, type Trouble, troubleOf } from "../data/api.ts";
import { renewal } from "../data/coalesce.ts";
import { countText } from "../data/format.ts";
import { type Facts, onFacts } from "../data/live.ts";
import { query } from "../data/router.ts";
import { EMPTY, type Rows, withFacts, withHead, withNext } from "../data/run-rows.ts";
import type { RunPage } from "../data/types.ts";
import { Problem } from "../parts/notice.tsx";
import { RunRow } from "../parts/run-row.tsx";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { BulkDialog } from "./bulk-dialog.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { type BulkAction, bulkFilter, type Filter, isFiltered, listQuery, readFilter } from "./runs-filter.ts";

const HEAD = 60;
const NEXT = 300;
const ROW_HEIGHT = 62;

interface List {
  readonly rows: Rows | null;
  readonly problem: Trouble | null;
  readonly more: () => void;
}

/** The runs that a filter shows, kept up to date. */
function useRuns(filter: Filter, address: string): List {
  const [rows, setRows] = useState<Rows | null>(null);
  const [problem, setProblem] = useState<Trouble | null>(null);
  const shown = useRef<Rows>(EMPTY);
  const isReadingMore = useRef(false);
  const show = (next: Rows): void => {
    shown.current = next;
    setRows(next);
  };

  useEffect(() => {
    let isOver = false;
    shown.current = EMPTY;
    setRows(null);
    const head = renewal(async () => {
      try {
        const page = await get<RunPage>(`/v1/runs${listQuery(filter, Date.now(), HEAD, null)}`);
        if (isOver) return;
        show(withHead(shown.current, page));
        setProblem(null);
      } catch (error) {
        // While the gateway is away the navigation says so, and what was read stays.
        if (!isOver && error instanceof ApiError && error.status !== 0) setProblem(troubleOf(error));
      }
    });
    const changed = (changes: readonly Facts[]): void => {
      const { rows: next, isNewer } = withFacts(shown.current, changes);
      if (next !== shown.current) show(next);
      if (isNewer) head.ask();
    };
    head.ask();
    const end = onFacts(changed, head.ask);
    return () => {
      isOver = true;
      head.end();
      end();
    };
  }, [address]);

  const more = useCallback(() => {
    const { nextCursor } = shown.current;
    if (nextCursor === null || isReadingMore.current) return;
    isReadingMore.current = true;
    void get<RunPage>(`/v1/runs${listQuery(filter, Date.now(), NEXT, nextCursor)}`)
      .then((page) => {
        // What was shown meanwhile may be of another filter.
        if (shown.current.nextCursor === nextCursor) show(withNext(shown.current, page));
      })
      .catch((error: unknown) => setProblem(troubleOf(error)))
      .finally(() => {
        isReadingMore.current = false;
      });
  }, [address]);

  return { rows, problem, more };
}

export function Runs(): JSX.Element {
  const filter = readFilter(query.value);
  const { rows, problem, more } = useRuns(filter, `${environment.value} ${query.value}`);
  const [action, setAction] = useState<BulkAction | null>(null);
  return (
    <>
      <div class="page-head">
        <h1>Runs</h1>
        {mayChange() && (
          <div class="actions">
            <BulkButtons filter={filter} onChoose={setAction} />
          </div>
        )}
      </div>
      <FilterBar filter={filter} />
      <Problem trouble={problem} />
      <section aria-label="List of runs">
        {rows === null && problem === null && <p class="lead">Asking the gateway for the newest runs …</p>}
        {rows?.runs.length === 0 && rows.nextCursor !== null && <Searching onMore={more} />}
        {rows?.runs.length === 0 && rows.nextCursor === null && <Nothing filter={filter} />}
        {rows !== null && rows.runs.length > 0 && (
          <>
            <VirtualRows
              label="Runs"
              rows={rows.runs}
              rowHeight={ROW_HEIGHT}
              keyOf={({ id }) => id}
              onNearEnd={more}
              hasMore={rows.nextCursor !== null}
            >
              {(run) => <RunRow run={run} />}
            </VirtualRows>
            <p class="list-end">
              {rows.nextCursor === null
                ? `${countText(rows.runs.length)} in all`
                : `${countText(rows.runs.length)} read; older ones follow as you scroll`}
            </p>
          </>
        )}
      </section>
      {action !== null && <BulkDialog action={action} filter={filter} onClose={() => setAction(null)} />}
    </>
  );
}

/** A page may have nothing that fits while there are older runs. */
function Searching({ onMore }: { readonly onMore: () => void }): JSX.Element {
  useEffect(onMore);
  return <p class="lead">Looking through older runs …</p>;
}

function BulkButtons({
  filter,
  onChoose,
}: {
  readonly filter: Filter;
  readonly onChoose: (action: BulkAction) => void;
}): JSX.Element {
  const one = (action: BulkAction, label: string): JSX.Element => (
    <button type="button" disabled={bulkFilter(action, filter, 0) === null} onClick={() => onChoose(action)}>
      {label}
    </button>
  );
  return (
    <>
      {one("rerun", "Rerun these …")}
      {one("cancel", "Cancel these …")}
    </>
  );
}

function Nothing({ filter }: { readonly filter: Filter }): JSX.Element {
  if (isFiltered(filter)) {
    return (
      <div class="empty">
        <h2>No run fits</h2>
        <p>
          One that comes to fit appears here by itself. <a href="/ui/runs">Show all runs</a>
        </p>
      </div>
    );
  }
  return (
    <div class="empty">
      <h2>No runs yet</h2>
      <p>Connect an app and send an event; its runs appear here as they begin:</p>
      <pre>
        HOLDFAST_DEV={location.origin} node app.js{"\n"}curl {location.origin}/e/dev -d '
        {'{"name":"demo/hello","data":{}}'}'
      </pre>
    </div>
  );
}
