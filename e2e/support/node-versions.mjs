/**
 * Node in other versions than the one that runs this, and other runtimes: optional dependencies bring them as packages.
 * Not every platform has every package; linux-x64 has all.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** Node 22 comes with everything else, the others with `packages/runtimes`. */
const places = [import.meta.url, new URL("../../packages/runtimes/package.json", import.meta.url)].map((url) =>
  createRequire(url),
);

/** The major versions that are supported; the package of 20 is the oldest release that is. */
export const supportedMajors = /** @type {const} */ ([20, 22, 24, 26]);

/**
 * A Node of one major version: the one that its package brings, else the one that runs this.
 * @param {number} major 18 (which is not supported), 20, 22, 24 or 26
 * @returns {Promise<string>} path of the program
 */
export async function nodeOf(major) {
  const name = `node${major}-${process.platform}-${process.arch}`;
  const path = installed(name, "bin/node") ?? (majorOf(process.versions.node) === major ? process.execPath : undefined);
  if (path === undefined) throw new Error(`Node ${major} is not here. ${cure(name)}`);
  const version = await versionOf(path);
  if (majorOf(version) !== major) throw new Error(`${path} is Node ${version}; ${major} is needed.`);
  return path;
}

/**
 * A Node that runs the `inngest` package, which needs 22 or newer.
 * @returns {Promise<string>} path of the program
 */
export async function node22() {
  return majorOf(process.versions.node) >= 22 ? process.execPath : nodeOf(22);
}

/**
 * @param {string} node path of the program
 * @returns {Promise<string>} such as "22.1.0"
 */
export async function versionOf(node) {
  const { stdout } = await promisify(execFile)(node, ["--version"]);
  return stdout.trim().replace(/^v/, "");
}

/** Runtimes that are not Node. */
export const otherRuntimes = /** @type {const} */ (["bun", "deno"]);

/**
 * Bun or Deno, where an optional dependency brings it.
 * @param {typeof otherRuntimes[number]} runtime
 * @returns {string} path of the program
 */
export function otherRuntime(runtime) {
  const [name, file] =
    runtime === "bun"
      ? [`@oven/bun-${process.platform}-${process.arch}`, "bin/bun"]
      : [`@deno/${process.platform}-${process.arch}-glibc`, "deno"];
  const path = installed(name, file);
  if (path === undefined) throw new Error(`${runtime} is not here. ${cure(name)}`);
  return path;
}

/** @param {string} name */
const cure = (name) =>
  `The optional dependency ${name} is not installed: npm run test:bundles installs it where it exists (linux-x64 has all of them).`;

/**
 * @param {string} name
 * @param {string} file
 */
function installed(name, file) {
  for (const require of places) {
    try {
      const path = join(dirname(require.resolve(`${name}/package.json`)), file);
      if (existsSync(path)) return path;
    } catch {
      // Not there.
    }
  }
  return undefined;
}

/** @param {string} version */
const majorOf = (version) => Number(version.split(".")[0]);
