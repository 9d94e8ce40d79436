/**
 * Owns the data directory's content: creates the cluster, checks its version, removes what a dead owner left.
 * `postmaster.ts` runs a server on it.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError, type Log } from "@holdfast/core";
import { runCommand } from "./commands.ts";
import { giveToOwner, type Home, openAccess, usable } from "./home.ts";
import { giveTo } from "./identity.ts";
import { pidFilePath, readPidFile } from "./pid-file.ts";
import { isPostmasterOf, killWithChildren, pollUntil, signalProcess } from "./processes.ts";
import type { Runtime } from "./runtime.ts";

export const SUPERUSER = "holdfast";
const PASSWORD_FILE = "postgres-password";
const INIT_PREFIX = "postgres.init-";

export interface ClusterOptions {
  readonly durable: boolean;
  /** Aborted: what is under way ends, and what is half-made is removed. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Makes sure that there is a cluster that this version can run, and returns the superuser's password. A new cluster is
 * made aside and renamed: a kill in the middle leaves nothing half-made. The caller owns the home.
 */
export async function prepareCluster(home: Home, runtime: Runtime, options: ClusterOptions): Promise<string> {
  return usable(home.dataDir, async () => {
    await removeUnfinished(home);
    const found = await lstat(home.cluster).catch(() => undefined);
    if (found && !(found.isDirectory() && (await readdir(home.cluster)).length === 0)) {
      await checkCluster(home, runtime);
      return readPassword(home);
    }
    const password = randomBytes(24).toString("base64url");
    await writeFile(join(home.dataDir, PASSWORD_FILE), `${password}\n`, { mode: 0o600 });
    await giveToOwner(home, join(home.dataDir, PASSWORD_FILE));
    await createCluster(home, runtime, { ...options, password });
    return password;
  });
}

async function removeUnfinished(home: Home): Promise<void> {
  for (const name of await readdir(home.dataDir)) {
    if (name.startsWith(INIT_PREFIX)) await rm(join(home.dataDir, name), { recursive: true, force: true });
  }
}

async function createCluster(
  home: Home,
  runtime: Runtime,
  { password, durable, signal }: ClusterOptions & { readonly password: string },
): Promise<void> {
  const aside = join(home.dataDir, `${INIT_PREFIX}${randomUUID()}`);
  await mkdir(aside, { mode: 0o700 });
  const access = await openAccess(home, aside);
  const removeAtExit = (): void => {
    try {
      // What initdb had started may still write for a moment.
      rmSync(aside, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    } catch {
      // The next start removes it.
    }
  };
  process.once("exit", removeAtExit);
  try {
    await writeFile(join(aside, "password"), password, { mode: 0o600 });
    await giveTo(home.identity, join(aside, "password"));
    await giveTo(home.identity, aside);
    const args = ["-D", `${access.path}/cluster`, `--pwfile=${access.path}/password`];
    args.push("-U", SUPERUSER, "--auth=scram-sha-256");
    // The password is 192 random bits; rounds that slow down guessing would only slow down connecting.
    args.push("--encoding=UTF8", "--locale=C", "--no-instructions", "-c", "scram_iterations=1");
    if (!durable) args.push("--no-sync");
    const { code, output } = await runCommand(runtime.initdb, args, home.identity, access.fd, signal);
    signal?.throwIfAborted();
    if (code !== 0) {
      const full = /No space left on device/.test(output);
      throw new HoldfastError(
        full ? "DATA_DIR_UNUSABLE" : "POSTGRES_START_FAILED",
        `A new database could not be created in ${home.dataDir}: ${output.split("\n").slice(-6).join(" ")}`,
      );
    }
    await rename(join(aside, "cluster"), home.cluster);
    if (durable) await syncDirectory(home.dataDir);
  } finally {
    process.off("exit", removeAtExit);
    await access.close();
    await rm(aside, { recursive: true, force: true });
  }
}

async function syncDirectory(dir: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(dir, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const REQUIRED = ["PG_VERSION", "global/pg_control", "postgresql.conf", "pg_hba.conf", "pg_wal", "base"];

async function checkCluster(home: Home, runtime: Runtime): Promise<void> {
  const version = (await readFile(join(home.cluster, "PG_VERSION"), "utf8").catch(rethrowUnlessMissing)).trim();
  if (version !== "" && version !== runtime.major) {
    throw new HoldfastError(
      "DATA_DIR_UNUSABLE",
      `The data directory ${home.dataDir} holds data of Postgres ${version}; this is Postgres ${runtime.version}, which ` +
        "cannot read it. Move the directory away, or choose another with `--data-dir`.",
    );
  }
  for (const name of REQUIRED) {
    const found = await lstat(join(home.cluster, name)).catch(rethrowUnlessMissing);
    if (!found) throw corruptDataDir(home, `${name} is missing in ${home.cluster}`);
  }
  if (version === "") throw corruptDataDir(home, `PG_VERSION in ${home.cluster} is empty`);
}

export function corruptDataDir(home: Home, why: string, cause?: unknown): HoldfastError {
  return new HoldfastError(
    "DATA_DIR_UNUSABLE",
    `The data directory ${home.dataDir} is corrupt: ${why}. Restore it from a backup, or move it away to start empty.`,
    { cause },
  );
}

async function readPassword(home: Home): Promise<string> {
  const text = await readFile(join(home.dataDir, PASSWORD_FILE), "utf8").catch(rethrowUnlessMissing);
  if (text.trim() === "") throw corruptDataDir(home, `${PASSWORD_FILE} is missing in ${home.dataDir}`);
  return text.trim();
}

function rethrowUnlessMissing(error: unknown): "" {
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
  throw error;
}

const ORPHAN_GRACE_MS = 4_000;
const STEP_LIMIT_MS = 10_000;

/**
 * Ends a server that a dead owner left behind: it mostly stops by itself and is waited for, else told to. The pid file
 * of a server that is gone is removed when another process has its id now, which Postgres would take for the server.
 */
export async function endLeftover(home: Home, log: Log): Promise<void> {
  const recorded = await readPidFile(home.cluster);
  if (!recorded) return;
  const { pid } = recorded;
  const gone = async (): Promise<boolean> => !(await isPostmasterOf(pid, home.cluster));
  if (await gone()) {
    await rm(pidFilePath(home.cluster), { force: true });
    return;
  }
  log("warn", "Stopping a Postgres server that an earlier process left behind.", { pid });
  if (await pollUntil(gone, ORPHAN_GRACE_MS)) return;
  for (const signal of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
    if (signal === "SIGKILL") await killWithChildren(pid);
    else signalProcess(pid, signal);
    if (await pollUntil(gone, STEP_LIMIT_MS)) return;
  }
  throw new HoldfastError(
    "DATA_DIR_UNUSABLE",
    `The data directory ${home.dataDir} is in use by a Postgres server (process ${pid}) that cannot be stopped.`,
  );
}
