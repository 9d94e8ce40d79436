/**
 * Opens the store that a gateway was asked for; what was opened ends with the gateway's other parts. The only file that
 * knows which stores there are. One that is not asked for is not loaded, nor is its driver (docs/decisions/0046).
 */
import { randomBytes, randomUUID } from "node:crypto";
import { type HoldfastError, systemClock } from "@holdfast/core";
import { createMemoryDatabase, type Store } from "@holdfast/store";
import type { CleanUps } from "./clean-ups.ts";
import type { GatewayConfig } from "./config/config.ts";

export interface OpenStore {
  readonly store: Store;
  /** Resolves when the store is lost and cannot be opened again in this process. */
  readonly lost: Promise<HoldfastError>;
}

/** A local Postgres that has not stopped in this time is killed, in that. One that answers may hang all the same. */
const POSTGRES_STOP_MS = 1_000;
const MAX_POSTGRES_STOP_MS = 3_000;
/** Its children are looked for among all processes, on a machine that may be busy. */
const KILL_MS = 1_500;

/** With `signal` a local Postgres that is being started is given up when it is aborted. */
export async function openStore(config: GatewayConfig, cleanUps: CleanUps, signal?: AbortSignal): Promise<OpenStore> {
  switch (config.store) {
    case "postgres":
      return openOnPostgres(config, cleanUps, signal);
    case "memory":
      return openInMemory(config, cleanUps);
  }
}

export type { ServerFacts } from "./store-postgres/index.ts";

/** What a database is asked for outside of a store; loaded with its driver when it is called. */
export const loadPostgresTools = (): Promise<typeof import("./store-postgres/index.ts")> =>
  import("./store-postgres/index.ts");

async function openOnPostgres(
  config: GatewayConfig,
  cleanUps: CleanUps,
  signal: AbortSignal | undefined,
): Promise<OpenStore> {
  const { log, virtualTime, maxConnections, resendMemoryBytes } = config;
  const { openDatabase } = await import("./postgres.ts");
  const { openPostgresStore } = await loadPostgresTools();
  const database = await openDatabase(config, log, signal);
  cleanUps.add({
    what: "stopping the embedded Postgres",
    leastMs: POSTGRES_STOP_MS + KILL_MS,
    run: (limitMs) => database.stop(Math.min(MAX_POSTGRES_STOP_MS, limitMs - KILL_MS)),
  });
  const store = openPostgresStore({ url: database.url, maxConnections, resendMemoryBytes, virtualTime, log });
  cleanUps.add({ what: "closing the store", leastMs: 500, run: (limitMs) => store.close(limitMs / 2) });
  await store.migrate();
  return { store, lost: database.lost };
}

function openInMemory({ virtualTime }: GatewayConfig, cleanUps: CleanUps): OpenStore {
  const database = createMemoryDatabase({
    clock: systemClock,
    soon: setImmediate,
    newUuid: randomUUID,
    secret: randomBytes(32).toString("hex"),
    virtualTime,
  });
  const store = database.open();
  cleanUps.add({ what: "closing the store", leastMs: 500, run: () => store.close() });
  return { store, lost: new Promise(() => {}) };
}
