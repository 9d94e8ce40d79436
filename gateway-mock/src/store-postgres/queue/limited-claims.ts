/**
 * Claims within limits, counted in one statement under locks of their own, whichever gateway claims at the same time
 * (docs/decisions/0024).
 */
import type { ClaimLimits, LeaseExtension, LimitedClaim, LimitedClaimRequest } from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import { booleanArray, isInTime, isRegistry, msOf, numberArray, rowsOf, textArray } from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

import { CLAIMED_BEFORE, type TakenRow, withRuns } from "./claim-rows.ts";
import { type DueBounds, lookColumns, PRIORITIES_SINCE, type TakenJob } from "./due-bounds.ts";

/**
 * All jobs of `w.function_id` are in one lane, none of its leases has ended, and one of the lane's slots is full: there is
 * nothing to claim. A claim comes to the same, but costs ten times as much, and one place mostly ends many waits for it.
 * Each part asks for the first one of an index: Postgres would answer EXISTS from all jobs that there are, for later.
 */
const IS_FULL = `${isRegistry("$5")} AND NOT w.is_paced AND (SELECT q.id FROM holdfast.queue q
    WHERE q.function_id = w.function_id AND q.lane <> '' AND q.leased_by IS NOT NULL AND q.available_at <= now()
    ORDER BY q.available_at LIMIT 1) IS NULL
  AND EXISTS (
    SELECT FROM (SELECT q.lane, q.slot_a, q.slot_b FROM holdfast.queue q
      WHERE q.function_id || '' = w.function_id AND q.lane <> '' ORDER BY q.lane LIMIT 1) l
    WHERE l.lane = (SELECT q.lane FROM holdfast.queue q
        WHERE q.function_id || '' = w.function_id AND q.lane <> '' ORDER BY q.lane DESC LIMIT 1)
      AND (l.slot_a IS NOT NULL AND holdfast.taken(l.slot_a) >= w.cap_a OR l.slot_b IS NOT NULL AND holdfast.taken(l.slot_b) >= w.cap_b))`;

/** By function and priority the first job that is due, and whether there is no room for any. */
const LOOK = `SELECT w.function_id, due.priority, ${msOf("due.available_at")} AS due_ms, ${IS_FULL} AS is_full
FROM ${rowsOf(
  {
    function_id: "$1::text[]",
    cap_a: "$2::int[]",
    cap_b: "$3::int[]",
    is_paced: "$4::bool[]",
    ...lookColumns(6),
  },
  "w",
)} CROSS JOIN LATERAL (
  SELECT p.priority, first.available_at FROM ${PRIORITIES_SINCE} CROSS JOIN LATERAL (
    SELECT q.available_at FROM holdfast.queue q WHERE q.function_id = w.function_id AND q.priority = p.priority
      AND q.available_at >= p.since AND q.available_at <= now() ORDER BY q.available_at LIMIT 1) first) due`;

interface FirstDue extends TakenJob {
  readonly is_full: boolean;
}

/** No registry has it, so that what rests on it is refused. */
const NO_VERSION = -1;

const CLAIM = `SELECT * FROM holdfast.claim_within_limits(now(), $1, $2, $3, $4::bool, $5::text[], $6::int[], $7::float8[],
  $8::int[], $9::int[], $10::float8[], $11::int[], CASE WHEN ${isInTime("$15")} THEN $12::bigint ELSE ${NO_VERSION} END,
  $13::int[], $14::int[])`;

const MS_UNTIL = "SELECT date_part('epoch', now()) * 1000 AS now_ms";

const NOTHING: LimitedClaim = { jobs: [], blocked: [], retryInMs: null };

