/** What is in use of limits and schedules, out of the tables. On Postgres `store-postgres/limits.ts` does the same. */
import { cronKey } from "../port/events.ts";
import { type LimitedJob, type LimitUse, type ListedCron, MAX_LIMITED_JOBS, MAX_LISTED_CRONS } from "../port/limits.ts";
import { byText, type JobRow } from "./rows.ts";
import type { Tables } from "./tables.ts";

export function limitUse(tables: Tables, functionIds: readonly string[]): LimitUse {
  const { jobs, flowRules, nowMs } = tables;
  const wanted = [...new Set(functionIds)].sort(byText);
  const inLanes = wanted.map((id) => [...jobs.ofFunction(id)].filter(({ lane }) => lane !== ""));
  return {
    nowMs: Math.round(nowMs),
    held: inLanes.flatMap((own) => heldOf(own.filter(({ leasedBy }) => leasedBy !== null))),
    waiting: inLanes.flatMap((own) =>
      waitingOf(own.filter(({ leasedBy, availableMs }) => leasedBy === null && availableMs <= nowMs)),
    ),
    paced: wanted.flatMap((functionId) => flowRules.pacedOf(functionId, MAX_LIMITED_JOBS)),
  };
}

/** A job that is made with its lease has no claim. */
const claimedMs = (job: JobRow): number => job.claimedMs ?? job.createdMs;

const heldOf = (own: JobRow[]): LimitedJob[] =>
  own
    .sort((a, b) => claimedMs(a) - claimedMs(b) || byText(a.id, b.id))
    .slice(0, MAX_LIMITED_JOBS)
    .map((job) => limitedJob(job, claimedMs(job)));

const waitingOf = (own: JobRow[]): LimitedJob[] =>
  own
    .sort((a, b) => b.priority - a.priority || a.availableMs - b.availableMs || byText(a.id, b.id))
    .slice(0, MAX_LIMITED_JOBS)
    .map((job) => limitedJob(job, job.availableMs));

function limitedJob({ runId, functionId, slotA, slotB, throttle }: JobRow, sinceMs: number): LimitedJob {
  const slots = [slotA, slotB].filter((slot) => slot !== null);
  return { runId, functionId, slots, throttle, sinceMs: Math.round(sinceMs) };
}

export function listCrons({ crons, jobs }: Tables): ListedCron[] {
  return [...crons.rows.values()]
    .sort((a, b) => byText(a.functionId, b.functionId) || byText(a.cron, b.cron))
    .slice(0, MAX_LISTED_CRONS)
    .map(({ functionId, cron, nextMs }) => {
      const job = jobs.get({ runId: "", kind: "cron", key: cronKey(functionId, cron) });
      return { functionId, cron, tickMs: Math.round(nextMs), dueMs: job ? Math.round(job.availableMs) : null };
    });
}
