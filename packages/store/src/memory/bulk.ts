/** Bulk jobs, and the pages of runs that they look at. */
import {
  type BulkFilter,
  type BulkJob,
  type BulkPage,
  type BulkProgress,
  NEWEST_RUN,
  type NewBulkJob,
} from "../port/bulk.ts";
import type { Fence, NewJob } from "../port/work.ts";
import { environmentOf } from "../rules/environment.ts";
import { byText } from "./rows.ts";
import { hasText } from "./runs.ts";
import type { Tables } from "./tables.ts";

export function createBulkJob({ bulkJobs, jobs, nowMs }: Tables, bulk: NewBulkJob, job: NewJob): void {
  if (bulkJobs.has(bulk.id)) return;
  const progress: BulkProgress = { beforeId: NEWEST_RUN, done: 0, skipped: 0, failed: 0, errors: [], chunk: [] };
  const times = { createdMs: nowMs, updatedMs: nowMs, endedMs: null };
  bulkJobs.set(bulk.id, { ...bulk, ...progress, ...times, status: "RUNNING" });
  jobs.insert(job);
}

export function listBulkJobs({ bulkJobs }: Tables, environment: string, limit: number): BulkJob[] {
  return [...bulkJobs.values()]
    .filter(({ filter }) => filter.environment === environment)
    .sort((a, b) => byText(b.id, a.id))
    .slice(0, limit);
}

export function saveBulkProgress(
  { bulkJobs, queue, nowMs }: Tables,
  id: string,
  { jobId, epoch }: Fence,
  { progress, isOver }: { readonly progress: BulkProgress; readonly isOver: boolean },
): boolean {
  const bulk = bulkJobs.get(id);
  if (bulk === undefined || bulk.status === "DONE" || queue.get(jobId)?.epoch !== epoch) return false;
  if (bulk.status === "STOPPED") {
    bulkJobs.set(id, { ...bulk, ...progress, updatedMs: nowMs });
    return false;
  }
  const end = isOver ? ({ status: "DONE", endedMs: nowMs } as const) : {};
  bulkJobs.set(id, { ...bulk, ...progress, updatedMs: nowMs, ...end });
  return true;
}

export function stopBulkJob({ bulkJobs, nowMs }: Tables, id: string): boolean {
  const bulk = bulkJobs.get(id);
  if (bulk?.status !== "RUNNING") return false;
  bulkJobs.set(id, { ...bulk, status: "STOPPED", updatedMs: nowMs, endedMs: nowMs });
  return true;
}

export function bulkPage(tables: Tables, filter: BulkFilter, beforeId: string, limit: number): BulkPage {
  const { environment, functionId, eventName, eventIds, graphUid, errorText, notAgain } = filter;
  const { status, createdAfterMs = 0, createdBeforeMs = Infinity } = filter;
  const ofEvents = eventIds && new Set(eventIds.flatMap((id) => tables.events.get(id)?.runIds ?? []));
  const page = [...tables.runs.values()]
    .filter(({ head }) => head.id < beforeId && environmentOf(head.functionId) === environment)
    .filter(({ head }) => functionId === undefined || head.functionId === functionId)
    .filter(({ head }) => ofEvents === undefined || ofEvents.has(head.id))
    .sort((a, b) => byText(b.head.id, a.head.id))
    .slice(0, limit)
    .map((run) => tables.runsTable.shown(run));
  const fitting = page
    .filter((head) => status.includes(head.status) && (eventName === undefined || head.eventName === eventName))
    .filter(({ id }) => graphUid === undefined || tables.graphs.markOf(id)?.uid === graphUid)
    .filter(({ errorJson }) => errorText === undefined || hasText(errorJson, errorText))
    .filter(({ createdMs }) => createdMs >= createdAfterMs && createdMs < createdBeforeMs)
    .map(({ id }) => id);
  const again = notAgain === undefined ? new Set<string>() : madeAgain(tables, notAgain);
  const runIds = fitting.filter((id) => !again.has(id));
  const leftOut = fitting.length - runIds.length;
  return { runIds, leftOut, nextBeforeId: page.length < limit ? null : (page.at(-1)?.id ?? null) };
}

/** Runs of which there is another one. */
const madeAgain = ({ origins, runs }: Tables, except: string): ReadonlySet<string> =>
  new Set([...origins].flatMap(([id, { runId }]) => (runs.has(id) && !id.startsWith(except) ? [runId] : [])));
