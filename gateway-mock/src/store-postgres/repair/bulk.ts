/** Statements for bulk jobs. Each page of runs is read by their ids, so it costs the same however few of them fit. */
import {
  type BulkFilter,
  type BulkJob,
  type BulkPage,
  type BulkProgress,
  type BulkStatus,
  DEFAULT_ENVIRONMENT,
  type Fence,
  NEWEST_RUN,
  type NewBulkJob,
  type NewJob,
  qualify,
  type StoreBulk,
} from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import { msOf, textArray } from "../connection/pg-values.ts";
import type { Param, Query } from "../connection/query.ts";
import { SHOWN_STATUS } from "../rows.ts";
import { insertJobs } from "../writer/jobs.ts";

interface BulkRow {
  readonly id: string;
  readonly action: BulkJob["action"];
  readonly filter: string;
  readonly app_version: string;
  readonly status: BulkStatus;
  readonly total: number | null;
  readonly before_id: string;
  readonly done: number;
  readonly skipped: number;
  readonly failed: number;
  readonly errors: string;
  readonly chunk: string;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly ended_ms: number | null;
}

const COLUMNS = `id, action, filter, app_version, status, total, before_id, done, skipped, failed, errors, chunk,
  ${msOf("created_at")} AS created_ms, ${msOf("updated_at")} AS updated_ms, ${msOf("ended_at")} AS ended_ms`;

const bulkOf = (row: BulkRow): BulkJob => ({
  id: row.id,
  action: row.action,
  // Written by `createBulkJob`.
  filter: readFilter(row.filter),
  appVersion: row.app_version,
  status: row.status,
  total: row.total,
  beforeId: row.before_id,
  done: row.done,
  skipped: row.skipped,
  failed: row.failed,
  errors: JSON.parse(row.errors) as string[],
  chunk: JSON.parse(row.chunk) as string[],
  createdMs: row.created_ms,
  updatedMs: row.updated_ms,
  endedMs: row.ended_ms,
});

/**
 * A gateway of the version before would take no notice of the narrower filters, and do to all runs what is meant for few:
 * where there are some, it finds no status, and leaves the job to another gateway.
 */
function filterText(filter: BulkFilter): string {
  const { status: narrowed, ...rest } = filter;
  const isNarrow = [rest.eventIds, rest.graphUid, rest.errorText, rest.notAgain].some((one) => one !== undefined);
  return JSON.stringify(isNarrow ? { ...rest, narrowed } : filter);
}

function readFilter(text: string): BulkFilter {
  const { narrowed, ...filter } = JSON.parse(text) as BulkFilter & { readonly narrowed?: BulkFilter["status"] };
  return narrowed === undefined ? filter : { ...filter, status: narrowed };
}

const CREATE = `INSERT INTO holdfast.bulk_jobs
  (id, environment, action, filter, app_version, status, total, before_id, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, 'RUNNING', $6, $7, now(), now()) ON CONFLICT (id) DO NOTHING RETURNING id`;

/**
 * Who has the job in the queue alone says how far it is: the row stays locked until that is written. A job that was
 * stopped in the meantime gets the counts of what was under way, and stays stopped.
 */
const SAVE = `WITH held AS MATERIALIZED (
  SELECT id FROM holdfast.queue WHERE id = $2 AND epoch = $3 FOR UPDATE
) UPDATE holdfast.bulk_jobs b SET before_id = $4, done = $5, skipped = $6, failed = $7, errors = $8, chunk = $9,
  updated_at = now(), status = CASE WHEN b.status = 'RUNNING' AND $10 THEN 'DONE' ELSE b.status END,
  ended_at = CASE WHEN b.status = 'RUNNING' AND $10 THEN now() ELSE b.ended_at END
FROM held WHERE b.id = $1 AND b.status IN ('RUNNING', 'STOPPED') RETURNING b.status`;

const STOP = `UPDATE holdfast.bulk_jobs SET status = 'STOPPED', updated_at = now(), ended_at = now()
WHERE id = $1 AND status = 'RUNNING' RETURNING id`;

export function bulkOfDatabase(database: Database): StoreBulk {
  const { query } = database;
  return {
    createBulkJob: (bulk, job) => create(database, bulk, job),
    async loadBulkJob(id) {
      const [row] = await query<BulkRow>(`SELECT ${COLUMNS} FROM holdfast.bulk_jobs WHERE id = $1`, [id]);
      return row ? bulkOf(row) : null;
    },
    async listBulkJobs(environment, limit) {
      const text = `SELECT ${COLUMNS} FROM holdfast.bulk_jobs WHERE environment = $1 ORDER BY id DESC LIMIT $2`;
      return (await query<BulkRow>(text, [environment, limit])).map(bulkOf);
    },
    saveBulkProgress: (id, fence, progress, isOver) => save(query, id, fence, progress, isOver),
    stopBulkJob: async (id) => (await query(STOP, [id])).length > 0,
    bulkPage: (filter, beforeId, limit) => page(query, filter, beforeId, limit),
  };
}

