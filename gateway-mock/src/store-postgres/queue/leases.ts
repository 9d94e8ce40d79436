/** Statements that claim, extend, release and recall jobs without limits; with limits see `limited-claims.ts`. */
import type { ClaimedJob, ClaimRequest, Fence, LeaseExtension, LeaseRelease, RecallWant } from "@holdfast/store";
import type { Database } from "../connection/database.ts";
import {
  booleanArray,
  intervalOf,
  isInTime,
  isRegistry,
  msOf,
  msSince,
  numberArray,
  rowsOf,
  textArray,
} from "../connection/pg-values.ts";
import type { Query } from "../connection/query.ts";

import {
  amongThe,
  CLAIMED_BEFORE,
  heldJobs,
  inLockOrder,
  JOB_COLUMNS,
  LEASE_LOST,
  type TakenRow,
  withRuns,
} from "./claim-rows.ts";
import { type DueBounds, lookColumns, PRIORITIES_SINCE } from "./due-bounds.ts";
import { resumeLeases } from "./limited-claims.ts";

/**
 * Of a function with many priorities: a place in the queue before which there are several times as many due jobs as are
 * wanted, since other claims may have locked some of them. Jobs behind it need not be locked: of each priority it would
 * be as many as are wanted of all. It is found from the first few jobs of each. Null = no such place is known.
 */
const ENOUGH = `SELECT h.place FROM p CROSS JOIN LATERAL (
      SELECT q.available_at - p.priority * interval '1 second' AS place FROM holdfast.queue q
      WHERE q.function_id = w.function_id AND q.priority = p.priority AND q.available_at >= p.since AND q.available_at <= now()
      ORDER BY q.available_at LIMIT GREATEST(8 * w.most / (SELECT count(*) FROM p), 4)
    ) h WHERE (SELECT count(*) FROM p) > 4 ORDER BY h.place OFFSET 4 * w.most LIMIT 1`;

const WANT_COLUMNS = {
  function_id: "$1::text[]",
  most: "$2::int[]",
  lease_ms: "$3::float8[]",
  shared: "$11::int[]",
  room: "$12::int[]",
  ...lookColumns(7),
};

/**
 * Select and update in one statement. Due = pending, released, or its lease has ended: one condition. What was leased
 * and not returned counts as lost and is recorded. Of jobs that share a room those that are first in order are taken.
 */
const CLAIM = `WITH known AS MATERIALIZED (
  SELECT holdfast.expect(${isRegistry("$6")} AND ${isInTime("$13")})
), due AS MATERIALIZED (
  SELECT s.* FROM (SELECT d.*, w.room,
    row_number() OVER (PARTITION BY w.shared ORDER BY d.available_at - d.priority * interval '1 second', d.id) AS place
  FROM known CROSS JOIN ${rowsOf(WANT_COLUMNS, "w")}
  CROSS JOIN LATERAL (
    WITH p AS MATERIALIZED (SELECT * FROM ${PRIORITIES_SINCE}), enough AS MATERIALIZED (${ENOUGH})
    SELECT x.* FROM p CROSS JOIN LATERAL (
      SELECT q.id, q.priority, q.available_at, q.leased_by, q.lost, q.epoch, q.unplaced_since, w.lease_ms FROM holdfast.queue q
      WHERE q.function_id = w.function_id AND q.priority = p.priority AND q.available_at >= p.since
        AND q.available_at <= LEAST(now(), (SELECT place FROM enough) + p.priority * interval '1 second')
      ORDER BY q.available_at LIMIT w.most FOR UPDATE SKIP LOCKED
    ) x
    ORDER BY x.available_at - x.priority * interval '1 second' LIMIT w.most
  ) d) s WHERE s.room IS NULL OR s.place <= s.room
), taken AS (
  UPDATE holdfast.queue q SET epoch = q.epoch + 1, available_at = now() + ${intervalOf("due.lease_ms")},
    leased_by = $4, claimed_at = now(), claim_id = $5, lost = false,
    unplaced_since = NULL, wanted_version = NULL
  FROM due WHERE q.id = due.id AND ${amongThe("due")}
  RETURNING ${JOB_COLUMNS}, ${msOf("due.available_at")} AS due_ms, (due.leased_by IS NOT NULL OR due.lost) AS was_lost,
    due.leased_by AS lost_by,
    CASE WHEN due.epoch = 0 THEN 0 ELSE ${msSince("due.unplaced_since")} END AS unplaced_ms
), noted AS (
  INSERT INTO holdfast.run_log (run_id, at, facts, data)
  SELECT run_id, now(), ${LEASE_LOST}, json_build_object('kind', kind, 'key', key, 'gatewayId', lost_by)::text
  FROM taken WHERE was_lost AND run_id <> ''
)
SELECT * FROM taken ORDER BY due_ms - priority * 1000.0, id`;

