/**
 * `npm run setup`: installs what the lockfile names and builds the packages. It needs Node, npm and git, nothing else,
 * and takes a moment when all is done already. Plain Node without dependencies: it runs before anything is installed.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "./build.mjs";
import { endWithChildren, run } from "./processes.mjs";
import { cacheDir, digest, fail, inRoot, isProgram, pnpmVersion, root, workspaceFolders } from "./workspace.mjs";

/** Packages whose dependencies are large and needed by one command alone: other runtimes, the documentation's site. */
const RUNTIMES = "@holdfast/runtimes";
const SITE = "@holdfast/site";

/**
 * Throws with a sentence for the reader when this Node is too old.
 * @param {string} version such as "20.19.0"
 */
export function checkNode(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new Error(`Holdfast needs Node 20.19 or newer; this is Node ${version}. Install a newer one and try again.`);
}

/**
 * @param {{ runtimes?: boolean, site?: boolean, build?: boolean }} [options] runtimes: also the other versions of Node, Bun
 *   and Deno (half a gigabyte); site: what builds the documentation's site; build: false where the sources are enough
 */
export async function setup({ runtimes = false, site = false, build: built = true } = {}) {
  checkNode();
  await install(["--filter", `!${RUNTIMES}`, "--filter", `!${SITE}`], "installed");
  if (runtimes) await install(["--filter", RUNTIMES], "installed-runtimes");
  if (site) await install(["--filter", SITE], "installed-site");
  if (built) await build();
}

/**
 * @param {string[]} which packages of the workspace
 * @param {string} stampName
 */
async function install(which, stampName) {
  const stampFile = join(cacheDir, stampName);
  const stamp = installStamp();
  if (existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp && missing().length === 0) return;
  console.log(`Installing dependencies with pnpm ${pnpmVersion} ...`);
  rmSync(stampFile, { force: true });
  const args = ["-y", `pnpm@${pnpmVersion}`, ...which, "install", "--frozen-lockfile", "--reporter=append-only"];
  let output = "";
  for (const waitMs of [0, 2000, 8000]) {
    // Two npx at the same time may trip over their common cache, and a network may hiccup.
    if (waitMs > 0) await sleep(waitMs + Math.random() * 2000);
    const result = await run("npx", args, { cwd: root, env: { CI: "true" }, output: "collect" });
    output = result.output;
    const absent = missing();
    if (result.code === 0 && absent.length === 0) {
      mkdirSync(cacheDir, { recursive: true });
      writeFileSync(stampFile, stamp);
      return;
    }
    if (result.code === 0) output += `\nNot installed: ${absent.join(", ")}`;
    if (/ERR_PNPM_OUTDATED_LOCKFILE/.test(output)) break;
  }
  throw new Error(`Dependencies could not be installed.\n${output.trimEnd()}`);
}

function installStamp() {
  const manifests = workspaceFolders().map((folder) => join(folder, "package.json"));
  return digest(["pnpm-lock.yaml", "pnpm-workspace.yaml", ...manifests], [process.platform, process.arch, pnpmVersion]);
}

/** Direct dependencies that are not where they should be. */
function missing() {
  return workspaceFolders().flatMap((folder) => {
    /** @type {{ dependencies?: Record<string, string>, devDependencies?: Record<string, string> }} */
    const manifest = JSON.parse(readFileSync(inRoot(join(folder, "package.json")), "utf8"));
    return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })
      .map((name) => join(folder, "node_modules", name))
      .filter((path) => !existsSync(inRoot(join(path, "package.json"))));
  });
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  try {
    await setup();
    console.log("Ready: dependencies are installed and the packages are built.");
  } catch (error) {
    fail(error);
  }
}
