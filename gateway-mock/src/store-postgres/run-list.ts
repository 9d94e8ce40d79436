/**
 * Pages of runs, newest first, by whatever filter. Each filter has an index that gives candidates in the order of their
 * ids; of these a statement looks at `CANDIDATES` at most. So a page takes as long with a million runs as with none,
 * and where runs that fit are rare it may come short: the cursor says where to go on (docs/decisions/0091).
 */
import { firstIdAt, unreachable } from "@holdfast/core";
import {
  DEFAULT_ENVIRONMENT,
  qualify,
  RUN_STATUSES,
  type RunFilter,
  type RunHead,
  type RunPage,
  type RunStatus,
} from "@holdfast/store";
import type { Database, Param } from "./connection/database.ts";
import { type HeadRow, headColumns, headOf, IS_LEASED, SHOWN_STATUS } from "./rows.ts";

const MAX_PAGE = 1000;
export const pageSize = (limit: number): number => Math.min(Math.max(Math.trunc(limit), 1), MAX_PAGE);

/** Of one statement. */
const CANDIDATES = 20_000;
/** Statements for one page, of each index. */
const MAX_ROUNDS = 3;
/** Ids are made by gateways, times by the database. */
const CLOCKS_DIFFER_MS = 3_600_000;
/** Above all ids. */
const TOP = "~";

/** Runs of one status, or of all, from the newest down to `reached`: none that fits is missing there. */
interface Stretch {
  readonly runs: readonly RunHead[];
  /** "" = there is nothing below. */
  readonly reached: string;
}

/** An index that gives ids of runs that may fit, in order. */
interface Candidates {
  /** A statement that gives `id`, from below `below` down to `floor`, in this order; and `part`, if it is sorted by that. */
  readonly select: (below: string, floor: string) => string;
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
  const found = stretches
    .flatMap(({ runs }) => runs)
    .filter(({ id }) => id >= reached)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  const runs = found.slice(0, limit);
  if (found.length > runs.length) return { runs, nextCursor: runs.at(-1)?.id ?? null };
  return { runs, nextCursor: reached === "" ? null : reached };
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
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const wanted = limit + 1 - runs.length;
    const tried = candidatesFor(filter, status).map((one) =>
      oneStretch(database, one, { filter, status, below, wanted }),
    );
    const next = (await Promise.all(tried)).reduce((best, one) => (one.reached < best.reached ? one : best));
    runs.push(...next.runs);
    if (next.reached === "" || runs.length > limit) return { runs, reached: next.reached };
    below = next.reached;
  }
  return { runs, reached: below };
}

/** Of what is below `below` as many as are wanted, of one status. */
interface Part {
  readonly filter: RunFilter;
  readonly status: RunStatus | null;
  readonly below: string;
  readonly wanted: number;
}

async function oneStretch(
  { query, options }: Database,
  candidates: Candidates,
  { filter, status, below, wanted }: Part,
): Promise<Stretch> {
  const params = new Params();
  // Ids are as old as their runs, unless tests have moved the time of the database.
  const { createdAfterMs: afterMs, createdBeforeMs: beforeMs } = filter;
  const isReal = options.time === undefined;
  const top = isReal && beforeMs !== undefined ? lower(below, firstIdAt(beforeMs + CLOCKS_DIFFER_MS)) : below;
  const floor = isReal && afterMs !== undefined ? firstIdAt(afterMs - CLOCKS_DIFFER_MS) : "";
  const ids = `${fill(candidates, filter, params, top, floor)} LIMIT ${CANDIDATES}`;
  const bounds = [...params.values];
  const where = ["r.id = c.id", ...conditionsOf(candidates, filter, status, params)].join(" AND ");
  const rows = await query<HeadRow>(
    `SELECT ${headColumns(SHOWN_STATUS)} FROM (${ids}) c
CROSS JOIN LATERAL (SELECT * FROM holdfast.runs r WHERE ${where} OFFSET 0) r
ORDER BY ${candidates.order} LIMIT ${params.add(wanted)}`,
    params.values,
  );
  const runs = rows.map(headOf);
  const last = runs.at(-1);
  if (last && runs.length === wanted) return { runs, reached: last.id };
  const [end] = await query<{ lowest: string | null; seen: number }>(
    `SELECT min(id) AS lowest, count(*)::float8 AS seen FROM (${ids}) c`,
    bounds,
  );
  return { runs, reached: end && end.seen >= CANDIDATES ? (end.lowest ?? "") : "" };
}

const lower = (a: string, b: string): string => (a < b ? a : b);

/** Which indexes to go through; of several the one that gets furthest is taken. */
function candidatesFor({ eventId, functionId, environment }: RunFilter, status: RunStatus | null): Candidates[] {
  if (eventId !== undefined) return [OF_EVENT];
  const byStatus = status === null ? null : BY_STATUS[status];
  if (functionId !== undefined) return byStatus ? [OF_FUNCTION, byStatus] : [OF_FUNCTION];
  if (byStatus) return [byStatus];
  return environment === undefined || environment === DEFAULT_ENVIRONMENT ? [ALL] : [OF_ENVIRONMENT];
}

function fill({ select }: Candidates, filter: RunFilter, params: Params, below: string, floor: string): string {
  const text = select(params.add(below), params.add(floor));
  return text
    .replaceAll("$event", () => params.add(filter.eventId ?? ""))
    .replaceAll("$function", () => params.add(filter.functionId ?? ""))
    .replaceAll("$environment", () => params.add(environmentMark(filter.environment ?? "")));
}

const environmentMark = (environment: string): string => qualify(environment, "").slice(0, -1);

const ALL: Candidates = {
  select: (below, floor) => `SELECT id FROM holdfast.runs WHERE id < ${below} AND id >= ${floor} ORDER BY id DESC`,
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

const OF_EVENT: Candidates = {
  select: (below, floor) => `SELECT id FROM (
  SELECT unnest(string_to_array(run_ids, ' ')) AS id FROM holdfast.events WHERE id = $event) e
WHERE id < ${below} AND id >= ${floor} ORDER BY id DESC`,
  order: "c.id DESC",
  implies: "nothing",
};

const LIVE: Candidates = {
  select: (below, floor) => `SELECT DISTINCT run_id AS id FROM holdfast.queue
WHERE run_id < ${below} AND run_id >= ${floor} AND run_id > '' ORDER BY run_id DESC`,
  order: "c.id DESC",
  implies: "nothing",
};

const badEnds = (status: RunStatus): Candidates => ({
  select: (below, floor) => `SELECT DISTINCT run_id AS id FROM holdfast.run_log
WHERE status = '${status}' AND run_id < ${below} AND run_id >= ${floor} ORDER BY run_id DESC`,
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
  { environment, functionId, eventName, createdAfterMs, createdBeforeMs }: RunFilter,
  status: RunStatus | null,
  params: Params,
): string[] {
  const time = (ms: number): string => `to_timestamp(${params.add(ms)}::float8 / 1000)`;
  return [
    ...(implies === "function" || functionId === undefined ? [] : [`r.function_id = ${params.add(functionId)}`]),
    ...(implies === "nothing" && functionId === undefined ? environmentCondition(environment, params) : []),
    ...(eventName === undefined ? [] : [`r.event_name = ${params.add(eventName)}`]),
    ...(createdAfterMs === undefined ? [] : [`r.created_at >= ${time(createdAfterMs)}`]),
    ...(createdBeforeMs === undefined ? [] : [`r.created_at < ${time(createdBeforeMs)}`]),
    ...(status === null ? [] : [statusCondition(status)]),
  ];
}

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