export async function claim(
  database: Pick<Database, "retrying" | "settled">,
  bounds: DueBounds,
  claimId: string,
  request: ClaimRequest,
): Promise<ClaimedJob[]> {
  const wants = request.wants.filter((want) => want.limit > 0);
  if (wants.length === 0) return [];
  const functionIds = wants.map((want) => want.functionId);
  const params = [
    textArray(functionIds),
    numberArray(wants.map((want) => want.limit)),
    numberArray(wants.map((want) => want.leaseMs ?? request.leaseMs)),
    request.gatewayId,
    claimId,
    request.registryVersion ?? null,
  ];
  const { rooms = [] } = request;
  const last = [
    numberArray(wants.map(({ room }) => room ?? null)),
    numberArray(wants.map(({ room }) => (room === undefined ? null : (rooms[room] ?? 0)))),
    request.notAfterMs ?? null,
  ];
  return database.retrying("Jobs could not be claimed", async (query, attempt) => {
    await database.settled();
    // The statement may have been carried out although its answer was lost.
    const before = attempt === 1 ? [] : await query<TakenRow>(CLAIMED_BEFORE, [claimId, request.gatewayId]);
    if (before.length > 0) return withRuns(query, before, request.hasRunOf);
    const rows = await bounds.look(functionIds, (look) => query<TakenRow>(CLAIM, [...params, ...look, ...last]));
    bounds.recordTaken(rows);
    return withRuns(query, rows, request.hasRunOf);
  });
}

const EXTEND = `WITH ${heldJobs(
  {
    id: "$1::text[]",
    epoch: "$2::int[]",
    gateway_id: "$3::text[]",
    lease_ms: "$4::float8[]",
    step: "$5::int[]",
  },
  "q.lane = '' OR q.leased_by IS NOT NULL",
)}
UPDATE holdfast.queue q SET available_at = now() + ${intervalOf("held.lease_ms")}, leased_by = held.gateway_id, lost = false,
  epoch = q.epoch + held.step, claimed_at = CASE held.step WHEN 0 THEN q.claimed_at ELSE now() END
FROM held WHERE q.id = held.id AND ${amongThe("held")}
RETURNING q.id, held.epoch`;

/** Its limits may have changed while it was leased: it is in another lane then. */
const IS_PACED_AGAIN = "held.lane IS NOT NULL AND q.lane = split_part(held.lane, '~', 1)";

