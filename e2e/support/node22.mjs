/** A Node that runs the `inngest` package, which needs 22 or newer: this one, or the one an optional dependency brings. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const require = createRequire(import.meta.url);

/** @returns {Promise<string>} path of the program */
export async function node22() {
  if (major(process.versions.node) >= 22) return process.execPath;
  const name = `node22-${process.platform}-${process.arch}`;
  const path = installed(name);
  if (path === undefined) {
    throw new Error(
      `The tests with the inngest package need Node 22 or newer; this is ${process.versions.node}, and the optional dependency ` +
        `${name} is not installed. Run the tests with a newer Node, or install the package with npm run setup (it exists for ` +
        "linux-x64 and darwin-arm64).",
    );
  }
  const { stdout } = await promisify(execFile)(path, ["--version"]);
  if (major(stdout.trim().slice(1)) < 22) throw new Error(`${path} is Node ${stdout.trim()}; 22 or newer is needed.`);
  return path;
}

/** @param {string} name */
function installed(name) {
  try {
    const path = join(dirname(require.resolve(`${name}/package.json`)), "bin/node");
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} version */
const major = (version) => Number(version.split(".")[0]);
