/** Reads how far a database's schema is, without changing it. */
import { HoldfastError } from "@holdfast/core";
import { connectPostgres } from "./database.ts";
import { readMigrations } from "./migrate.ts";
import { safeMessage } from "./pg-errors.ts";

export interface SchemaState {
  /** Of the newest migration that was applied; 0: none. */
  readonly version: number;
  /** The newest that this program has. */
  readonly known: number;
  /** The names of those that `migrate` would apply, in order. */
  readonly pending: readonly string[];
}

/** @throws HoldfastError `DATABASE_UNREACHABLE` */
export async function readSchemaState(url: string): Promise<SchemaState> {
  const sql = connectPostgres(url, { max: 1, name: "schema" }, "statements");
  try {
    const [table] = await sql.unsafe("SELECT to_regclass('holdfast.migrations') IS NOT NULL AS found");
    const rows = table?.found === true ? await sql.unsafe("SELECT version FROM holdfast.migrations") : [];
    const done = new Set(rows.map((row) => Number(row.version)));
    const migrations = readMigrations();
    return {
      version: Math.max(0, ...done),
      known: migrations.at(-1)?.version ?? 0,
      pending: migrations.filter(({ version }) => !done.has(version)).map(({ name }) => name),
    };
  } catch (error) {
    throw new HoldfastError("DATABASE_UNREACHABLE", `Postgres could not be read: ${safeMessage(error, url)}.`, {
      cause: error,
    });
  } finally {
    await sql.end({ timeout: 1 });
  }
}
