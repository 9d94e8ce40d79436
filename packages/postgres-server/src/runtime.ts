/**
 * Finds Postgres programs that the cluster's owner can run: the installed ones, or a copy in a folder that every
 * user may enter.
 */
import { createHash, randomUUID } from "node:crypto";
import { chmod, copyFile, lstat, mkdir, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { HoldfastError, type Log } from "@holdfast/core";
import { runCommand } from "./commands.ts";
import { canEnter, type Identity, ownIdentity } from "./identity.ts";
import { findNativeFolder, type NativeFolder } from "./native.ts";

/** Programs that are known to run as the user that needs them. */
export interface Runtime {
  readonly postgres: string;
  readonly initdb: string;
  readonly pgCtl: string;
  /** Such as `18.4`. */
  readonly version: string;
  /** Such as `18`: the format of the data. */
  readonly major: string;
}

interface RuntimeRequest {
  readonly identity: Identity;
  readonly nativeDir: string | undefined;
  readonly log: Log;
}

const prepared = new Map<string, Promise<Runtime>>();

/**
 * Finds programs that this user can run: the installed ones where they are, or else a copy in a directory that every
 * user can enter. A copy is needed when we are root and the installation lies under a directory that only root can
 * enter, and when the package manager left out the package's install script, which makes links between libraries.
 */
export function prepareRuntime(request: RuntimeRequest): Promise<Runtime> {
  const key = `${request.identity.uid} ${request.nativeDir ?? ""}`;
  let runtime = prepared.get(key);
  if (!runtime) {
    runtime = prepare(request);
    prepared.set(key, runtime);
    runtime.catch(() => prepared.delete(key));
  }
  return runtime;
}

async function prepare({ identity, nativeDir, log }: RuntimeRequest): Promise<Runtime> {
  const native = await findNativeFolder(nativeDir, log);
  const inPlace = await probe(native.dir, identity);
  if ("version" in inPlace) return inPlace;
  let failure = inPlace.failure;
  // No list: nothing can be copied, and the reason is that of the first failure.
  const files = await listFiles(native).catch(() => []);
  for (const base of files.length > 0 ? cacheBases(identity) : []) {
    const copy = join(base, `holdfast-postgres-${native.label}-${fingerprint(files)}-${ownIdentity().uid}`);
    if (!(await prepareCopy(native, files, copy))) continue;
    if (!(await canEnter(identity, copy))) continue;
    const runtime = await probe(copy, identity);
    if ("version" in runtime) {
      log("debug", "Running Postgres from a copy of its programs.", { dir: copy });
      return runtime;
    }
    failure = runtime.failure;
  }
  throw new HoldfastError(
    "POSTGRES_START_FAILED",
    `The Postgres programs in ${native.dir} cannot be run here: ${failure || "no reason given"}. ` +
      "Use your own server with `--database-url`.",
  );
}

/** Temporary directories may forbid programs. */
const LAST_RESORT = "/var/cache";

function cacheBases(identity: Identity): string[] {
  const temporary = [tmpdir(), "/tmp", "/var/tmp"];
  return [...new Set(identity.switched ? [...temporary, LAST_RESORT] : temporary.slice(0, 1))];
}

async function probe(dir: string, identity: Identity): Promise<Runtime | { failure: string }> {
  const suffix = process.platform === "win32" ? ".exe" : "";
  const program = (name: string): string => join(dir, "bin", name + suffix);
  for (const name of ["initdb", "postgres"]) {
    const { code, output } = await runCommand(program(name), ["--version"], identity);
    const version = /\(PostgreSQL\) ((\d+)\S*)/.exec(output);
    if (code !== 0 || !version) return { failure: output };
    if (name === "postgres") {
      const [, full = "", major = ""] = version;
      return {
        postgres: program("postgres"),
        initdb: program("initdb"),
        pgCtl: program("pg_ctl"),
        version: full,
        major,
      };
    }
  }
  return { failure: "" };
}

/** A file of the installation; a link has the name it leads to. */
interface NativeFile {
  readonly path: string;
  readonly size: number;
  readonly link?: string;
}

/** Files and the links between them, also those that an install script should have made. */
async function listFiles({ dir }: NativeFolder): Promise<NativeFile[]> {
  const links: { source: string; target: string }[] = await readFile(join(dir, "pg-symlinks.json"), "utf8").then(
    (text) => JSON.parse(text),
    () => [],
  );
  const files = new Map<string, NativeFile>();
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = relative(dir, join(entry.parentPath, entry.name));
    files.set(path, { path, size: (await lstat(join(dir, path))).size });
  }
  for (const { source, target } of links) {
    const [from, to] = [relative("native", source), relative("native", target)];
    files.set(to, { path: to, size: 0, link: relative(dirname(to), from) });
  }
  return [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function fingerprint(files: readonly NativeFile[]): string {
  const hash = createHash("sha256");
  for (const { path, size, link } of files) hash.update(`${path}\0${size}\0${link ?? ""}\n`);
  return hash.digest("hex").slice(0, 16);
}

/**
 * Makes the copy complete, file by file, each by rename: safe when several processes do it at once, and when a cleaner
 * of temporary files took some away. False: this place cannot be used or trusted.
 */
async function prepareCopy(native: NativeFolder, files: readonly NativeFile[], copy: string): Promise<boolean> {
  try {
    await mkdir(copy, { recursive: true, mode: 0o755 });
    const own = await lstat(copy);
    const safe = own.isDirectory() && own.uid === ownIdentity().uid && (own.mode & 0o022) === 0;
    if (!safe && process.platform !== "win32") return false;
    await chmod(copy, 0o755);
    for (const file of files) await placeFile(native, file, copy);
    return true;
  } catch {
    return false;
  }
}

async function placeFile(native: NativeFolder, file: NativeFile, copy: string): Promise<void> {
  const target = join(copy, file.path);
  const present = await lstat(target).catch(() => undefined);
  if (present && (file.link !== undefined ? present.isSymbolicLink() : present.size === file.size)) return;
  const folder = dirname(target);
  if ((await mkdir(folder, { recursive: true })) !== undefined) await openFolders(copy, folder);
  const fresh = join(folder, `.${randomUUID()}`);
  try {
    if (file.link !== undefined) {
      await symlink(file.link, fresh);
    } else {
      await copyFile(join(native.dir, file.path), fresh);
      await chmod(fresh, 0o755);
    }
    await rename(fresh, target);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

/** Whatever the umask was, every user may enter the folders of the copy. */
async function openFolders(top: string, folder: string): Promise<void> {
  for (let at = folder; at.length > top.length; at = dirname(at)) await chmod(at, 0o755);
}
