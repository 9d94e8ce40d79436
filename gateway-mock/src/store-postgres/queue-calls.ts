/** The store's calls about the queue: claims and leases, kept in memory for a database that forgets them. */
import type { Random } from "@holdfast/core";
import type { ClaimedJob, Store } from "@holdfast/store";
import type { Database } from "./connection/database.ts";
import { msOf } from "./connection/pg-values.ts";
import type { Query } from "./connection/query.ts";
import { earlierEvents } from "./earlier-events.ts";
import { DueBounds } from "./queue/due-bounds.ts";
import type { KeptClaims } from "./queue/kept-claims.ts";
import { claim, extendLeases, nextDueInMs, recallJobs, releaseLeases, renewLeases } from "./queue/leases.ts";
import { claimLimited } from "./queue/limited-claims.ts";
import { keepLostStarts } from "./queue/lost-starts.ts";
import { loadRuns } from "./run-loader.ts";
import { coalescedWaits } from "./waits.ts";

/** From where on each kind of claim looks. */
export interface Bounds {
  readonly plain: DueBounds;
  readonly limited: DueBounds;
  readonly all: Pick<DueBounds, "forget">;
}

export function allBounds({ options: { monotonicMs } }: Database): Bounds {
  const plain = new DueBounds(monotonicMs);
  const limited = new DueBounds(monotonicMs);
  return {
    plain,
    limited,
    all: {
      forget() {
        plain.forget();
        limited.forget();
      },
    },
  };
}

export interface QueueParts {
  readonly nextId: () => string;
  readonly random: Random;
  readonly bounds: Bounds;
  readonly claims: KeptClaims;
}

export function queueOf(
  database: Database,
  { nextId, random, bounds, claims }: QueueParts,
): Pick<
  Store,
  | "claim"
  | "claimLimited"
  | "extendLeases"
  | "releaseLeases"
  | "renewLeases"
  | "recallJobs"
  | "finishJob"
  | "findWaits"
  | "waitPaths"
  | "scanEvents"
  | "writesUnderWay"
  | "loadRuns"
  | "nextDueInMs"
  | "nowMs"
> {
  const { query } = database;
  /** What is said of a lease may rest on a claim that the database has forgotten, and is about to be sent again. */
  const settled = (): Promise<void> => database.retrying("Leases could not be changed", () => database.doubts.settle());
  const noted = <Job extends ClaimedJob>(jobs: readonly Job[], gatewayId: string, leaseMs: number): readonly Job[] => {
    claims.add(
      jobs.map(({ id: jobId, epoch }) => ({ jobId, epoch })),
      gatewayId,
      leaseMs,
    );
    return jobs;
  };
  const watching = watched(database);
  return {
    claim: async (request) =>
      noted(await claim(watching, bounds.plain, nextId(), request), request.gatewayId, request.leaseMs),
    async claimLimited(request) {
      const claimed = await claimLimited(watching, bounds.limited, nextId(), laneToStartAt(random), request);
      noted(claimed.jobs, request.gatewayId, Math.max(0, ...request.wants.map(({ leaseMs }) => leaseMs)));
      return claimed;
    },
    async extendLeases(leases) {
      await settled();
      const extended = await extendLeases(watching.query, leases);
      for (const [index, { jobId, epoch, next, gatewayId, leaseMs }] of leases.entries())
        if (extended[index]) claims.add([{ jobId, epoch: next ? epoch + 1 : epoch }], gatewayId, leaseMs);
      return extended;
    },
    recallJobs: (wants) => recallJobs(query, bounds.all, wants),
    async releaseLeases(leases) {
      await settled();
      await keepLostStarts(query, leases);
      return releaseLeases(query, leases);
    },
    async renewLeases(gatewayId, leaseMs) {
      const moved = await renewLeases(query, gatewayId, leaseMs);
      if (moved > 0) bounds.all.forget();
      return moved;
    },
    ...coalescedWaits(query),
    ...earlierEvents(query),
    loadRuns: (runIds) => loadRuns(query, runIds),
    nextDueInMs: (functionIds) => nextDueInMs(watching.query, bounds.plain, functionIds),
    async nowMs() {
      const [row] = await query<{ now_ms: number }>(`SELECT ${msOf("clock_timestamp()")} AS now_ms`);
      return Number(row?.now_ms);
    },
  };
}

/**
 * Notices when the database is long in answering what is asked of it all the time: it may have stood still, and by the
 * next claim every gateway is to have had the time to extend its leases.
 */
function watched({
  availability,
  options: { monotonicMs },
  ...database
}: Database): Pick<Database, "query" | "retrying" | "settled"> {
  const watch =
    (query: Query): Query =>
    async (text, params) => {
      const sentMs = monotonicMs();
      try {
        return await database.attended(query(text, params));
      } finally {
        availability.recordDuration(monotonicMs() - sentMs);
      }
    };
  return {
    query: watch(database.query),
    retrying: (what, work) => database.retrying(what, (query, attempt) => work(watch(query), attempt)),
    settled: () => database.settled(),
  };
}

/** Ids of lanes are hexadecimal digits of a hash, so each has its turn. */
const laneToStartAt = (random: Random): string =>
  Math.floor(random() * 65_536)
    .toString(16)
    .padStart(4, "0");
