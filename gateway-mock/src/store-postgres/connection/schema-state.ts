/** Reads how far a database's schema is, without changing it. */
import { HoldfastError } from "@holdfast/core";
import { connectPostgres } from "./connections.ts";
import { appliedVersions, readMigrations } from "./migrate.ts";
import { codeOf, safeMessage, storeFailed } from "./pg-errors.ts";

/** This user may not do it. */
const FORBIDDEN = "42501";

export interface SchemaState {
  /** Of the newest migration that was applied; 0: none. */
  readonly version: number;
  /** The newest that this program has. */
  readonly known: number;
  /** The names of those that `migrate` would apply, in order. */
  readonly pending: readonly string[];
}

/** @throws HoldfastError `DATABASE_UNREACHABLE`, `STORE_FAILED` where this user may not read it */
export async function readSchemaState(url: string): Promise<SchemaState> {
  const sql = connectPostgres(url, { name: "schema" }, "statements");
  try {
    const done = await appliedVersions(sql);
    const migrations = readMigrations();
    return {
      version: Math.max(0, ...done),
      known: migrations.at(-1)?.version ?? 0,
      pending: migrations.filter(({ version }) => !done.has(version)).map(({ name }) => name),
    };
  } catch (error) {
    // It was reached, and refused this.
    if (codeOf(error) === FORBIDDEN) throw storeFailed("The schema could not be read", error, url);
    throw new HoldfastError("DATABASE_UNREACHABLE", `Postgres could not be read: ${safeMessage(error, url)}.`, {
      cause: error,
    });
  } finally {
    await sql.end({ timeout: 1 });
  }
}
