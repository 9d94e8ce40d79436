/**
 * Brings the schema up to date under a lock, and refuses servers and schemas that this gateway cannot use. What it waits
 * for is said by `migration-waits.ts`.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { backoffDelayMs, HoldfastError, type Log, silentLog, sleep, systemRandom, systemTimers } from "@holdfast/core";
import type postgres from "postgres";
import { begin } from "./begin.ts";
import { connectPostgres } from "./connections.ts";
import { watchWaits } from "./migration-waits.ts";
import { codeOf, safeMessage, storeFailed, troubleOf } from "./pg-errors.ts";
import type { SettingsBy } from "./session-settings.ts";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

const OLDEST_SERVER = 140_000;
/** Numbers that no other program is likely to lock. Who migrates has the first one, as in gateways of before; */
const LOCK_KEY = 4_852_107_331;
/** who tries to, again and again, has this one, so that only one at a time makes others wait. */
const TURN_KEY = 4_852_107_332;

/** The numbered files beside the package, in order. They are found from the sources and from `dist`. */
export function readMigrations(): readonly Migration[] {
  const folder = ["../migrations/", "../../../migrations/"]
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url));
  if (!folder) throw new HoldfastError("INTERNAL", "The gateway's migrations folder is missing from its package.");
  return readdirSync(folder)
    .flatMap((name) => {
      const version = /^(\d{3})-[a-z0-9-]+\.sql$/.exec(name)?.[1];
      return version ? [{ version: Number(version), name, sql: readFileSync(new URL(name, folder), "utf8") }] : [];
    })
    .sort((a, b) => a.version - b.version);
}

export interface MigrateOptions {
  readonly migrations?: readonly Migration[];
  /** How much time a new partition is for, where the migrations make partitions. */
  readonly tablePartitionMs?: number;
  /** Default `startup`. */
  readonly settingsBy?: SettingsBy;
  /** Receives what is waited for. Default: none. */
  readonly log?: Log;
}

const MAX_CONFLICTS = 10;
const CONFLICT_REST_MS = 500;

/** Everything that asks for a table queues behind a migration that waits for it, so it waits for moments only. */
const LOCK_TIMEOUT = "2s";
const LOCK_NOT_AVAILABLE = "55P03";
const LOCK_REST = { baseMs: 1_000, factor: 2, maxMs: 8_000, jitter: 0.2 } as const;

/**
 * One transaction: a lock that only one gateway holds at a time, then each missing migration, its version row first. A
 * gateway that comes second waits and finds nothing to do; one that dies half-way leaves nothing behind. A lock that is
 * not free soon ends the transaction, and with it all that waits behind it; then it is tried again until it is
 * free. Where nothing is missing, nothing is locked.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<void> {
  const { migrations = readMigrations(), tablePartitionMs, settingsBy, log = silentLog } = options;
  const connect = (name: string): postgres.Sql => connectPostgres(url, { name }, settingsBy);
  const sql = connect("migrate");
  try {
    await checkServer(sql, url);
    if (missing(migrations, await appliedVersions(sql)).length === 0) return;
    const waits = watchWaits(() => connect("migrate watch"), log);
    const work = async (tx: postgres.TransactionSql): Promise<void> => {
      waits.watch(await pidOf(tx));
      await applyAll(tx, migrations, tablePartitionMs);
    };
    let waitedMs: number | null;
    try {
      waits.watch(await pidOf(sql));
      await takeTurn(sql);
      await untilApplied(() => begin(sql, work));
      // A pooler may give this session to others.
      await sql.unsafe(`SELECT pg_advisory_unlock(${TURN_KEY})`);
    } finally {
      waitedMs = await waits.stop();
    }
    if (waitedMs === null) return;
    const version = migrations.at(-1)?.version ?? 0;
    log("info", `The database was migrated to version ${version}, after ${Math.round(waitedMs / 1000)} s.`);
  } catch (error) {
    throw storeFailed("The schema could not be migrated", error, url);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Which migrations the database has; none in one that is new. */
