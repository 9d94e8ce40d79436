import { createHash, randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { HoldfastError, type Log } from "@holdfast/core";
import { canEnter, giveTo, type Identity, ownIdentity, postgresIdentity } from "./identity.ts";
import { isDeliberatelyGone, type Origin, readOrigin, rememberOrigin } from "./origin.ts";
import { recordedPid } from "./pid-file.ts";
import { isPostmasterOf } from "./processes.ts";

/** Where a server's files are, and who runs it. */
export interface Home {
  /** What the user named. */
  readonly dataDir: string;
  /** Holds the cluster, its password, its log and the owner's lock: the data directory, or a stand-in for it. */
  readonly dir: string;
  /** The Postgres data directory proper. */
  readonly cluster: string;
  readonly identity: Identity;
}

const POINTER_FILE = "postgres.location";

interface HomeRequest {
  readonly dataDir: string;
  readonly stateDir: string;
  readonly log: Log;
}

export const clusterOf = (dir: string): string => join(dir, "postgres");

/**
 * Makes the data directory and decides where its files are. As root Postgres runs as an unprivileged user; where that
 * user cannot enter the data directory, the files live in a directory under `stateDir`, and the file
 * `postgres.location` in the data directory names it. It follows the data directory: moved with it, and removed at a
 * later start of any server with this `stateDir` once the data directory is gone.
 */
export async function openHome({ dataDir: given, stateDir, log }: HomeRequest): Promise<Home> {
  const wanted = resolve(given);
  const dataDir = await usable(wanted, async () => {
    if ((await mkdir(wanted, { recursive: true, mode: 0o755 })) !== undefined) {
      await chmod(wanted, 0o711);
      await writeFile(join(wanted, ".gitignore"), "*\n");
    }
    return realpath(wanted);
  });
  const identity = await identityFor(dataDir);
  const inPlace = !(await exists(join(dataDir, POINTER_FILE))) && (await canEnter(identity, dataDir));
  const dir = inPlace ? dataDir : await usable(dataDir, () => standIn({ dataDir, stateDir, log }, identity));
  if (!(await canEnter(identity, dir))) {
    throw new HoldfastError(
      "DATA_DIR_UNUSABLE",
      `Postgres does not run as root, and the user it runs as (${identity.uid}) can enter neither ${dataDir} nor ` +
        `${dir}. Choose a directory that every user can enter with \`--data-dir\`.`,
    );
  }
  return { dataDir, dir, cluster: clusterOf(dir), identity };
}

/** A fresh temporary home that the server's user can enter. */
export async function openTemporaryHome(stateDir: string): Promise<Home> {
  const identity = postgresIdentity();
  const bases = identity.switched ? [tmpdir(), "/tmp", "/var/tmp", join(stateDir, "tmp")] : [tmpdir()];
  for (const base of new Set(bases)) {
    if (base.startsWith(stateDir)) await makeStateDir(base);
    const dir = await mkdtemp(join(await realpath(base), "holdfast-pg-")).catch(() => undefined);
    if (dir === undefined) continue;
    if (identity.switched) await chmod(dir, 0o711);
    if (await canEnter(identity, dir)) return { dataDir: dir, dir, cluster: clusterOf(dir), identity };
    await rm(dir, { recursive: true, force: true });
  }
  throw new HoldfastError(
    "DATA_DIR_UNUSABLE",
    `There is no temporary directory that Postgres can use; tried ${bases.join(", ")}. Set TMPDIR to one.`,
  );
}

/** Turns what the file system says about a data directory into a sentence for the user. */
export async function usable<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (HoldfastError.is(cause)) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = REASONS[code ?? ""] ?? message;
    throw new HoldfastError(
      "DATA_DIR_UNUSABLE",
      `The data directory ${dataDir} cannot be used: ${why}. Choose another with \`--data-dir\`.`,
      { cause },
    );
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "this user may not read and write there",
  EPERM: "this user may not read and write there",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  ENOTDIR: "it is, or lies below, a file",
  EEXIST: "it is a file",
};

