/** The runs that a filter shows, kept up to date; whoever comes back to them finds them as they were left. */
import { firstIdAt } from "@holdfast/core";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, gatewayNowMs, get, type Trouble, troubleOf } from "../data/api.ts";
import { renewal } from "../data/coalesce.ts";
import { entryId, keptLists, knownId } from "../data/kept-lists.ts";
import { type Facts, onFacts } from "../data/live.ts";
import { EMPTY, isReached, type Rows, withFacts, withHead, withNext } from "../data/run-rows.ts";
import type { Run, RunPage } from "../data/types.ts";
import { isAnswered, returns } from "../data/watch-link.ts";
import { type Filter, listQuery } from "./runs-filter.ts";

const HEAD = 60;
const NEXT = 300;
/** The most that the API gives at once. */
const MANY = 1_000;
const MOST_PAGES = 8;
/** So much later than its id says, a run may still come: clocks differ, and storing takes its time. */
const LATE_MS = 5_000;

interface Place {
  /** Of the entry of the history. */
  readonly id: string;
  /** Where it was left; 0: it is new. */
  readonly scrollY: number;
}

interface RunList {
  readonly rows: Rows | null;
  readonly problem: Trouble | null;
  readonly more: () => void;
  readonly place: Place;
}

export function useRuns(filter: Filter, address: string): RunList {
  const [rows, setRows] = useState<Rows | null>(null);
  const [problem, setProblem] = useState<Trouble | null>(null);
  const shown = useRef<Rows>(EMPTY);
  /** The address whose next page is being read. */
  const readingMore = useRef<string | null>(null);
  const canAsk = isAnswered.value;
  const show = (next: Rows): void => {
    shown.current = next;
    setRows(next);
  };

  const place = useKeptList(address, shown, setRows);
  useEffect(() => {
    // While the gateway answers nothing, nothing is asked of it; what was read stays.
    if (!canAsk) return;
    const end = new AbortController();
    const head = renewal(async () => {
      try {
        const settled = settledNow();
        const page = await readHead(filter, shown.current, end.signal);
        if (end.signal.aborted) return;
        show(withHead(shown.current, page, settled));
        setProblem(null);
      } catch (error) {
        if (!end.signal.aborted && error instanceof ApiError && error.status !== 0) setProblem(troubleOf(error));
      }
    });
    const changed = (changes: readonly Facts[]): void => {
      const { rows: next, isNewer } = withFacts(shown.current, changes, filter.statuses);
      if (next !== shown.current) show(next);
      if (isNewer) ask();
    };
    let isWhole = false;
    const ask = (): void => {
      if (isWhole) head.ask();
    };
    const endFacts = onFacts(changed, ask);
    // What was kept may have changed meanwhile, all of it.
    const settled = settledNow();
    void readAll(filter, shown.current.runs, end.signal)
      .then((page) => {
        if (page !== null && !end.signal.aborted) show(withHead(shown.current, page, settled));
      })
      .catch(() => {})
      .then(() => {
        isWhole = true;
        if (!end.signal.aborted) ask();
      });
    return () => {
      head.end();
      endFacts();
      end.abort();
    };
  }, [address, canAsk, returns.value]);

  const more = useCallback(() => {
    const { nextCursor } = shown.current;
    if (nextCursor === null || readingMore.current === address || !isAnswered.peek()) return;
    readingMore.current = address;
    void read(filter, NEXT, nextCursor)
      .then((page) => {
        // What was shown meanwhile may be of another filter.
        if (shown.current.nextCursor === nextCursor) show(withNext(shown.current, page));
        setProblem(null);
      })
      .catch((error: unknown) => setProblem(troubleOf(error)))
      .finally(() => {
        if (readingMore.current === address) readingMore.current = null;
      });
  }, [address]);

  return { rows, problem, more, place };
}

/** What is shown is kept when the list is left, and is there again when it is come back to. */
function useKeptList(address: string, shown: { current: Rows }, setRows: (rows: Rows | null) => void): Place {
  const [place, setPlace] = useState<Place>({ id: "", scrollY: 0 });
  useEffect(() => {
    const id = entryId();
    const kept = keptLists.take(id, address);
    shown.current = kept?.rows ?? EMPTY;
    setRows(kept?.rows ?? null);
    setPlace({ id, scrollY: kept?.scrollY ?? 0 });
    let scrollY = kept?.scrollY ?? 0;
    const look = (): void => {
      // The scrolling of the page that comes next is not of this one.
      if (knownId() === id) scrollY = globalThis.scrollY;
    };
    addEventListener("scroll", look, { passive: true });
    return () => {
      removeEventListener("scroll", look);
      if (shown.current.runs.length > 0) keptLists.keep(id, { address, rows: shown.current, scrollY });
    };
  }, [address]);
  return place;
}

/** The beginning of an id: whatever runs have older ids are stored. */
const settledNow = (): string => firstIdAt(gatewayNowMs() - LATE_MS);

const read = (filter: Filter, limit: number, cursor: string | null, signal?: AbortSignal): Promise<RunPage> =>
  get<RunPage>(`/v1/runs${listQuery(filter, Date.now(), limit, cursor)}`, signal ? { signal } : {});

/** Why they wait is what was known of it. */
async function readMany(
  filter: Filter,
  { limit, cursor, known }: { readonly limit: number; readonly cursor: string | null; readonly known: readonly Run[] },
  signal: AbortSignal,
): Promise<RunPage> {
  const page = await get<RunPage>(`/v1/runs${listQuery(filter, Date.now(), limit, cursor, false)}`, { signal });
  const before = new Map(known.map((run) => [run.id, run]));
  const runs = page.runs.map((run) => {
    const own = before.get(run.id);
    return own?.status === run.status ? { ...run, waiting: own.waiting ?? null } : run;
  });
  return { ...page, runs };
}

/** Who reads further down keeps the place: there the first page reaches what is shown, also when many have come. */
async function readHead(filter: Filter, rows: Rows, end: AbortSignal): Promise<RunPage> {
  const page = await read(filter, HEAD, null, end);
  const isGap = rows.runs.length > 0 && page.nextCursor !== null && !isReached(rows, page);
  if (!isGap || scrollY <= innerHeight) return page;
  return readMany(filter, { limit: MANY, cursor: null, known: [...rows.runs, ...page.runs] }, end);
}

/** What was shown, and what has come before it, in as few pages as can be. Null: nothing was. */
async function readAll(filter: Filter, shown: readonly Run[], end: AbortSignal): Promise<RunPage | null> {
  const last = shown.at(-1);
  if (last === undefined) return null;
  const limit = Math.min(MANY, Math.max(HEAD, shown.length));
  const runs: Run[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page: RunPage = await readMany(filter, { limit, cursor, known: shown }, end);
    runs.push(...page.runs);
    cursor = page.nextCursor;
    if (cursor === null || cursor <= last.id) break;
  }
  return { runs, nextCursor: cursor };
}