const RELEASE = `WITH ${heldJobs(
  {
    id: "$1::text[]",
    epoch: "$2::int[]",
    held_by: "$3::text[]",
    lost: "$4::bool[]",
    hold_ms: "$5::float8[]",
    unplaced_ms: "$6::float8[]",
    wanted: "$7::text[]",
    lane: "$8::text[]",
    throttle: "$9::text[]",
    every_ms: "$10::float8[]",
  },
  "q.leased_by = COALESCE(n.held_by, q.leased_by)",
)}, unpaced AS MATERIALIZED (
  SELECT q.function_id, held.throttle, q.claim_id, sum(held.every_ms) AS ms FROM held JOIN holdfast.queue q ON q.id = held.id
  WHERE held.throttle IS NOT NULL AND ${amongThe("held")} GROUP BY q.function_id, held.throttle, q.claim_id
), paces AS MATERIALIZED (
  -- Only of the throttle's last claim: what has started since was not counted from there (docs/decisions/0178).
  SELECT g.function_id, g.key, unpaced.ms FROM unpaced JOIN holdfast.gates g
    ON g.function_id = unpaced.function_id AND g.kind = 'throttle' AND g.key = unpaced.throttle AND g.data = unpaced.claim_id
  ORDER BY g.function_id, g.key FOR UPDATE OF g
), repaced AS (
  UPDATE holdfast.gates g SET at = g.at - ${intervalOf("paces.ms")}, expires_at = g.expires_at - ${intervalOf("paces.ms")}
  FROM paces WHERE g.function_id = paces.function_id AND g.kind = 'throttle' AND g.key = paces.key
)
UPDATE holdfast.queue q SET available_at = now() + ${intervalOf("held.hold_ms")}, leased_by = NULL, lost = held.lost,
  lane = CASE WHEN ${IS_PACED_AGAIN} THEN held.lane ELSE q.lane END,
  throttle = CASE WHEN ${IS_PACED_AGAIN} THEN held.throttle ELSE q.throttle END,
  unplaced_since = now() - ${intervalOf("held.unplaced_ms")},
  wanted_version = CASE WHEN held.hold_ms > 0 THEN
    COALESCE(held.wanted, (SELECT r.app_version FROM holdfast.runs r WHERE r.id = q.run_id)) END
FROM held WHERE q.id = held.id AND ${amongThe("held")}
RETURNING q.id, held.epoch`;

export async function extendLeases(query: Query, leases: readonly LeaseExtension[]): Promise<boolean[]> {
  const changed = await change(query, EXTEND, leases, (all) => [
    textArray(all.map((lease) => lease.gatewayId)),
    numberArray(all.map((lease) => lease.leaseMs)),
    numberArray(all.map(({ next }) => (next ? 1 : 0))),
  ]);
  const left = leases.filter((lease, index) => !changed[index] && lease.functionId !== undefined);
  if (left.length === 0) return changed;
  const taken = await resumeLeases(query, left);
  return leases.map((lease, index) => changed[index] === true || taken.has(`${lease.jobId}.${lease.epoch}`));
}

export function releaseLeases(query: Query, leases: readonly LeaseRelease[]): Promise<boolean[]> {
  return change(query, RELEASE, leases, (all) => [
    textArray(all.map((lease) => lease.heldBy ?? null)),
    booleanArray(all.map((lease) => lease.lost === true)),
    numberArray(all.map((lease) => lease.holdMs ?? 0)),
    numberArray(all.map((lease) => lease.unplaced?.sinceMs ?? null)),
    textArray(all.map((lease) => lease.unplaced?.version ?? null)),
    textArray(all.map((lease) => lease.paced?.lane ?? null)),
    textArray(all.map((lease) => lease.paced?.throttle ?? null)),
    numberArray(all.map((lease) => lease.paced?.everyMs ?? null)),
  ]);
}

/**
 * Only what was put off names a version that it waits for, and is in these indexes. It is taken out of them as it is
 * recalled: however much was, the next recall does not meet it.
 */
const RECALL = `WITH held AS MATERIALIZED (
  SELECT min(w.n) AS n, x.id FROM unnest($1::text[], $2::text[], $3::int[]) WITH ORDINALITY AS w(function_id, app_version, most, n)
  CROSS JOIN LATERAL (
    SELECT * FROM (SELECT q.id FROM holdfast.queue q
      WHERE q.function_id = w.function_id AND q.wanted_version = w.app_version AND q.leased_by IS NULL
      ORDER BY q.created_at, q.id LIMIT w.most FOR UPDATE SKIP LOCKED) of_version
    UNION ALL
    SELECT * FROM (SELECT q.id FROM holdfast.queue q
      WHERE w.app_version IS NULL AND q.function_id || '' = w.function_id AND q.unplaced_since IS NOT NULL
        AND q.wanted_version IS NOT NULL AND q.leased_by IS NULL
      ORDER BY q.created_at, q.id LIMIT w.most FOR UPDATE SKIP LOCKED) of_none) x
  GROUP BY x.id
)
UPDATE holdfast.queue q SET available_at = LEAST(q.created_at, now()), wanted_version = NULL
FROM held WHERE q.id = held.id AND ${amongThe("held")}
RETURNING held.n::int AS n`;

