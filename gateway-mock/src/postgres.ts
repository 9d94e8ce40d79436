import type { Log } from "@holdfast/core";
import { startPostgres } from "@holdfast/postgres-server";
import type { GatewayConfig } from "./config.ts";

export interface Database {
  readonly url: string;
  /** Stops the server when it is ours. */
  stop(): Promise<void>;
}

/** The user's server, or one of our own in the data directory. */
export async function openDatabase(
  config: Pick<GatewayConfig, "databaseUrl" | "dataDir" | "keepData">,
  log: Log,
): Promise<Database> {
  if (config.databaseUrl !== undefined) return { url: config.databaseUrl, stop: async () => {} };
  const server = config.keepData
    ? await startPostgres({ keep: true, dataDir: config.dataDir, log })
    : await startPostgres({ keep: false, log });
  server.closed.then((exit) => {
    if (!exit.expected) log("error", `The local Postgres ended unexpectedly (code ${exit.code}).`);
  });
  return { url: server.url, stop: () => server.stop() };
}
