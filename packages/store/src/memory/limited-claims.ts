/** Claims of functions with limits, in memory: what `claim_limited` of the Postgres schema does in SQL. */
import type { ClaimLimits, LeaseRelease, LimitedClaimRequest } from "../port/work.ts";
import type { FlowRuleRows } from "./flow-rule-rows.ts";
import type { Queue } from "./queue.ts";
import { byText, type JobRow, placeOf, type Taken } from "./rows.ts";
import type { Runs } from "./runs.ts";

type Want = LimitedClaimRequest["wants"][number];

export interface LimitedTaken {
  readonly taken: readonly Taken[];
  readonly blocked: readonly string[];
  readonly retryInMs: number | null;
}

/** Jobs of functions with limits, as the schema's function `claim_limited` gives them out. */
export function claimLimited(
  { queue, flowRules, nowMs }: { readonly queue: Queue; readonly flowRules: FlowRuleRows; readonly nowMs: number },
  { gatewayId, wants, rooms = [] }: LimitedClaimRequest,
): LimitedTaken {
  const claimId = queue.newClaimId();
  const taken: Taken[] = [];
  const blocked: string[] = [];
  const left = [...rooms];
  let nextMs = Number.POSITIVE_INFINITY;
  for (const asked of wants) {
    const most = asked.room === undefined ? asked.limit : (left[asked.room] ?? 0);
    const want = { ...asked, limit: Math.min(asked.limit, most) };
    if (want.limit <= 0 || queue.due(want.functionId).length === 0) continue;
    const chosen = choose(queue, flowRules, nowMs, want);
    if (want.room !== undefined) left[want.room] = most - chosen.length;
    const paced = new Map<string, number>();
    const took = chosen.map((job) => {
      if (job.throttle !== null && want.limits.throttle) paced.set(job.throttle, (paced.get(job.throttle) ?? 0) + 1);
      const everyMs = want.limits.throttle?.everyMs ?? 0;
      const by = job.throttle === null ? null : { lane: job.lane, throttle: job.throttle, everyMs };
      // What has started is not paced again.
      job.lane = job.lane.split("~", 1)[0] ?? "";
      job.throttle = null;
      job.claimId = claimId;
      return { ...queue.take(job, gatewayId, want.leaseMs), paced: by };
    });
    const orderOf = ({ job, dueMs }: Taken): number => dueMs - job.priority * 1000;
    taken.push(...took.sort((a, b) => orderOf(a) - orderOf(b) || byText(a.job.id, b.job.id)));
    const { functionId } = want;
    for (const [key, count] of paced)
      flowRules.pace({ functionId, key }, count * (want.limits.throttle?.everyMs ?? 0), claimId);
    if (queue.due(want.functionId).every(({ lane }) => lane === "")) continue;
    blocked.push(want.functionId);
    nextMs = Math.min(nextMs, flowRules.nextStartMs(want.functionId, toleranceMs(want.limits)));
  }
  return { taken, blocked, retryInMs: Number.isFinite(nextMs) ? Math.max(1, Math.ceil(nextMs - nowMs)) : null };
}

interface ReleaseTables {
  readonly queue: Queue;
  readonly flowRules: FlowRuleRows;
  readonly runs: Pick<Runs, "keepStart">;
}

/** Starts that no worker has had are given back; of what is lost it stays known when its run began. */
export function releaseLeases({ queue, flowRules, runs }: ReleaseTables, releases: readonly LeaseRelease[]): boolean[] {
  const released = queue.release(releases);
  for (const [index, { jobId, lost }] of releases.entries()) {
    const job = queue.rows.get(jobId);
    if (released[index] && lost && job) runs.keepStart(job);
  }
  for (const [index, { jobId, paced }] of releases.entries()) {
    const job = queue.rows.get(jobId);
    if (!released[index] || !job || !paced) continue;
    flowRules.unpace({ functionId: job.functionId, key: paced.throttle }, paced.everyMs, job.claimId);
  }
  return released;
}

const toleranceMs = ({ throttle }: ClaimLimits): number => (throttle ? (throttle.burst - 1) * throttle.everyMs : 0);

interface Room {
  readonly job: JobRow;
  readonly freeA: number;
  readonly freeB: number;
  readonly starts: number;
}

/** First what has its place already and whose lease ended; then the longest due that find all their places free. */
function choose(queue: Queue, flowRules: FlowRuleRows, nowMs: number, { functionId, limit, limits }: Want): JobRow[] {
  const due = queue.due(functionId).filter(({ lane }) => lane !== "");
  const held = due
    .filter(({ leasedBy }) => leasedBy !== null)
    .sort((a, b) => a.availableMs - b.availableMs)
    .slice(0, limit);
  const waiting = due.filter(({ leasedBy }) => leasedBy === null);
  const [capA, capB] = limits.slots;
  const free = (slot: string | null, cap: number | undefined): number =>
    slot === null || cap === undefined ? limit : cap - queue.taken(slot);
  const starts = (throttle: string | null): number => {
    if (throttle === null || !limits.throttle) return limit;
    const aheadMs = Math.max((flowRules.startMs(functionId, throttle) ?? nowMs) - nowMs, 0);
    return Math.floor((toleranceMs(limits) - aheadMs) / limits.throttle.everyMs + 1e-6) + 1;
  };
  const fresh = [...new Set(waiting.map(({ lane }) => lane))].flatMap((lane): Room[] => {
    const jobs = waiting.filter((job) => job.lane === lane);
    const { slotA, slotB, throttle } = jobs[0] as JobRow;
    const room = { freeA: free(slotA, capA), freeB: free(slotB, capB), starts: starts(throttle) };
    const most = Math.max(0, Math.min(limit, room.freeA, room.freeB, room.starts));
    return jobs.slice(0, most).map((job) => ({ job, ...room }));
  });
  const placed = fresh.sort((a, b) => placeOf(a.job) - placeOf(b.job) || byText(a.job.id, b.job.id));
  const byB = withRoom(
    placed,
    ({ job }) => job.slotB,
    ({ freeB }) => freeB,
  );
  const byA = withRoom(
    byB,
    ({ job }) => job.slotA,
    ({ freeA }) => freeA,
  );
  const byStart = withRoom(
    byA,
    ({ job }) => job.throttle,
    (room) => room.starts,
  );
  return [...held, ...byStart.slice(0, Math.max(limit - held.length, 0)).map(({ job }) => job)];
}

/** The first so many of each key; all of those without one. */
function withRoom(rows: readonly Room[], keyOf: (row: Room) => string | null, most: (row: Room) => number): Room[] {
  const counts = new Map<string, number>();
  return rows.filter((row) => {
    const key = keyOf(row);
    if (key === null) return true;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return (counts.get(key) ?? 0) <= most(row);
  });
}