function create(database: Database, bulk: NewBulkJob, job: NewJob): Promise<void> {
  return database.transaction("The bulk job could not be stored", async (query) => {
    const { id, action, filter, appVersion, total } = bulk;
    const params = [id, filter.environment, action, filterText(filter), appVersion, total, NEWEST_RUN];
    if ((await query(CREATE, params)).length === 0) return;
    const { text, params: jobParams } = insertJobs([job], false);
    await query(text, jobParams);
  });
}

/** A repeat writes the same. */
async function save(
  query: Query,
  id: string,
  { jobId, epoch }: Fence,
  { beforeId, done, skipped, failed, errors, chunk }: BulkProgress,
  isOver: boolean,
): Promise<boolean> {
  const lists = [JSON.stringify(errors), JSON.stringify(chunk)];
  const params = [id, jobId, epoch, beforeId, done, skipped, failed, ...lists, isOver];
  const [saved] = await query<Pick<BulkRow, "status">>(SAVE, params);
  return saved !== undefined && saved.status !== "STOPPED";
}

const OF_DEFAULT = "(r.function_id NOT LIKE '@@%' OR r.function_id LIKE '@@:%')";

/** Ids of the runs that events have started, as an array. */
const runsOf = (param: number): string =>
  `ARRAY(SELECT unnest(string_to_array(run_ids, ' ')) FROM holdfast.events WHERE id = ANY($${param}::text[]))`;

/** Other runs of `l`, that are there. */
const MADE_AGAIN = `SELECT FROM holdfast.run_origins o WHERE o.origin_id = l.id AND NOT starts_with(o.run_id, $8)
  AND EXISTS (SELECT FROM holdfast.runs a WHERE a.id = o.run_id)`;

async function page(query: Query, filter: BulkFilter, beforeId: string, limit: number): Promise<BulkPage> {
  const { environment, functionId, eventName = null, eventIds, graphUid, errorText = null, notAgain = null } = filter;
  const { status, createdAfterMs = null, createdBeforeMs = null } = filter;
  const texts = [textArray(status), eventName];
  const params: Param[] = [beforeId, limit, ...texts, createdAfterMs, createdBeforeMs, errorText, notAgain];
  let where = OF_DEFAULT;
  if (functionId !== undefined) where = `r.function_id = $${params.push(functionId)}`;
  else if (environment !== DEFAULT_ENVIRONMENT) {
    const mark = qualify(environment, "").slice(0, -1);
    where = `r.function_id LIKE '@@%' AND split_part(r.function_id, ':', 1) = $${params.push(mark)}`;
  }
  if (eventIds !== undefined) where += ` AND r.id = ANY(${runsOf(params.push(textArray(eventIds)))})`;
  const ofGraph =
    graphUid === undefined
      ? ""
      : `\n  AND EXISTS (SELECT FROM holdfast.graph_runs g WHERE g.run_id = r.id AND g.uid = $${params.push(graphUid)})`;
  const rows = await query<{ id: string; fits: boolean; again: boolean }>(
    `WITH page AS MATERIALIZED (
  SELECT r.* FROM holdfast.runs r WHERE ${where} AND r.id < $1 ORDER BY r.id DESC LIMIT $2
), looked AS (
  SELECT r.id, (${SHOWN_STATUS}) = ANY($3::text[]) AND ($4::text IS NULL OR r.event_name = $4)
  AND ($5::float8 IS NULL OR ${msOf("r.created_at")} >= $5) AND ($6::float8 IS NULL OR ${msOf("r.created_at")} < $6)
  AND ($7::text IS NULL OR strpos(lower(r.error), lower($7)) > 0)${ofGraph} AS fits
  FROM page r
) SELECT l.id, l.fits, CASE WHEN l.fits AND $8::text IS NOT NULL THEN EXISTS (${MADE_AGAIN}) ELSE false END AS again
FROM looked l ORDER BY l.id DESC`,
    params,
  );
  const fitting = rows.filter(({ fits }) => fits);
  const runIds = fitting.filter(({ again }) => !again).map(({ id }) => id);
  const leftOut = fitting.length - runIds.length;
  return { runIds, leftOut, nextBeforeId: rows.length < limit ? null : (rows.at(-1)?.id ?? null) };
}