/** `start` = from which lane on is looked, when there are more than one claim can look at. */
export async function claimLimited(
  database: Pick<Database, "query" | "retrying" | "settled">,
  bounds: DueBounds,
  claimId: string,
  start: string,
  request: LimitedClaimRequest,
): Promise<LimitedClaim> {
  const asked = request.wants.filter((want) => want.limit > 0);
  if (asked.length === 0) return NOTHING;
  const { wants, blocked } = await lookFor(database.query, bounds, asked, request.registryVersion ?? null);
  if (wants.length === 0) return { ...NOTHING, blocked };
  const params = [
    request.gatewayId,
    claimId,
    start,
    wants.some((want) => want.limits.shared),
    textArray(wants.map((want) => want.functionId)),
    numberArray(wants.map((want) => want.limit)),
    numberArray(wants.map((want) => want.leaseMs)),
    ...capParams(wants.map((want) => want.limits)),
    numberArray(wants.map((want) => want.limits.throttle?.everyMs ?? null)),
    numberArray(wants.map((want) => want.limits.throttle?.burst ?? null)),
    request.registryVersion ?? null,
    numberArray(wants.map(({ room }) => (room === undefined ? null : room + 1))),
    numberArray(request.rooms ?? []),
    request.notAfterMs ?? null,
  ];
  const everyMs = new Map(wants.map(({ functionId, limits }) => [functionId, limits.throttle?.everyMs ?? 0]));
  return database.retrying("Jobs could not be claimed", async (query, attempt) => {
    await database.settled();
    // The statement may have been carried out although its answer was lost.
    const before = attempt === 1 ? [] : await query<TakenRow>(CLAIMED_BEFORE, [claimId, request.gatewayId]);
    if (before.length > 0) return { jobs: await withRuns(query, before), blocked, retryInMs: null };
    return claimed(query, await query<TakenRow>(CLAIM, params), blocked, everyMs);
  });
}

/** Of which of these something is due and may have room; and those that are full. */
async function lookFor<Want extends LimitedClaimRequest["wants"][number]>(
  query: Query,
  bounds: DueBounds,
  asked: readonly Want[],
  registryVersion: number | null,
): Promise<{ readonly wants: readonly Want[]; readonly blocked: readonly string[] }> {
  const ids = asked.map((want) => want.functionId);
  const limits = asked.map((want) => want.limits);
  const paced = booleanArray(limits.map(({ throttle }) => throttle !== null));
  const rows = await bounds.look(ids, (look) =>
    query<FirstDue>(LOOK, [textArray(ids), ...capParams(limits), paced, registryVersion, ...look]),
  );
  // What is due before the first one was taken, by whichever gateway.
  bounds.recordTaken(rows);
  const due = new Map(rows.map((row) => [row.function_id, row.is_full]));
  return {
    wants: asked.filter((want) => due.get(want.functionId) === false),
    blocked: ids.filter((id) => due.get(id)),
  };
}

async function claimed(
  query: Query,
  rows: readonly TakenRow[],
  full: readonly string[],
  everyMs: ReadonlyMap<string, number>,
): Promise<LimitedClaim> {
  const blocked = rows.filter((row) => row.id === null);
  const nextMs = Math.min(...blocked.map((row) => row.due_ms ?? Number.POSITIVE_INFINITY));
  const jobs = await withRuns(
    query,
    rows.filter((row) => row.id !== null),
    undefined,
    (functionId) => everyMs.get(functionId) ?? 0,
  );
  let retryInMs: number | null = null;
  if (Number.isFinite(nextMs)) {
    const [row] = await query<{ now_ms: number }>(MS_UNTIL);
    retryInMs = Math.max(1, Math.ceil(nextMs - Number(row?.now_ms)));
  }
  return { jobs, blocked: [...full, ...blocked.map((row) => row.function_id)], retryInMs };
}

const capParams = (limits: readonly (ClaimLimits | null | undefined)[]): [string, string] => [
  numberArray(limits.map((one) => one?.slots[0] ?? null)),
  numberArray(limits.map((one) => one?.slots[1] ?? null)),
];

const TAKE_UP = `SELECT * FROM holdfast.take_up(now(), $1::bool, $2::text[], $3::text[], $4::int[], $5::text[], $6::float8[],
  $7::int[], $8::int[])`;

/** Of leases that were not extended those that were only returned, where there is still a place. */
export async function resumeLeases(query: Query, leases: readonly LeaseExtension[]): Promise<ReadonlySet<string>> {
  const rows = await query<{ id: string; epoch: number }>(TAKE_UP, [
    leases.some((lease) => lease.limits?.shared),
    textArray([...new Set(leases.map((lease) => lease.functionId ?? ""))]),
    textArray(leases.map((lease) => lease.jobId)),
    numberArray(leases.map((lease) => lease.epoch)),
    textArray(leases.map((lease) => lease.gatewayId)),
    numberArray(leases.map((lease) => lease.leaseMs)),
    ...capParams(leases.map((lease) => lease.limits)),
  ]);
  return new Set(rows.map((row) => `${row.id}.${row.epoch}`));
}
