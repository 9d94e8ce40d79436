/** Which files were changed in this checkout. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./workspace.mjs";

/**
 * Files that differ from the last commit, and new ones that git does not ignore; not those that were deleted.
 * @param {string} [base]
 * @returns {string[] | undefined} relative to the base; undefined where there is no git or no commit yet
 */
export function changedFiles(base = root) {
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync("git", ["-C", base, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).split("\0");
  try {
    const tracked = git("diff", "--name-only", "--relative", "--no-renames", "-z", "HEAD");
    const added = git("ls-files", "-z", "--others", "--exclude-standard");
    const all = [...new Set([...tracked, ...added])].filter((path) => path !== "" && existsSync(join(base, path)));
    return all.sort();
  } catch {
    return undefined;
  }
}