export async function appliedVersions(sql: Pick<postgres.Sql, "unsafe">): Promise<ReadonlySet<number>> {
  const [table] = await sql.unsafe("SELECT to_regclass('holdfast.migrations') IS NOT NULL AS found");
  const rows = table?.found === true ? await sql.unsafe("SELECT version FROM holdfast.migrations") : [];
  return new Set(rows.map((row) => Number(row.version)));
}

/** @throws HoldfastError `DATABASE_SCHEMA_NEWER` */
function missing(migrations: readonly Migration[], done: ReadonlySet<number>): readonly Migration[] {
  const known = migrations.at(-1)?.version ?? 0;
  const newest = Math.max(0, ...done);
  if (newest <= known) return migrations.filter(({ version }) => !done.has(version));
  throw new HoldfastError(
    "DATABASE_SCHEMA_NEWER",
    `The database's schema has version ${newest}; this gateway supports up to ${known}. Use the version of the ` +
      "gateway that migrated it, or a newer one.",
  );
}

async function pidOf(sql: Pick<postgres.Sql, "unsafe">): Promise<number> {
  const [row] = await sql.unsafe("SELECT pg_backend_pid() AS pid");
  return Number(row?.pid);
}

/** Nothing queues behind it: it may take as long as it takes. */
async function takeTurn(sql: postgres.Sql): Promise<void> {
  await sql.unsafe("SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)");
  await sql.unsafe(`SELECT pg_advisory_lock(${TURN_KEY})`);
}

async function untilApplied(apply: () => Promise<void>): Promise<void> {
  let conflicts = 0;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await apply();
    } catch (error) {
      if (codeOf(error) === LOCK_NOT_AVAILABLE) {
        await sleep(systemTimers, backoffDelayMs(LOCK_REST, attempt, systemRandom));
        continue;
      }
      // Other gateways are at work: nothing was changed, and they go on between two tries.
      conflicts += 1;
      if (conflicts >= MAX_CONFLICTS || troubleOf(error) !== "conflict") throw error;
      await sleep(systemTimers, CONFLICT_REST_MS);
    }
  }
}

async function checkServer(sql: postgres.Sql, url: string): Promise<void> {
  let version: number;
  try {
    const [row] = await sql.unsafe("SELECT current_setting('server_version_num')::int AS version");
    version = Number(row?.version);
  } catch (error) {
    const hint = codeOf(error) === "3D000" ? " Create it first." : "";
    throw new HoldfastError(
      "DATABASE_UNREACHABLE",
      `Postgres could not be reached: ${safeMessage(error, url)}.${hint}`,
      {
        cause: error,
      },
    );
  }
  if (version < OLDEST_SERVER) {
    throw new HoldfastError(
      "DATABASE_TOO_OLD",
      `The server is Postgres ${Math.floor(version / 10_000)}; the gateway needs 14 or newer.`,
    );
  }
}

async function applyAll(
  tx: postgres.TransactionSql,
  migrations: readonly Migration[],
  tablePartitionMs: number | undefined,
): Promise<void> {
  await tx.unsafe("SET LOCAL statement_timeout = 0");
  await tx.unsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
  await tx.unsafe("SELECT set_config('holdfast.table_partition_ms', $1, true)", [tablePartitionMs?.toString() ?? ""]);
  await tx.unsafe(`SELECT pg_advisory_xact_lock(${LOCK_KEY})`);
  await tx.unsafe("CREATE SCHEMA IF NOT EXISTS holdfast");
  await tx.unsafe(
    "CREATE TABLE IF NOT EXISTS holdfast.migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
  );
  for (const { version, name, sql } of missing(migrations, await appliedVersions(tx))) {
    await tx.unsafe("INSERT INTO holdfast.migrations (version, name) VALUES ($1, $2)", [version, name]);
    // Some set a limit of their own, and leave none.
    await tx.unsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
    await tx.unsafe(sql).simple();
  }
}
