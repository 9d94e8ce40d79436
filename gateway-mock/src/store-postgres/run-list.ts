/**
 * Pages of runs, newest first, by whatever filter. Each filter has an index that gives candidates in the order of their
 * ids; of these a page looks at `CANDIDATES` at most. So a page takes as long with a million runs as with none,
 * and where runs that fit are rare it may come short: the cursor says where to go on (docs/decisions/0091).
 */
import { firstIdAt, unreachable } from "@holdfast/core";
import {
  DEFAULT_ENVIRONMENT,
  MAX_PAGE_BYTES,
  qualify,
  RUN_STATUSES,
  type RunFilter,
  type RunHead,
  type RunPage,
  type RunStatus,
  upToPageBytes,
} from "@holdfast/store";
import type { Database } from "./connection/database.ts";
import { textArray } from "./connection/pg-values.ts";
import type { Param } from "./connection/query.ts";
import { type HeadRow, headOf, IS_LEASED, shownHeadColumns } from "./rows.ts";

const MAX_PAGE = 1000;
export const pageSize = (limit: number): number => Math.min(Math.max(Math.trunc(limit), 1), MAX_PAGE);

/**
 * Of the statements for one page, of each index. Mostly one of several indexes has all that is wanted near its top, or
 * nothing: that is seen before much of the others is read.
 */
const CANDIDATES = [500, 20_000] as const;
/** Ids are made by gateways, times by the database. */
const CLOCKS_DIFFER_MS = 3_600_000;
/** Above all ids. */
const TOP = "~";

/** Runs of one status, or of all, from the newest down to `reached`: none that fits is missing there. */
interface Stretch {
  readonly runs: readonly RunHead[];
  /** "" = there is nothing below. */
  readonly reached: string;
  /** Their results and errors are as large as those of a page may be. */
  readonly isFull: boolean;
}

/** An index that gives ids of runs that may fit, in order. */
interface Candidates {
  /** A statement that gives `id`, from below `below` down to `floor`, in this order; and `part`, if it is sorted by that. */
  readonly select: (below: string, floor: string | null) => string;
  /** Its order as an index has it: a sort would look at all candidates for a page of few. */
  readonly order: "c.id DESC" | "c.part DESC, c.id DESC";
  /** What is certain of its runs. */
  readonly implies: "function" | "environment" | "nothing";
}

/** Texts of a statement, and their values. */
class Params {
  readonly values: Param[] = [];

  add(value: Param): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}

export async function listRuns(database: Database, filter: RunFilter): Promise<RunPage> {
  const limit = pageSize(filter.limit);
  const asked = filter.status === undefined ? undefined : [filter.status].flat();
  const statuses: readonly (RunStatus | null)[] =
    asked === undefined || asked.length === RUN_STATUSES.length ? [null] : [...new Set(asked)];
  const stretches = await Promise.all(statuses.map((status) => stretchOf(database, filter, status, limit)));
  // Below that, some status was not looked through.
  const reached =
    stretches
      .map((one) => one.reached)
      .sort()
      .at(-1) ?? "";
  const found = onceEach(stretches.flatMap(({ runs }) => runs))
    .filter(({ id }) => id >= reached)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  const runs = upToPageBytes(found.slice(0, limit));
  if (found.length > runs.length) return { runs, nextCursor: runs.at(-1)?.id ?? null };
  return { runs, nextCursor: reached === "" ? null : reached };
}

/** A run whose status changes between two statements is found by both: it is as it was found last. */
function onceEach(runs: readonly RunHead[]): RunHead[] {
  const newest = new Map<string, RunHead>();
  for (const run of runs) if (run.version >= (newest.get(run.id)?.version ?? 0)) newest.set(run.id, run);
  return [...newest.values()];
}

/** One more than the page holds, if there are so many; over several statements where runs that fit are rare. */
async function stretchOf(
  database: Database,
  filter: RunFilter,
  status: RunStatus | null,
  limit: number,
): Promise<Stretch> {
  const runs: RunHead[] = [];
  let below = filter.cursor ?? TOP;
  for (const most of CANDIDATES) {
    const wanted = limit + 1 - runs.length;
    const tried = candidatesFor(filter, status).map((one) =>
      oneStretch(database, one, { filter, status, below, wanted, most }),
    );
    const next = (await Promise.all(tried)).reduce((best, one) => (one.reached < best.reached ? one : best));
    runs.push(...next.runs);
    if (next.reached === "" || next.isFull || runs.length > limit) return { ...next, runs };
    below = next.reached;
  }
  return { runs, reached: below, isFull: false };
}

/** Of what is below `below` as many as are wanted, of one status. */
interface Part {
  readonly filter: RunFilter;
  readonly status: RunStatus | null;
  readonly below: string;
  readonly wanted: number;
  /** Candidates that are looked at. */
  readonly most: number;
}

/** Of the last candidate it is there also where the run does not fit: then all but the candidate's is null. */
type FoundRow = (HeadRow | { readonly id: null }) & {
  readonly candidate: string;
  readonly nth: number;
  /** What is before it leaves room for its result and its error; otherwise both are null. */
  readonly has_room: boolean;
};

