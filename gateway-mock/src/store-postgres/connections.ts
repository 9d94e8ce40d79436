/**
 * Statements for connections and session tokens. Where thousands connect in one moment, what each of them writes shares
 * statements.
 */
import { coalesced } from "@holdfast/core";
import type { ConnectionFilter, ConnectionRecord, ListedConnection, Store } from "@holdfast/store";
import type { Database } from "./connection/database.ts";
import { intervalOf, msOf, numberArray, textArray, timeOf } from "./connection/pg-values.ts";
import type { Query } from "./connection/query.ts";

/** One at a time: what comes meanwhile is one statement more. */
const TOGETHER = { atOnce: 1, most: 256 };

export function connectionsOf(
  database: Pick<Database, "query">,
): Pick<Store, "saveConnection" | "removeConnections" | "useToken"> {
  const { query } = database;
  const useToken = coalesced(TOGETHER, (tokens: readonly Token[]) => useTokens(query, tokens));
  return {
    saveConnection: coalesced(TOGETHER, async (connections: readonly ConnectionRecord[]) => {
      await saveConnections(query, connections);
      return connections.map(() => undefined);
    }),
    removeConnections: (ids, left = []) => removeConnections(query, ids, left),
    useToken: (connectionId, lifetimeMs) => useToken({ connectionId, lifetimeMs }),
  };
}

/** In the order of their ids: two of these statements never wait for each other both. */
const SAVE = `INSERT INTO holdfast.connections (id, gateway_id, instance_id, app_ids, status, connected_at, seen_at, app_versions, takes)
SELECT id, gateway_id, instance_id, app_ids, status, ${timeOf("connected_ms")}, now(), app_versions, takes
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::text[], $8::text[])
AS w(id, gateway_id, instance_id, app_ids, status, connected_ms, app_versions, takes) ORDER BY id
ON CONFLICT (id) DO UPDATE SET
gateway_id = excluded.gateway_id, instance_id = excluded.instance_id, app_ids = excluded.app_ids,
app_versions = excluded.app_versions, takes = excluded.takes,
status = excluded.status, seen_at = excluded.seen_at`;

async function saveConnections(query: Query, saved: readonly ConnectionRecord[]): Promise<void> {
  // A statement cannot write a row twice: the last one counts.
  const connections = [...new Map(saved.map((connection) => [connection.id, connection])).values()];
  const texts = (of: (connection: ConnectionRecord) => string): string => textArray(connections.map(of));
  await query(SAVE, [
    texts(({ id }) => id),
    texts(({ gatewayId }) => gatewayId),
    texts(({ instanceId }) => instanceId),
    texts(({ appIds }) => JSON.stringify(appIds)),
    texts(({ status }) => status),
    numberArray(connections.map(({ connectedMs }) => connectedMs)),
    texts(({ versions }) => JSON.stringify(versions)),
    texts(takesOf),
  ]);
}

function takesOf({ queues, partitions, capacity, mark }: ConnectionRecord): string {
  const takes: Takes = { queues, partitions, capacity, ...(mark === undefined ? {} : { mark }) };
  return JSON.stringify(takes);
}

/** Whether the JSON of a connection's versions (`app@version` of each) has this one; no JSON is read for it. */
export const hasVersion = (versions: string, name: string): string => `strpos(${versions}, to_json(${name})::text) > 0`;

/** A deployment that is being recorded at this moment is there, and is not waited for. */
const REMOVE = `WITH gone AS (
  DELETE FROM holdfast.connections WHERE id = ANY($1::text[]) RETURNING id, app_versions
), ended AS (
  SELECT DISTINCT name FROM gone, json_array_elements_text(app_versions::json) AS v(name) WHERE id = ANY($2::text[])
) UPDATE holdfast.app_groups SET left_at = now() WHERE (app_id, hash) IN (
  SELECT g.app_id, g.hash FROM holdfast.app_groups g JOIN ended e ON g.app_id || '@' || g.version = e.name
  WHERE NOT EXISTS (SELECT FROM holdfast.connections c
    WHERE NOT c.id = ANY($1::text[]) AND ${hasVersion("c.app_versions", "e.name")})
  ORDER BY g.app_id, g.hash FOR UPDATE OF g SKIP LOCKED)`;