export async function recallJobs(
  query: Query,
  bounds: Pick<DueBounds, "forget">,
  wants: readonly RecallWant[],
): Promise<number[]> {
  const counts = wants.map(() => 0);
  if (wants.length === 0) return counts;
  const rows = await query<{ n: number }>(RECALL, [
    textArray(wants.map((want) => want.functionId)),
    textArray(wants.map((want) => want.appVersion)),
    numberArray(wants.map((want) => want.limit)),
  ]);
  // They are due since they were created: before what has been taken since.
  if (rows.length > 0) bounds.forget();
  for (const { n } of rows) counts[n - 1] = (counts[n - 1] ?? 0) + 1;
  return counts;
}

/** Gateways say every 5 s that they are there. */
const GATEWAY_GONE_MS = 7_000;

/** The whole queue is read for it, once: only where no other gateway is there. */
const RENEW = `WITH held AS MATERIALIZED (
  SELECT id FROM holdfast.queue
  WHERE leased_by IS NOT NULL AND kind IN ('pass', 'step') AND available_at < now() + ${intervalOf("$2::float8")}
    AND NOT EXISTS (SELECT FROM holdfast.gateways
      WHERE id <> $1 AND seen_at > now() - interval '${GATEWAY_GONE_MS} ms')
  ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE holdfast.queue q SET available_at = now() + ${intervalOf("$2::float8")}
FROM held WHERE q.id = held.id AND ${amongThe("held")} RETURNING q.id`;

export async function renewLeases(query: Query, gatewayId: string, leaseMs: number): Promise<number> {
  return (await query(RENEW, [gatewayId, leaseMs])).length;
}

async function change<Lease extends Fence>(
  query: Query,
  text: string,
  leases: readonly Lease[],
  more: (inOrder: readonly Lease[]) => readonly string[],
): Promise<boolean[]> {
  if (leases.length === 0) return [];
  const inOrder = inLockOrder(leases);
  const rows = await query<{ id: string; epoch: number }>(text, [
    textArray(inOrder.map((lease) => lease.jobId)),
    numberArray(inOrder.map((lease) => lease.epoch)),
    ...more(inOrder),
  ]);
  const changed = new Set(rows.map((row) => `${row.id}.${row.epoch}`));
  return leases.map((lease) => changed.has(`${lease.jobId}.${lease.epoch}`));
}

const NEXT_DUE = `SELECT min(GREATEST(date_part('epoch', f.available_at - clock_timestamp()) * 1000, 0))::float8 AS due_in_ms
FROM ${rowsOf({ function_id: "$1::text[]", ...lookColumns(2) }, "w")} CROSS JOIN ${PRIORITIES_SINCE} CROSS JOIN LATERAL (
  SELECT q.available_at FROM holdfast.queue q WHERE q.function_id = w.function_id AND q.priority = p.priority
    AND q.available_at >= p.since
  ORDER BY q.available_at LIMIT 1) f`;

export async function nextDueInMs(
  query: Query,
  bounds: DueBounds,
  functionIds: readonly string[],
): Promise<number | null> {
  if (functionIds.length === 0) return null;
  const [row] = await bounds.look(functionIds, (look) =>
    query<{ due_in_ms: number | null }>(NEXT_DUE, [textArray(functionIds), ...look]),
  );
  // The database's times have microseconds; what a float adds to them is not waited for.
  return row?.due_in_ms == null ? null : Math.ceil(Number(row.due_in_ms.toFixed(3)));
}