const isFit = (row: FoundRow): row is HeadRow & FoundRow => row.id !== null;

/** Known without reading them: what large values have is beside the table. */
const HAS_ROOM = `coalesce(sum(coalesce(octet_length(r.output), 0) + coalesce(octet_length(r.error), 0)) OVER before, 0) < ${MAX_PAGE_BYTES}`;
const TEXTS = ["output", "error"].map((name) => `CASE WHEN ${HAS_ROOM} THEN r.${name} END AS ${name}`).join(", ");

async function oneStretch(
  { query, options }: Database,
  candidates: Candidates,
  { filter, status, below, wanted, most }: Part,
): Promise<Stretch> {
  const params = new Params();
  // Ids are as old as their runs, unless tests have moved the time of the database.
  const { createdAfterMs: afterMs, createdBeforeMs: beforeMs } = filter;
  const isReal = options.time === undefined;
  const top = isReal && beforeMs !== undefined ? lower(below, firstIdAt(beforeMs + CLOCKS_DIFFER_MS)) : below;
  const floor = isReal && afterMs !== undefined ? firstIdAt(afterMs - CLOCKS_DIFFER_MS) : "";
  const ids = `${fill(candidates, filter, params, top, floor)} LIMIT ${most}`;
  const where = ["r.id = c.id", ...conditionsOf(candidates, filter, status, params)].join(" AND ");
  // The last candidate says how far it was looked; a statement that asks for that alone may be planned as a sort of all.
  const rows = await query<FoundRow>(
    `SELECT ${shownHeadColumns(TEXTS)}, c.id AS candidate, c.nth::int4 AS nth, ${HAS_ROOM} AS has_room
FROM (SELECT c.*, row_number() OVER (ORDER BY ${candidates.order}) AS nth FROM (${ids}) c) c
LEFT JOIN LATERAL (SELECT * FROM holdfast.runs r WHERE ${where} OFFSET 0) r ON true
WHERE r.id IS NOT NULL OR c.nth = ${most}
WINDOW before AS (ORDER BY ${candidates.order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
ORDER BY ${candidates.order} LIMIT ${params.add(wanted)}`,
    params.values,
  );
  const fitting = rows.filter(isFit);
  const runs = fitting.filter((row) => row.has_room).map(headOf);
  const last = runs.at(-1);
  const isFull = runs.length < fitting.length;
  if (last && (isFull || runs.length === wanted)) return { runs, reached: last.id, isFull };
  return { runs, reached: rows.find(({ nth }) => nth === most)?.candidate ?? "", isFull: false };
}

const lower = (a: string, b: string): string => (a < b ? a : b);

/** Which indexes to go through; of several the one that gets furthest is taken. */
function candidatesFor(filter: RunFilter, status: RunStatus | null): Candidates[] {
  const { eventIds, functionId, environment, graphUid, test } = filter;
  if (eventIds !== undefined) return [OF_EVENTS];
  if (graphUid !== undefined) return [OF_GRAPH];
  if (test === true) return [OF_TESTS];
  const byStatus = status === null ? null : BY_STATUS[status];
  if (functionId !== undefined) return byStatus ? [OF_FUNCTION, byStatus] : [OF_FUNCTION];
  if (byStatus) return [byStatus];
  return environment === undefined || environment === DEFAULT_ENVIRONMENT ? [ALL] : [OF_ENVIRONMENT];
}

function fill(
  { select, implies }: Candidates,
  filter: RunFilter,
  params: Params,
  below: string,
  floor: string,
): string {
  // A planner that is given two bounds takes the range for a small one, and sorts what it could read in order.
  const isBounded = floor !== "" || implies === "function" || implies === "environment";
  const text = select(params.add(below), isBounded ? params.add(floor) : null);
  return text
    .replaceAll("$events", () => params.add(textArray(filter.eventIds ?? [])))
    .replaceAll("$graph", () => params.add(filter.graphUid ?? ""))
    .replaceAll("$function", () => params.add(filter.functionId ?? ""))
    .replaceAll("$environment", () => params.add(environmentMark(filter.environment ?? "")));
}

const environmentMark = (environment: string): string => qualify(environment, "").slice(0, -1);

const between = (id: string, below: string, floor: string | null): string =>
  floor === null ? `${id} < ${below}` : `${id} < ${below} AND ${id} >= ${floor}`;

const ALL: Candidates = {
  select: (below, floor) => `SELECT id FROM holdfast.runs WHERE ${between("id", below, floor)} ORDER BY id DESC`,
  order: "c.id DESC",
  implies: "nothing",
};

/** Compared as pairs: a planner that takes the function to be frequent would go through all runs for it. */
const OF_FUNCTION: Candidates = {
  select: (below, floor) => `SELECT id, function_id AS part FROM holdfast.runs
WHERE (function_id, id) < ($function, ${below}) AND (function_id, id) >= ($function, ${floor})
ORDER BY function_id DESC, id DESC`,
  order: "c.part DESC, c.id DESC",
  implies: "function",
};

