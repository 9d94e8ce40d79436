/**
 * Claims within limits, counted in one statement under locks of their own, whichever gateway claims at the same time
 * (docs/decisions/0024).
 */
import type { ClaimLimits, LeaseExtension, LimitedClaim, LimitedClaimRequest } from "@holdfast/store";
import type { Database, Query } from "../connection/database.ts";
import { numberArray, textArray } from "../connection/pg-values.ts";

import { CLAIMED_BEFORE, type TakenRow, withRuns } from "./claim-rows.ts";
import { prioritiesSince, wholeLook } from "./due-bounds.ts";

/** Which of these functions have something due at all. */
const ANY_DUE = `SELECT w.function_id AS f FROM unnest($1::text[]) AS w(function_id) WHERE EXISTS (
  SELECT FROM ${prioritiesSince(2)} CROSS JOIN LATERAL (SELECT FROM holdfast.queue q
    WHERE q.function_id = w.function_id AND q.priority = p.priority AND q.available_at <= now() LIMIT 1) due)`;

const CLAIM = `SELECT * FROM holdfast.claim_limited(now(), $1, $2, $3, $4::bool, $5::text[], $6::int[], $7::float8[], $8::int[],
  $9::int[], $10::float8[], $11::int[], $12::bigint)`;

const MS_UNTIL = "SELECT date_part('epoch', now()) * 1000 AS now_ms";

const NOTHING: LimitedClaim = { jobs: [], blocked: [], retryInMs: null };

/** `start` = from which lane on is looked, when there are more than one claim can look at. */
export async function claimLimited(
  database: Pick<Database, "query" | "retrying">,
  claimId: string,
  start: string,
  request: LimitedClaimRequest,
): Promise<LimitedClaim> {
  const asked = request.wants.filter((want) => want.limit > 0);
  if (asked.length === 0) return NOTHING;
  const ids = asked.map((want) => want.functionId);
  const due = new Set(
    (await database.query<{ f: string }>(ANY_DUE, [textArray(ids), ...wholeLook(ids)])).map((row) => row.f),
  );
  const wants = asked.filter((want) => due.has(want.functionId));
  if (wants.length === 0) return NOTHING;
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
  ];
  return database.retrying("Jobs could not be claimed", async (query, attempt) => {
    // The statement may have been carried out although its answer was lost.
    const before = attempt === 1 ? [] : await query<TakenRow>(CLAIMED_BEFORE, [claimId, request.gatewayId]);
    if (before.length > 0) return { ...NOTHING, jobs: await withRuns(query, before) };
    return claimed(query, await query<TakenRow>(CLAIM, params));
  });
}

async function claimed(query: Query, rows: readonly TakenRow[]): Promise<LimitedClaim> {
  const blocked = rows.filter((row) => row.id === null);
  const nextMs = Math.min(...blocked.map((row) => row.due_ms ?? Number.POSITIVE_INFINITY));
  const jobs = await withRuns(
    query,
    rows.filter((row) => row.id !== null),
  );
  let retryInMs: number | null = null;
  if (Number.isFinite(nextMs)) {
    const [row] = await query<{ now_ms: number }>(MS_UNTIL);
    retryInMs = Math.max(1, Math.ceil(nextMs - Number(row?.now_ms)));
  }
  return { jobs, blocked: blocked.map((row) => row.function_id), retryInMs };
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

export async function adoptLanes(query: Query, functionIds: readonly string[]): Promise<void> {
  if (functionIds.length === 0) return;
  await query(
    `UPDATE holdfast.queue SET lane = '-' WHERE id IN (SELECT id FROM holdfast.queue
WHERE function_id = ANY($1::text[]) AND lane = '' ORDER BY id FOR UPDATE SKIP LOCKED)`,
    [textArray(functionIds)],
  );
}
