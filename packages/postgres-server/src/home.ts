/**
 * Owns where a server's files are: the data directory, its owner, and how Postgres programs reach it when they run
 * as another user.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, open, realpath, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { HoldfastError } from "@holdfast/core";
import { canEnter, giveTo, type Identity, postgresIdentity } from "./identity.ts";

/** Where a server's files are, and who runs it. */
export interface Home {
  /** Holds the cluster, its password, its log and the owner's lock. */
  readonly dataDir: string;
  /** The Postgres data directory proper. */
  readonly cluster: string;
  readonly identity: Identity;
  /**
   * True when the user that Postgres runs as cannot reach the directory by its path, because one above it is closed to
   * them (a checkout in /root). Postgres is then handed the open directory and reaches it as /proc/self/fd/4.
   */
  readonly byDescriptor: boolean;
}

export const clusterOf = (dataDir: string): string => join(dataDir, "postgres");

/** Makes the data directory if it is not there. */
export async function openHome(given: string): Promise<Home> {
  const wanted = resolve(given);
  const dataDir = await usable(wanted, async () => {
    if (await makeDirectory(wanted)) {
      await chmod(wanted, 0o711);
      await writeFile(join(wanted, ".gitignore"), "*\n");
    }
    return realpath(wanted);
  });
  return homeIn(dataDir);
}

/**
 * Makes it and what is missing above it; false when it is there. Not by Node's `recursive`, which tries for ever where a
 * file system says that there is no such place below a directory that is there (`/proc/x`).
 */
async function makeDirectory(dir: string): Promise<boolean> {
  const made = await makeOne(dir);
  if (made !== "no-parent") return made === "made";
  const parent = dirname(dir);
  if (parent !== dir) await makeDirectory(parent);
  await mkdir(dir, { mode: 0o755 });
  return true;
}

async function makeOne(dir: string): Promise<"made" | "there" | "no-parent"> {
  try {
    await mkdir(dir, { mode: 0o755 });
    return "made";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return "no-parent";
    const isThere = await stat(dir).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isThere) throw error;
    return "there";
  }
}

/** Where a temporary home can be made: nothing has this name. */
export async function temporaryDataDir(): Promise<string> {
  const parent = tmpdir();
  if (!existsSync(parent)) {
    throw new HoldfastError(
      "DATA_DIR_UNUSABLE",
      `The directory for temporary files, ${parent}, does not exist. Create it, or set TMPDIR to another.`,
    );
  }
  const name = `holdfast-pg-${randomBytes(8).toString("hex")}`;
  return join(await usable(parent, () => realpath(parent)), name);
}

/** Makes the directory that `temporaryDataDir` has named. */
export async function makeTemporaryHome(dataDir: string): Promise<Home> {
  await usable(dirname(dataDir), () => mkdir(dataDir, { mode: 0o700 }));
  return homeIn(dataDir);
}

async function homeIn(dataDir: string): Promise<Home> {
  const cluster = clusterOf(dataDir);
  // A cluster that a user made goes on under that user, so that they can use it again without us.
  const owner = await stat(cluster).catch(() => undefined);
  const identity = postgresIdentity(owner?.isDirectory() ? owner : undefined);
  if (identity.switched && (await stat(dataDir)).uid === 0) await chmod(dataDir, 0o711);
  if (await canEnter(identity, dataDir)) return { dataDir, cluster, identity, byDescriptor: false };
  const home: Home = { dataDir, cluster, identity, byDescriptor: true };
  const access = await openAccess(home, dataDir);
  try {
    if (await canEnter(identity, access.path, access.fd)) return home;
  } finally {
    await access.close();
  }
  throw new HoldfastError(
    "DATA_DIR_UNUSABLE",
    `Postgres does not run as root, and the user it runs as (${identity.uid}) cannot enter ${dataDir}. Choose a ` +
      "directory that every user can enter with `--data-dir`.",
  );
}

/** How a Postgres program reaches a directory of the home. */
export interface Access {
  /** The arguments of the program. */
  readonly path: string;
  /** To be handed to the program as descriptor 4. */
  readonly fd: number | undefined;
  /** Once the program has been spawned. */
  close(): Promise<void>;
}

/** Place of the directory among the descriptors of a program. */
export const DIRECTORY_FD = 4;

export async function openAccess(home: Home, dir: string): Promise<Access> {
  if (!home.byDescriptor) return { path: dir, fd: undefined, close: async () => {} };
  const handle = await open(dir, "r");
  return { path: `/proc/self/fd/${DIRECTORY_FD}`, fd: handle.fd, close: () => handle.close() };
}

/** Turns what the file system says about a data directory into a sentence for the user. */
export async function usable<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (HoldfastError.is(cause) || code === undefined || syscall === undefined) throw cause;
    throw new HoldfastError(
      "DATA_DIR_UNUSABLE",
      `The data directory ${dataDir} cannot be used: ${REASONS[code] ?? (cause as Error).message}. Choose another ` +
        "with `--data-dir`.",
      { cause },
    );
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "this user may not read and write there",
  EPERM: "this user may not read and write there",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  ENOENT: "a directory cannot be created there",
  ENOTDIR: "it is a file, or inside one",
  EEXIST: "it is a file",
};

/** A file of ours belongs to the owner of the data directory, who can then use it without us. */
export async function giveToOwner(home: Home, path: string): Promise<void> {
  const { uid, gid } = await stat(home.dataDir);
  if (home.identity.switched && uid !== 0) await giveTo({ ...home.identity, uid, gid }, path);
}