const OF_ENVIRONMENT: Candidates = {
  select: (
    below,
    floor,
  ) => `SELECT id, split_part(function_id, ':', 1) AS part FROM holdfast.runs WHERE function_id LIKE '@@%'
AND (split_part(function_id, ':', 1), id) < ($environment, ${below})
AND (split_part(function_id, ':', 1), id) >= ($environment, ${floor})
ORDER BY split_part(function_id, ':', 1) DESC, id DESC`,
  order: "c.part DESC, c.id DESC",
  implies: "environment",
};

/** Several events may have started one run. */
const OF_EVENTS: Candidates = {
  select: (below, floor) => `SELECT DISTINCT id FROM (
  SELECT unnest(string_to_array(run_ids, ' ')) AS id FROM holdfast.events WHERE id = ANY($events::text[])) e
WHERE ${between("id", below, floor)} ORDER BY id DESC`,
  order: "c.id DESC",
  implies: "nothing",
};

const OF_GRAPH: Candidates = {
  select: (below, floor) => `SELECT run_id AS id FROM holdfast.graph_runs
WHERE uid = $graph AND ${between("run_id", below, floor)} ORDER BY run_id DESC`,
  order: "c.id DESC",
  implies: "nothing",
};

/** They are gone after a day, so they are few. */
const OF_TESTS: Candidates = {
  select: (below, floor) => `SELECT run_id AS id FROM holdfast.graph_runs
WHERE test AND ${between("run_id", below, floor)} ORDER BY run_id DESC`,
  order: "c.id DESC",
  implies: "nothing",
};

const LIVE: Candidates = {
  select: (below, floor) => `SELECT DISTINCT run_id AS id FROM holdfast.queue
WHERE ${between("run_id", below, floor)} AND run_id > '' ORDER BY run_id DESC`,
  order: "c.id DESC",
  implies: "nothing",
};

const badEnds = (status: RunStatus): Candidates => ({
  select: (below, floor) => `SELECT DISTINCT run_id AS id FROM holdfast.run_log
WHERE status = '${status}' AND ${between("run_id", below, floor)} ORDER BY run_id DESC`,
  order: "c.id DESC",
  implies: "nothing",
});

/**
 * Live runs are found through the queue, those that ended badly through their log: both are few. No index is on
 * `runs.status`: it would make every change of a run write to all its indexes.
 */
const BY_STATUS: Readonly<Record<RunStatus, Candidates | null>> = {
  PENDING: LIVE,
  RUNNING: LIVE,
  WAITING: LIVE,
  COMPLETED: null,
  FAILED: badEnds("FAILED"),
  CANCELLED: badEnds("CANCELLED"),
};

function conditionsOf(
  { implies }: Candidates,
  { environment, functionId, eventName, errorText, graphUid, test, createdAfterMs, createdBeforeMs }: RunFilter,
  status: RunStatus | null,
  params: Params,
): string[] {
  const time = (ms: number): string => `to_timestamp(${params.add(ms)}::float8 / 1000)`;
  return [
    ...(implies === "function" || functionId === undefined ? [] : [`r.function_id = ${params.add(functionId)}`]),
    ...(implies === "nothing" && functionId === undefined ? environmentCondition(environment, params) : []),
    ...(eventName === undefined ? [] : [`r.event_name = ${params.add(eventName)}`]),
    ...(errorText === undefined ? [] : [`strpos(lower(r.error), lower(${params.add(errorText)})) > 0`]),
    ...(graphUid === undefined ? [] : [`${markedAs(`g.uid = ${params.add(graphUid)}`)}`]),
    ...(test === undefined ? [] : [`${test ? "" : "NOT "}${markedAs("g.test")}`]),
    ...(createdAfterMs === undefined ? [] : [`r.created_at >= ${time(createdAfterMs)}`]),
    ...(createdBeforeMs === undefined ? [] : [`r.created_at < ${time(createdBeforeMs)}`]),
    ...(status === null ? [] : [statusCondition(status)]),
  ];
}

const markedAs = (condition: string): string =>
  `EXISTS (SELECT FROM holdfast.graph_runs g WHERE g.run_id = r.id AND ${condition})`;

function environmentCondition(environment: string | undefined, params: Params): string[] {
  if (environment === undefined) return [];
  if (environment === DEFAULT_ENVIRONMENT) return ["(r.function_id NOT LIKE '@@%' OR r.function_id LIKE '@@:%')"];
  return [
    `r.function_id LIKE '@@%' AND split_part(r.function_id, ':', 1) = ${params.add(environmentMark(environment))}`,
  ];
}

function statusCondition(status: RunStatus): string {
  switch (status) {
    case "PENDING":
    case "WAITING":
      return `r.status = '${status}' AND NOT ${IS_LEASED}`;
    case "RUNNING":
      return `(r.status = 'RUNNING' OR (r.status IN ('PENDING', 'WAITING') AND ${IS_LEASED}))`;
    case "COMPLETED":
    case "FAILED":
    case "CANCELLED":
      return `r.status = '${status}'`;
    default:
      return unreachable(status);
  }
}