async function removeConnections(query: Query, ids: readonly string[], left: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  if (left.length > 0) await query(REMOVE, [textArray(ids), textArray(left)]);
  else await query("DELETE FROM holdfast.connections WHERE id = ANY($1::text[])", [textArray(ids)]);
}

export async function touchConnections(database: Database, gatewayId: string, staleAfterMs: number): Promise<void> {
  // One that is being written or removed has been seen, and is not waited for.
  await database.query(
    `UPDATE holdfast.connections SET seen_at = now() WHERE id IN (SELECT id FROM holdfast.connections
WHERE gateway_id = $1 ORDER BY id FOR UPDATE SKIP LOCKED)`,
    [gatewayId],
  );
  await database.query(
    `DELETE FROM holdfast.connections WHERE id IN (SELECT id FROM holdfast.connections
WHERE seen_at < now() - $1::float8 * interval '1 millisecond' ORDER BY id FOR UPDATE SKIP LOCKED)`,
    [staleAfterMs],
  );
}

interface Token {
  readonly connectionId: string;
  readonly lifetimeMs: number;
}

const USE = `INSERT INTO holdfast.used_tokens (connection_id, expires_at)
SELECT id, now() + ${intervalOf("lifetime_ms")} FROM unnest($1::text[], $2::float8[]) AS w(id, lifetime_ms) ORDER BY id
ON CONFLICT (connection_id) DO NOTHING RETURNING connection_id`;

/** When the answer is lost and the statement is repeated, the token counts as used: its worker asks for another one. */
async function useTokens(query: Query, tokens: readonly Token[]): Promise<readonly boolean[]> {
  const rows = await query<{ connection_id: string }>(USE, [
    textArray(tokens.map(({ connectionId }) => connectionId)),
    numberArray(tokens.map(({ lifetimeMs }) => lifetimeMs)),
  ]);
  const unused = new Set(rows.map((row) => row.connection_id));
  // Of those who come with the same one at once it is the first.
  return tokens.map(({ connectionId }) => unused.delete(connectionId));
}

/** What a connection takes: the queues, and how much; and what is to be seen of it. */
type Takes = Pick<ConnectionRecord, "queues" | "partitions" | "capacity" | "mark">;

/** Of a gateway of an earlier version, which knows no queues. */
const TAKES_ALL: Takes = { queues: ["*"], partitions: [], capacity: 0 };

interface ConnectionRow {
  readonly id: string;
  readonly gateway_id: string;
  readonly instance_id: string;
  readonly app_ids: string;
  readonly app_versions: string;
  readonly takes: string | null;
  readonly status: string;
  readonly connected_ms: number;
  readonly silent_ms: number;
}

export async function listConnections(
  { query, availability }: Pick<Database, "query" | "availability">,
  { instanceId, exceptGatewayId }: ConnectionFilter = {},
): Promise<ListedConnection[]> {
  // While the database takes no writes no gateway can say that it is there.
  const { awayMs } = availability.health();
  // Gateways of earlier versions give no signs.
  const rows = await query<ConnectionRow>(
    `SELECT c.id, gateway_id, instance_id, app_ids, app_versions, takes, status, ${msOf("connected_at")} AS connected_ms,
COALESCE(date_part('epoch', now() - g.seen_at) * 1000, 0)::float8 AS silent_ms
FROM holdfast.connections c LEFT JOIN holdfast.gateways g ON g.id = c.gateway_id
WHERE ($1::text IS NULL OR instance_id = $1) AND ($2::text IS NULL OR gateway_id <> $2)
ORDER BY connected_at DESC, c.id`,
    [instanceId ?? null, exceptGatewayId ?? null],
  );
  return rows.map((row) => ({
    id: row.id,
    gatewayId: row.gateway_id,
    instanceId: row.instance_id,
    appIds: JSON.parse(row.app_ids) as string[],
    versions: JSON.parse(row.app_versions) as string[],
    ...(row.takes === null ? TAKES_ALL : (JSON.parse(row.takes) as Takes)),
    status: row.status,
    connectedMs: row.connected_ms,
    silentMs: Math.max(0, Math.round(row.silent_ms - awayMs)),
  }));
}
