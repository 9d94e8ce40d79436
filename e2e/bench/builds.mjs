/**
 * What is measured: a build of the packages, known by its published entry points alone (the SDK's import, the gateway's
 * bin), so that a build of another commit can stand beside that of this checkout. The benchmark's own programs are always
 * those of this checkout.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { run, temporaryFolder } from "../../packages/tooling/src/processes.mjs";
import { root } from "../../packages/tooling/src/workspace.mjs";

/**
 * @typedef {object} Build
 * @property {string} label
 * @property {string | null} commit
 * @property {string} sdkUrl what `import "holdfast"` loads
 * @property {string} gatewayBin what `holdfast-gateway` runs
 */

/** @returns {Build} */
export const thisBuild = () => buildIn(root, "this", commitOf(root, "HEAD"));

/**
 * The build of another commit, in a temporary folder; or that in a folder, used as it is.
 *
 * The files come from `git archive`: unlike a worktree it leaves nothing behind in the repository, also when this process
 * is killed; the folder then goes with the reaper of the tools.
 * @param {string} ref
 * @returns {Promise<Build & { remove(): void }>}
 */
export async function otherBuild(ref) {
  if (existsSync(join(ref, "gateway-mock/package.json"))) {
    const folder = resolve(ref);
    return { ...buildIn(folder, ref, commitOf(folder, "HEAD")), remove: () => {} };
  }
  const commit = commitOf(root, ref);
  if (commit === null) throw new Error(`--against: "${ref}" is neither a commit of this repository nor a checkout.`);
  const folder = temporaryFolder("holdfast-bench-");
  console.log(`Building ${ref} (${commit.slice(0, 8)}) in ${folder.path} ...`);
  const archive = execFileSync("git", ["-C", root, "archive", "--format=tar", commit], { maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-xf", "-", "-C", folder.path], { input: archive });
  const setup = join(folder.path, "packages/tooling/src/setup.mjs");
  const { code, output } = await run(process.execPath, [setup], { cwd: folder.path, output: "collect" });
  if (code !== 0) {
    folder.remove();
    throw new Error(`${ref} could not be built.\n${output.trimEnd()}`);
  }
  return { ...buildIn(folder.path, ref, commit), remove: folder.remove };
}

/**
 * @param {string} folder
 * @param {string} label
 * @param {string | null} commit
 * @returns {Build}
 */
function buildIn(folder, label, commit) {
  const sdk = manifestOf(join(folder, "packages/sdk"));
  const gateway = manifestOf(join(folder, "gateway-mock"));
  const entry = sdk.exports["."].import;
  const sdkFile = join(folder, "packages/sdk", entry.default ?? entry);
  const gatewayBin = join(folder, "gateway-mock", gateway.bin["holdfast-gateway"]);
  for (const file of [sdkFile, gatewayBin]) {
    if (!existsSync(file)) throw new Error(`${file} is missing: build that checkout first (npm run setup).`);
  }
  return { label, commit, sdkUrl: pathToFileURL(sdkFile).href, gatewayBin };
}

/** @param {string} folder */
const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));

/**
 * @param {string} folder
 * @param {string} ref
 */
function commitOf(folder, ref) {
  try {
    const args = ["-C", folder, "rev-parse", "--verify", "--quiet", `${ref}^{commit}`];
    return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return null;
  }
}
