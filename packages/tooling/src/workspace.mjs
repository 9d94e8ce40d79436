import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The folder of the workspace. */
export const root = fileURLToPath(new URL("../../../", import.meta.url)).replace(/[\\/]$/, "");

/** The pinned package manager; it is fetched by npx, nothing needs to be installed. */
export const pnpmVersion = "12.21.0";

/** Where stamps and logs of these tools lie. */
export const cacheDir = join(root, "node_modules", ".cache", "holdfast");

/** Packages that are built and published, in an order in which each finds what it bundles. */
export const publishedPackages = ["packages/sdk", "packages/graph", "packages/testing", "gateway-mock"];

/** Suites of unit tests: one Vitest configuration each. */
export const unitSuites = [
  "packages/tooling",
  "packages/core",
  "packages/store",
  "packages/engine",
  "packages/protocol",
  "packages/postgres-server",
  "packages/testing",
  "packages/graph",
  "packages/sdk",
  "gateway-mock",
  "gateway-mock/dashboard",
  "e2e/sim",
];

/** @param {string} path */
export const inRoot = (path) => resolve(root, path);

/** Every workspace package's folder, by its package.json. */
export function workspaceFolders() {
  const packages = readdirSync(inRoot("packages")).map((name) => `packages/${name}`);
  return [".", ...packages, "gateway-mock", "gateway-mock/dashboard", "e2e"].filter((folder) =>
    existsSync(inRoot(join(folder, "package.json"))),
  );
}

/**
 * All files below some paths (files or folders), sorted, without node_modules and build results.
 * @param {readonly string[]} paths relative to the root
 * @returns {string[]} relative to the root
 */
export function filesBelow(paths, base = root) {
  /** @type {string[]} */
  const found = [];
  /** @param {string} path */
  const visit = (path) => {
    const kind = lstatSync(path, { throwIfNoEntry: false });
    if (kind?.isFile()) found.push(relative(base, path).replaceAll("\\", "/"));
    if (!kind?.isDirectory()) return;
    for (const name of readdirSync(path)) {
      if (name !== "node_modules" && name !== "dist" && name !== ".git") visit(join(path, name));
    }
  };
  for (const path of paths) visit(join(base, path));
  return found.sort();
}

/**
 * A digest of names and contents.
 * @param {readonly string[]} files relative to the root
 * @param {readonly string[]} [extra] other things the digest stands for
 */
export function digest(files, extra = []) {
  const hash = createHash("sha256");
  for (const text of extra) hash.update(`${text}\0`);
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(inRoot(file)))
      .update("\0");
  return hash.digest("hex");
}

/** @param {string} bin path below the root's node_modules, such as `tsup/dist/cli-default.js` */
export const tool = (bin) => join(root, "node_modules", bin);

/**
 * Whether a module is the program that was started, and not imported by another.
 * @param {string} url the module's `import.meta.url`
 */
export const isProgram = (url) =>
  process.argv[1] !== undefined && pathToFileURL(realpathSync(process.argv[1])).href === url;

/**
 * Ends the program with one clear text instead of a stack.
 * @param {unknown} error
 */
export function fail(error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
