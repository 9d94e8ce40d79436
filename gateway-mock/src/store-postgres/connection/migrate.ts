/** Brings the schema up to date under a lock, and refuses servers and schemas that this gateway cannot use. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { HoldfastError, sleep, systemTimers } from "@holdfast/core";
import type postgres from "postgres";
import { begin } from "./begin.ts";
import { connectPostgres } from "./database.ts";
import { codeOf, safeMessage, storeFailed, troubleOf } from "./pg-errors.ts";
import type { SettingsBy } from "./session-settings.ts";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

const OLDEST_SERVER = 140_000;
/** Any number that no other program is likely to lock. */
const LOCK_KEY = 4_852_107_331;

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
}

const MAX_ATTEMPTS = 10;
const ATTEMPT_REST_MS = 500;

/**
 * One transaction: a lock that only one gateway holds at a time, then each missing migration, its version row first. A
 * gateway that comes second waits and finds nothing to do; one that dies half-way leaves nothing behind.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<void> {
  const { migrations = readMigrations(), tablePartitionMs, settingsBy } = options;
  const sql = connectPostgres(url, { max: 1, name: "migrate" }, settingsBy);
  try {
    await checkServer(sql, url);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await begin(sql, (tx) => applyAll(tx, migrations, tablePartitionMs));
        return;
      } catch (error) {
        // Other gateways are at work: nothing was changed, and they go on between two tries.
        if (attempt >= MAX_ATTEMPTS || troubleOf(error) !== "conflict") throw error;
        await sleep(systemTimers, ATTEMPT_REST_MS);
      }
    }
  } catch (error) {
    throw storeFailed("The schema could not be migrated", error, url);
  } finally {
    await sql.end({ timeout: 5 });
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
  await tx.unsafe("SELECT set_config('holdfast.table_partition_ms', $1, true)", [tablePartitionMs?.toString() ?? ""]);
  await tx.unsafe(`SELECT pg_advisory_xact_lock(${LOCK_KEY})`);
  await tx.unsafe("CREATE SCHEMA IF NOT EXISTS holdfast");
  await tx.unsafe(
    "CREATE TABLE IF NOT EXISTS holdfast.migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
  );
  const rows = await tx.unsafe("SELECT version FROM holdfast.migrations");
  const done = new Set(rows.map((row) => Number(row.version)));
  const known = migrations.at(-1)?.version ?? 0;
  const newest = Math.max(0, ...done);
  if (newest > known) {
    throw new HoldfastError(
      "DATABASE_SCHEMA_NEWER",
      `The database's schema has version ${newest}; this gateway supports up to ${known}.`,
    );
  }
  for (const { version, name, sql } of migrations) {
    if (done.has(version)) continue;
    await tx.unsafe("INSERT INTO holdfast.migrations (version, name) VALUES ($1, $2)", [version, name]);
    await tx.unsafe(sql).simple();
  }
}