/** A cluster in a data directory that a user made goes on under that user, so that they can use it again without us. */
async function identityFor(dataDir: string): Promise<Identity> {
  const owner = await stat(clusterOf(dataDir)).catch(() => undefined);
  return postgresIdentity(owner?.isDirectory() ? owner : undefined);
}

async function standIn({ dataDir, stateDir, log }: HomeRequest, identity: Identity): Promise<string> {
  await makeStateDir(join(stateDir, "clusters"));
  const places = await realpath(join(stateDir, "clusters"));
  await removeOrphans(places, log);
  const pointed = (await readFile(join(dataDir, POINTER_FILE), "utf8").catch(() => "")).trim();
  if (pointed !== "") {
    const origin = await readOrigin(pointed);
    const unfinished = !origin && (await exists(pointed)) && !(await exists(clusterOf(pointed)));
    if (!origin && !unfinished) {
      throw new HoldfastError(
        "DATA_DIR_UNUSABLE",
        `The data of ${dataDir} is kept in ${pointed}, which is missing or damaged. Restore it, or remove ` +
          `${join(dataDir, POINTER_FILE)} to start empty.`,
      );
    }
    if (origin) await refuseCopy(dataDir, pointed, origin);
    await rememberOrigin(pointed, dataDir);
    return pointed;
  }
  const name = createHash("sha256").update(dataDir).digest("hex").slice(0, 12);
  const dir = join(places, `${name}-${randomUUID().slice(0, 8)}`);
  await mkdir(dir, { mode: 0o711 });
  await chmod(dir, 0o711);
  // In this order: what has an origin and no pointer to it is taken for an orphan.
  await writeFile(join(dataDir, POINTER_FILE), `${dir}\n`);
  await rememberOrigin(dir, dataDir);
  log("info", "The database is kept elsewhere: the user that Postgres runs as cannot enter the data directory.", {
    dataDir,
    dir,
    user: identity.uid,
  });
  return dir;
}

/** A data directory that was copied would share its database with the original. */
async function refuseCopy(dataDir: string, dir: string, origin: Origin): Promise<void> {
  if (origin.dataDir === dataDir || !(await pointsTo(origin.dataDir, dir))) return;
  throw new HoldfastError(
    "DATA_DIR_UNUSABLE",
    `The data directory ${dataDir} is a copy of ${origin.dataDir}, which has the same database (${dir}). Remove ` +
      `${join(dataDir, POINTER_FILE)} to start empty, or use the original.`,
  );
}

async function removeOrphans(places: string, log: Log): Promise<void> {
  for (const name of await readdir(places)) {
    const dir = join(places, name);
    const origin = await readOrigin(dir);
    if (!origin || (await pointsTo(origin.dataDir, dir)) || !(await isDeliberatelyGone(origin))) continue;
    const pid = await recordedPid(clusterOf(dir));
    if (pid !== undefined && (await isPostmasterOf(pid, clusterOf(dir)))) continue;
    log("info", "A database is removed: its data directory was removed.", { dataDir: origin.dataDir, dir });
    await rm(dir, { recursive: true, force: true });
  }
}

const pointsTo = async (dataDir: string, dir: string): Promise<boolean> =>
  (await readFile(join(dataDir, POINTER_FILE), "utf8").catch(() => "")).trim() === dir;

/** Everybody may enter, only we may write, whatever the umask is. */
async function makeStateDir(dir: string): Promise<void> {
  const first = await mkdir(dir, { recursive: true, mode: 0o755 });
  if (first !== undefined) {
    for (let at = dir; at.length >= first.length; at = dirname(at)) await chmod(at, 0o755);
  }
  const { uid, mode } = await lstat(dir);
  if (uid === ownIdentity().uid && (mode & 0o022) === 0) return;
  throw new HoldfastError(
    "DATA_DIR_UNUSABLE",
    `The directory ${dir} can be changed by other users; correct its owner and mode.`,
  );
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** A file of ours in the home belongs to whoever owns the home, so that they can use it without us. */
export async function writeOwned(home: Home, name: string, text: string, mode: number): Promise<void> {
  const path = join(home.dir, name);
  await writeFile(path, text, { mode });
  const { uid, gid } = await stat(home.dir);
  if (home.identity.switched && uid !== 0) await giveTo({ ...home.identity, uid, gid }, path);
}
