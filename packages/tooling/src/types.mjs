/** How the workspace is type-checked: one program of all packages, tools and end-to-end tests (`tsconfig.all.json`). */
import { join } from "node:path";
import { cacheDir, inRoot, tool } from "./workspace.mjs";

/** The compiler that is written in Go: the same verdict in a quarter of the time. */
const fast = inRoot("packages/tooling/node_modules/typescript-7-0/bin/tsc");
/** The compiler that builds the packages' declarations. */
const building = tool("typescript/bin/tsc");

/**
 * @param {{ incremental?: boolean, compiler?: "fast" | "building", project?: string }} [options] incremental: keep what was found, so that
 *   the next time only what changed is looked at
 *   project: the file or folder of its configuration
 * @returns {string[]} arguments of Node
 */
export function typeCheck({ incremental = false, compiler = "fast", project = "tsconfig.all.json" } = {}) {
  const kept = ["--incremental", "--tsBuildInfoFile", join(cacheDir, "types.tsbuildinfo")];
  const args = [compiler === "fast" ? fast : building, "-p", inRoot(project)];
  return incremental ? [...args, ...kept] : args;
}
