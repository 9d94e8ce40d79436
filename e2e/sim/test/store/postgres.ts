import type { Store } from "@holdfast/store";
import { createDatabase, startTestPostgres } from "@holdfast/testing";
import postgres from "postgres";
import { openPostgresStore } from "../../../../gateway-mock/src/store-postgres/index.ts";

/** The store on a real Postgres whose clock is where it is put. */
export interface Real {
  readonly store: Store;
  setClock(nowMs: number): Promise<void>;
  /** Empties all tables. */
  clear(): Promise<void>;
  /** Every row, in an order that says nothing. */
  dump(): Promise<Record<string, readonly unknown[]>>;
  close(): Promise<void>;
}

/** With virtual time every statement of the store asks these two. */
const CLOCK = `CREATE TABLE holdfast.test_clock (at timestamptz);
INSERT INTO holdfast.test_clock VALUES (now());
CREATE OR REPLACE FUNCTION holdfast.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM holdfast.test_clock';
CREATE OR REPLACE FUNCTION holdfast.clock_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM holdfast.test_clock'`;

const TABLES = ["runs", "run_log", "queue", "events", "event_keys", "gates", "crons", "waits", "functions"] as const;
const MORE_TABLES = [
  "gateways",
  "app_groups",
  "connections",
  "function_pauses",
  "app_rollouts",
  "worker_drains",
] as const;

const ms = (column: string): string => `round(date_part('epoch', ${column}) * 1000)::float8`;

/** What is looked at, as the model has it. */
const DUMPS = {
  runs: `SELECT id, function_id AS "functionId", app_version AS "appVersion", status, version, event_id AS "eventId",
    ${ms("created_at")} AS "createdMs", ${ms("started_at")} AS "startedMs", ${ms("ended_at")} AS "endedMs",
    output AS "outputJson", error AS "errorJson" FROM holdfast.runs`,
  log: `SELECT run_id AS "runId", kind, key, attempt, iteration, version AS "headVersion", status AS "headStatus",
    ${ms("at")} AS "atMs", CASE WHEN kind = 'LEASE_LOST' THEN (data::jsonb)::text ELSE data END AS "dataJson",
    CASE WHEN kind = 'LEASE_LOST' THEN 0 ELSE row_number() OVER (PARTITION BY run_id, kind = 'LEASE_LOST' ORDER BY seq, place) END::int AS place
    FROM holdfast.run_facts`,
  queue: `SELECT id, run_id AS "runId", kind, key, function_id AS "functionId", attempt, iteration, priority, epoch,
    ${ms("available_at")} AS "availableMs", leased_by AS "leasedBy", ${ms("claimed_at")} AS "claimedMs",
    ${ms("created_at")} AS "createdMs", lost, lane,
    slot_a AS "slotA", slot_b AS "slotB", throttle, ${ms("unplaced_since")} AS "unplacedSinceMs",
    wanted_version AS "wantedVersion" FROM holdfast.queue`,
  events: `SELECT id, name, ${ms("received_at")} AS "receivedMs", run_ids AS "runIds", payload FROM holdfast.whole_events`,
  flowRules: `SELECT function_id AS "functionId", kind, key, count, ${ms("at")} AS "atMs", run_id AS "runId",
    CASE WHEN kind <> 'throttle' THEN data ELSE '' END AS data, ${ms("due_at")} AS "dueMs", CASE WHEN expires_at = 'infinity' THEN NULL ELSE ${ms("NULLIF(expires_at, 'infinity')")} END AS "expiresMs"
    FROM holdfast.gates`,
  crons: `SELECT function_id AS "functionId", cron, app_id AS "appId", jitter_ms AS "jitterMs", ${ms("next_at")} AS "nextMs" FROM holdfast.crons`,
  waits: `SELECT run_id AS "runId", key, kind, name, expression, match, ${ms("began_at")} AS "beganMs", ${ms("expires_at")} AS "expiresMs" FROM holdfast.waits`,
  functions: `SELECT slug, app_id AS "appId", app_version AS "appVersion", config AS "configJson", active FROM holdfast.functions`,
} as const;

export async function openReal(): Promise<Real> {
  const server = await startTestPostgres();
  const database = await createDatabase(server);
  const sql = postgres(database.url, { max: 2, onnotice: () => {} });
  // The store's own clock stands still, so every look into the queue counts as quick and starts from the beginning: one that
  // started further on would miss jobs that were claimed before the database's clock was set back.
  const clock = { monotonicMs: () => 0, nowMs: () => Date.now() };
  const open = (): Store => openPostgresStore({ url: database.url, maxConnections: 4, virtualTime: true, clock });
  let store = open();
  await store.migrate();
  await sql.unsafe(CLOCK);
  return {
    get store() {
      return store;
    },
    async setClock(nowMs) {
      await sql`UPDATE holdfast.test_clock SET at = to_timestamp(${nowMs}::float8 / 1000)`;
    },
    async clear() {
      // It remembers which events were waited for.
      await store.close();
      store = open();
      await sql.unsafe([...TABLES, ...MORE_TABLES].map((table) => `DELETE FROM holdfast.${table}`).join(";"));
      await sql.unsafe("UPDATE holdfast.registry SET version = 1");
    },
    async dump() {
      const entries = Object.entries(DUMPS).map(async ([name, text]) => [name, [...(await sql.unsafe(text))]] as const);
      return Object.fromEntries(await Promise.all(entries));
    },
    async close() {
      await store.close();
      await sql.end();
      await database.drop();
      await server.stop();
    },
  };
}
