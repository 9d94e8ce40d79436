/** All runs, the newest first, as they happen. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { environment, mayChange } from "../data/api.ts";
import { countText } from "../data/format.ts";
import { query } from "../data/router.ts";
import { FirstSteps } from "../parts/first-steps.tsx";
import { Problem } from "../parts/notice.tsx";
import { RunRow } from "../parts/run-row.tsx";
import { VirtualRows } from "../parts/virtual-rows.tsx";
import { type Mistake, mistakesIn, withoutMistakes } from "./address-mistakes.ts";
import { BulkDialog } from "./bulk-dialog.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { type BulkAction, bulkFilter, type Filter, isFiltered, readFilter } from "./runs-filter.ts";
import { useRuns } from "./use-runs.ts";

const ROW_HEIGHT = 62;
/** Before a page that was refused is asked for again. */
const PAUSE_MS = 1_000;

export function Runs(): JSX.Element {
  const filter = readFilter(query.value);
  const mistakes = mistakesIn(query.value);
  const { rows, problem, more, place } = useRuns(filter, `${environment.value} ${query.value}`);
  const [action, setAction] = useState<BulkAction | null>(null);
  return (
    <>
      <div class="page-head">
        <h1>Runs</h1>
        {mayChange() && (
          <div class="actions">
            <BulkButtons filter={filter} isWrong={mistakes.length > 0} onChoose={setAction} />
          </div>
        )}
      </div>
      <FilterBar filter={filter} />
      {mistakes.length > 0 && <Mistakes mistakes={mistakes} />}
      <Problem trouble={problem} />
      <section aria-label="List of runs">
        {rows === null && problem === null && <p class="lead">Asking the gateway for the newest runs …</p>}
        {rows?.runs.length === 0 && rows.nextCursor !== null && (
          <Searching onMore={more} pauseMs={problem === null ? 0 : PAUSE_MS} />
        )}
        {rows?.runs.length === 0 && rows.nextCursor === null && <Nothing filter={filter} />}
        {rows !== null && rows.runs.length > 0 && (
          <>
            <VirtualRows
              key={place.id}
              label="Runs"
              startY={place.scrollY}
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

interface SearchingProps {
  readonly onMore: () => void;
  readonly pauseMs: number;
}

/** A page may have nothing that fits while there are older runs. */
function Searching({ onMore, pauseMs }: SearchingProps): JSX.Element {
  useEffect(() => {
    const timer = setTimeout(onMore, pauseMs);
    return () => clearTimeout(timer);
  });
  return <p class="lead">Looking through older runs …</p>;
}

/** More runs are shown than the address was meant to show, so that none of them is taken for those. */
function Mistakes({ mistakes }: { readonly mistakes: readonly Mistake[] }): JSX.Element {
  const rest = withoutMistakes(query.value, mistakes).toString();
  return (
    <div class="notice bad" role="alert">
      <ul>
        {mistakes.map(({ part, text }) => (
          <li key={part}>
            <code>{part}</code> in the address is ignored: {text}
          </li>
        ))}
      </ul>
      <p>
        Nothing can be done with all of these runs until it is corrected.{" "}
        <a href={`/ui/runs${rest === "" ? "" : `?${rest}`}`}>Show them without it</a>
      </p>
    </div>
  );
}

interface BulkButtonsProps {
  readonly filter: Filter;
  /** The address says something that the filter does not have. */
  readonly isWrong: boolean;
  readonly onChoose: (action: BulkAction) => void;
}

function BulkButtons({ filter, isWrong, onChoose }: BulkButtonsProps): JSX.Element {
  const one = (action: BulkAction, label: string): JSX.Element => {
    const isOff = isWrong || bulkFilter(action, filter, 0) === null;
    return (
      <button type="button" disabled={isOff} onClick={() => onChoose(action)}>
        {label}
      </button>
    );
  };
  return (
    <>
      {one("rerun", "Rerun these …")}
      {one("resume", "Resume these …")}
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
      <FirstSteps />
    </div>
  );
}
