/** `migrate`: brings the schema of a database up to date, or says what that would do. */
import type { Log } from "@holdfast/core";
import { readGatewayFile } from "../config/config-file.ts";
import { maskedUrl } from "../config/print-config.ts";
import { readSettings, usage, valuesOf } from "../config/settings.ts";
import { loadPostgresTools } from "../open-store.ts";
import { MIGRATE_OPTIONS } from "./commands.ts";
import { type CommandContext, readOptions } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { type Output, printJson } from "./output.ts";
import { CLEAR_LINE, withProgress } from "./progress.ts";
import { inWordsOfDoctor } from "./read-only-database.ts";

export async function migrateDatabase(context: CommandContext): Promise<ExitCode> {
  const { output } = context;
  const { config } = readOptions({ config: MIGRATE_OPTIONS.config }, context);
  const file = readGatewayFile(config);
  const { databaseUrl, dryRun, json } = valuesOf(MIGRATE_OPTIONS, readSettings(MIGRATE_OPTIONS, { ...context, file }));
  if (databaseUrl === undefined || databaseUrl === "") {
    throw usage("There is no database to migrate: set HOLDFAST_DATABASE_URL, or give --database-url.");
  }
  const { openPostgresStore, readSchemaState } = await loadPostgresTools();
  const before = await withProgress(
    output,
    () => "Reading the schema …",
    () => readSchemaState(databaseUrl),
  );
  const hasWork = before.pending.length > 0 && !dryRun;
  if (hasWork || before.version > before.known) {
    // Also where the schema is newer: what it says of that is what a gateway says.
    const store = openPostgresStore({ url: databaseUrl, maxConnections: 3, log: warningsTo(output) });
    try {
      await withProgress(
        output,
        () => `Applying ${before.pending.length} migrations …`,
        () => store.migrate(),
      );
    } catch (error) {
      throw inWordsOfDoctor(error) ?? error;
    } finally {
      await store.close(0);
    }
  }
  if (json)
    printJson(output, {
      database: maskedUrl(databaseUrl),
      from: before.version,
      to: dryRun ? before.version : before.known,
      pending: dryRun ? before.pending : [],
      applied: hasWork ? before.pending : [],
    });
  else if (before.pending.length === 0) output.print(`The schema is up to date (version ${before.version}).\n`);
  else output.print(before.pending.map((name) => `${dryRun ? "would apply" : "applied"}  ${name}\n`).join(""));
  return EXIT.done;
}

/** What the migration waits for, such as a dump. */
function warningsTo(output: Output): Log {
  return (level, message) => {
    if (level === "warn") output.note(`${output.showsProgress ? CLEAR_LINE : ""}${message}\n`);
  };
}
