/** What the reasons of open runs are read from, out of the tables. On Postgres `store-postgres/waiting.ts` does the same. */
import type { WaitingReads } from "../port/waiting.ts";
import {
  MAX_AHEAD,
  MAX_WAITING_FACT,
  type OpenJob,
  type OpenRun,
  OVERDUE_NAMED,
  type OverdueWork,
  type PlacesAsked,
  type PlacesTaken,
  type QueuePlace,
  type SlotUse,
  type UnmovedPage,
  WAITING_KINDS,
  type WaitingFact,
} from "../port/waiting.ts";
import type { StoredLogRow } from "../port/work.ts";
import { movesOn, waitMovesOn } from "../rules/moves-on.ts";
import { byText, type JobRow, placeOf, type RunRow } from "./rows.ts";
import type { Tables } from "./tables.ts";
import { waitOf } from "./waits.ts";

const KINDS: ReadonlySet<string> = new Set(WAITING_KINDS);
const EVENT = ',"event":';

export function openRuns(tables: Tables, runIds: readonly string[]): OpenRun[] {
  return [...new Set(runIds)].sort(byText).flatMap((runId) => {
    const run = tables.runs.get(runId);
    return run && run.head.endedMs === null ? [openRun(run)] : [];
  });
}

function openRun({ head, jobs, waits, log }: RunRow): OpenRun {
  return {
    head,
    jobs: [...jobs].sort((a, b) => a.availableMs - b.availableMs || byText(a.id, b.id)).map(openJob),
    waits: [...waits.values()].sort((a, b) => a.beganMs - b.beganMs || byText(a.key, b.key)).map(waitOf),
    facts: log.filter(({ kind }) => KINDS.has(kind)).map(shortened),
  };
}

function openJob(job: JobRow): OpenJob {
  const { id, kind, key, attempt, iteration, epoch, priority, availableMs, leasedBy, claimedMs, wantedVersion } = job;
  const { slotA, slotB, throttle, unplacedSinceMs } = job;
  return {
    ...{ id, kind, key, attempt, iteration, epoch, priority, availableMs, leasedBy, claimedMs, throttle },
    wantedVersion,
    isUnplaced: epoch === 0 || unplacedSinceMs !== null,
    slots: [slotA, slotB].filter((slot) => slot !== null),
  };
}

function shortened({ headVersion: _, headStatus: __, ...row }: StoredLogRow): WaitingFact {
  const { kind, dataJson } = row;
  if (kind !== "RUN_CREATED") return dataJson.length > MAX_WAITING_FACT ? { ...row, dataJson: "{}" } : row;
  const at = dataJson.indexOf(EVENT);
  return { ...row, dataJson: at < 0 || at > MAX_WAITING_FACT ? "{}" : `${dataJson.slice(0, at)}}` };
}

export function placesTaken(tables: Tables, asked: PlacesAsked): PlacesTaken {
  return {
    slots: asked.slots.map((slot) => slotUse(tables, slot)),
    throttles: asked.throttles.map(({ functionId, key }) => {
      const atMs = tables.flowRules.startMs(functionId, key);
      return atMs === undefined ? null : Math.round(atMs);
    }),
    ahead: asked.ahead.map((jobId) => queuePlace(tables, jobId)),
    seenMs: asked.functionIds.map((functionId) => tables.registry.seenMs(functionId)),
  };
}

/** Of what was leased without a claim, as in Postgres, where what is not there comes last. */
const LAST = Number.POSITIVE_INFINITY;

function slotUse({ jobs }: Tables, slot: string): SlotUse {
  const holders = [...jobs.inSlot(slot)]
    .filter(({ leasedBy }) => leasedBy !== null)
    .sort((a, b) => (a.claimedMs ?? LAST) - (b.claimedMs ?? LAST) || byText(a.id, b.id));
  const [first] = holders;
  return {
    taken: jobs.taken(slot),
    oldest: first ? { runId: first.runId, claimedMs: first.claimedMs ?? 0 } : null,
  };
}

function queuePlace({ jobs }: Tables, jobId: string): QueuePlace {
  const mine = jobs.rows.get(jobId);
  if (!mine || mine.leasedBy !== null) return { ahead: 0, pacedAhead: 0 };
  const isBefore = (job: JobRow): boolean =>
    placeOf(job) < placeOf(mine) || (placeOf(job) === placeOf(mine) && byText(job.id, mine.id) < 0);
  const before = jobs.due(mine.functionId).filter(isBefore).slice(0, MAX_AHEAD);
  const paced = before.filter(({ throttle }) => throttle !== null && throttle === mine.throttle);
  return { ahead: before.length, pacedAhead: paced.length };
}

export function overdueWork(
  { jobs, nowMs }: Tables,
  { functionIds, dueForMs }: Parameters<WaitingReads["overdueWork"]>[0],
): OverdueWork[] {
  return functionIds.flatMap((functionId) => {
    const since = new Map<string, number>();
    for (const job of jobs.of(functionId)) {
      const dueMs = dueSinceMs(job, nowMs - dueForMs);
      if (dueMs === null) continue;
      since.set(job.runId, Math.min(dueMs, since.get(job.runId) ?? Number.POSITIVE_INFINITY));
    }
    const runs = [...since].map(([runId, dueMs]) => ({ runId, dueMs }));
    runs.sort((a, b) => a.dueMs - b.dueMs || byText(a.runId, b.runId));
    return runs.length === 0
      ? []
      : [{ functionId, count: Math.min(runs.length, MAX_AHEAD), runs: runs.slice(0, OVERDUE_NAMED) }];
  });
}

function dueSinceMs(
  { kind, availableMs, createdMs, wantedVersion, leasedBy }: JobRow,
  latestMs: number,
): number | null {
  if (kind !== "pass" && kind !== "step") return null;
  if (availableMs <= latestMs) return availableMs;
  return wantedVersion !== null && leasedBy === null && createdMs <= latestMs ? createdMs : null;
}

export function unmovedRuns(
  tables: Tables,
  { limit, cursor }: Parameters<WaitingReads["unmovedRuns"]>[0],
): UnmovedPage {
  const before = [...tables.runs.values()]
    .filter(({ head }) => cursor === undefined || head.id < cursor)
    .sort((a, b) => byText(b.head.id, a.head.id));
  const page = before.slice(0, limit);
  const isUnmoved = ({ head, jobs, waits }: RunRow): boolean =>
    head.endedMs === null && ![...jobs].some(movesOn) && ![...waits.values()].some(waitMovesOn);
  return {
    runIds: page.filter(isUnmoved).map(({ head }) => head.id),
    looked: page.length,
    nextCursor: page.length < limit ? null : (page.at(-1)?.head.id ?? null),
  };
}
