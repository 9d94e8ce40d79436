/**
 * `startPostgres`: joins the parts (home, owner lock, runtime, cluster, lifecycle) into the server that users of
 * this package see.
 */
import { HoldfastError, silentLog } from "@holdfast/core";
import { endLeftover, prepareCluster, SUPERUSER } from "./cluster.ts";
import { type Home, openHome, usable } from "./home.ts";
import { Lifecycle } from "./lifecycle.ts";
import type { PostgresOptions, PostgresServer } from "./options.ts";
import { acquireOwnerLock } from "./owner-lock.ts";
import { findFreePort, isFreePort } from "./ports.ts";
import { prepareRuntime } from "./runtime.ts";
import { effectiveSettings } from "./settings.ts";
import { openThrowawayHome } from "./throwaway.ts";

const DEFAULT_START_TIMEOUT_MS = 120_000;
const DATABASE_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/**
 * Starts a Postgres server on 127.0.0.1 that belongs to this process: it stops when the process ends, however that
 * ends (on Windows only when `stop()` is called). A directory that a killed process left is taken over.
 *
 * @throws HoldfastError `DATA_DIR_UNUSABLE` (corrupt, of another version, not writable, in use), `PORT_BUSY`,
 *   `POSTGRES_START_FAILED`, `OPTION_INVALID`
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const settings = effectiveSettings(options);
  const database = databaseName(options);
  const log = options.log ?? silentLog;
  const { signal } = options;
  if (options.port) await requireFreePort(options.port);
  const place = await openPlace(options);
  try {
    const { home } = place;
    await usable(home.dataDir, () => endLeftover(home, log));
    signal?.throwIfAborted();
    const runtime = await prepareRuntime({ identity: home.identity, nativeDir: options.nativeDir, log });
    signal?.throwIfAborted();
    process.once("exit", place.leaveNow);
    const password = await prepareCluster(home, runtime, { durable: options.durable ?? options.keep, signal });
    process.off("exit", place.leaveNow);
    signal?.throwIfAborted();
    const lifecycle = new Lifecycle({
      home,
      runtime,
      settings,
      log,
      database,
      login: { user: SUPERUSER, password },
      keep: options.keep,
      port: options.port || (await findFreePort()),
      portIsFixed: Boolean(options.port),
      startTimeoutMs: options.startTimeoutMs ?? DEFAULT_START_TIMEOUT_MS,
    });
    await usable(home.dataDir, () => lifecycle.start());
    return handleOf(lifecycle, home, runtime.version, () => place.leave());
  } catch (error) {
    process.off("exit", place.leaveNow);
    await place.leave();
    throw error;
  }
}

/** Where the server's files are, and how to give that place back. */
interface Place {
  readonly home: Home;
  leave(): Promise<void>;
  /** When the process ends before there is a cluster. */
  readonly leaveNow: () => void;
}

async function openPlace(options: PostgresOptions): Promise<Place> {
  const { dataDir } = options;
  if (!options.keep) {
    const { home, remove } = await openThrowawayHome(dataDir);
    return { home, leave: remove, leaveNow: () => {} };
  }
  if (!dataDir) throw new HoldfastError("OPTION_MISSING", "dataDir: required by a server that keeps its data.");
  const home = await openHome(dataDir);
  const lock = await usable(home.dataDir, () => acquireOwnerLock(home.dataDir));
  return { home, leave: () => lock.release(), leaveNow: () => lock.releaseNow() };
}

function handleOf(lifecycle: Lifecycle, home: Home, version: string, leave: () => Promise<void>): PostgresServer {
  let stopped: Promise<void> | undefined;
  const stop: PostgresServer["stop"] = (mode, limitMs) => {
    stopped ??= lifecycle.end(mode, limitMs).finally(leave);
    return stopped;
  };
  return {
    url: lifecycle.url,
    port: lifecycle.port,
    dataDir: home.dataDir,
    version,
    get pid() {
      return lifecycle.pid;
    },
    get closed() {
      return lifecycle.closed;
    },
    stop,
    restart: (mode) => lifecycle.restart(mode),
    kill: () => lifecycle.kill(),
    [Symbol.asyncDispose]: () => stop(),
  };
}

function databaseName(options: PostgresOptions): string {
  const name = options.database ?? (options.keep ? "holdfast" : "postgres");
  if (DATABASE_NAME.test(name)) return name;
  throw new HoldfastError(
    "OPTION_INVALID",
    `database: "${name}" must be lower-case letters, digits and underscores, at most 63.`,
  );
}

async function requireFreePort(port: number): Promise<void> {
  if (await isFreePort(port)) return;
  throw new HoldfastError("PORT_BUSY", `Port ${port} on 127.0.0.1, wanted for Postgres, is in use by another program.`);
}
