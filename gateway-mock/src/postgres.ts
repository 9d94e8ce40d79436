/** Starts the gateway's own Postgres where none is given, and starts it again when it dies. */
import {
  backoffDelayMs,
  deferred,
  HoldfastError,
  type Log,
  messageOf,
  sleep,
  systemClock,
  systemRandom,
  systemTimers,
} from "@holdfast/core";
import type { PostgresServer } from "@holdfast/postgres-server";
import type { GatewayConfig } from "./config/config.ts";

export interface Database {
  readonly url: string;
  /** Resolves when the server is ours, has ended again and again, and is not started any more. */
  readonly lost: Promise<HoldfastError>;
  /** Stops the server when it is ours. One that has not stopped after `limitMs` is killed. */
  stop(limitMs?: number): Promise<void>;
}

/** The user's server, or one of our own in the data directory, which is started again when it ends. */
export async function openDatabase(
  config: Pick<GatewayConfig, "databaseUrl" | "dataDir" | "keepData">,
  log: Log,
  signal?: AbortSignal,
): Promise<Database> {
  const never = new Promise<never>(() => {});
  if (config.databaseUrl !== undefined) return { url: config.databaseUrl, lost: never, stop: async () => {} };
  log("info", config.keepData ? `Starting Postgres in ${config.dataDir} …` : "Starting Postgres …");
  const { startPostgres } = await import("@holdfast/postgres-server");
  const about = { log, ...(signal === undefined ? {} : { signal }) };
  const server = config.keepData
    ? await startPostgres({ keep: true, dataDir: config.dataDir, ...about })
    : await startPostgres({ keep: false, ...about });
  const stopping = new AbortController();
  const lost = deferred<HoldfastError>();
  void keepRunning(server, log, stopping.signal).then((error) => {
    if (error) lost.resolve(error);
  });
  return {
    url: server.url,
    lost: lost.promise,
    stop: (limitMs) => {
      stopping.abort();
      return server.stop(undefined, limitMs);
    },
  };
}

const RESTART_BACKOFF = { baseMs: 100, factor: 3, maxMs: 10_000, jitter: 0.2 } as const;
/** So many times in a row; a server that has run for a while starts the count anew. */
const MAX_RESTARTS = 5;
const STEADY_MS = 60_000;

/**
 * Starts the server again whenever it ends; resolves with null once it is stopped, or with the reason why restarting
 * was abandoned.
 */
async function keepRunning(server: PostgresServer, log: Log, stopping: AbortSignal): Promise<HoldfastError | null> {
  let restarts = 0;
  let reason = "";
  for (;;) {
    const sinceMs = systemClock.monotonicMs();
    const { code } = await server.closed;
    if (stopping.aborted) return null;
    const ranMs = systemClock.monotonicMs() - sinceMs;
    if (ranMs >= STEADY_MS) restarts = 0;
    if (ranMs >= STEADY_MS || reason === "") reason = `it exited with code ${code}`;
    if (restarts >= MAX_RESTARTS) return lostError(server, reason);
    restarts += 1;
    await sleep(systemTimers, backoffDelayMs(RESTART_BACKOFF, restarts, systemRandom), stopping);
    if (stopping.aborted) return null;
    try {
      await server.restart();
      log("warn", `The embedded Postgres was restarted (${restarts} of ${MAX_RESTARTS}).`);
      reason = "";
    } catch (error) {
      reason = messageOf(error);
      log("error", `The embedded Postgres could not be restarted (${restarts} of ${MAX_RESTARTS}): ${reason}`);
    }
  }
}

function lostError(server: PostgresServer, reason: string): HoldfastError {
  return new HoldfastError(
    "POSTGRES_LOST",
    `The embedded Postgres in ${server.dataDir} exited, and ${MAX_RESTARTS} restarts failed: ${reason}`,
  );
}
