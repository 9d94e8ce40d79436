/** The published packages as tarballs, and throwaway projects that have them installed. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { run } from "./processes.mjs";
import { inRoot, pnpmVersion, publishedPackages } from "./workspace.mjs";

/**
 * @typedef {object} Packed
 * @property {string} folder of the package in the workspace
 * @property {string} name
 * @property {string} version
 * @property {string} tarball
 * @property {string[]} entries what can be imported
 * @property {string[]} bins
 */

/**
 * Packs one package; rejects with what the package manager said.
 * @param {string} folder
 * @param {string} temp
 * @returns {Promise<Packed>}
 */
export async function pack(folder, temp) {
  const manifest = JSON.parse(readFileSync(inRoot(join(folder, "package.json")), "utf8"));
  const target = join(temp, "tarballs", folder.replaceAll("/", "-"));
  mkdirSync(target, { recursive: true });
  const args = ["-y", `pnpm@${pnpmVersion}`, "pack", "--pack-destination", target];
  const { code, output } = await run("npx", args, { cwd: inRoot(folder), output: "collect", timeoutMs: 180_000 });
  const [file] = readdirSync(target);
  if (code !== 0 || file === undefined) throw new Error(`${manifest.name} could not be packed.\n${output}`);
  return {
    folder,
    name: manifest.name,
    version: manifest.version,
    tarball: join(target, file),
    // Entries that are scripts and not modules have no import condition.
    entries: Object.entries(manifest.exports)
      .filter(([, target]) => typeof target === "object" && "import" in target)
      .map(([path]) => join(manifest.name, path)),
    bins: Object.keys(manifest.bin ?? {}),
  };
}

/**
 * All published packages.
 * @param {string} temp
 * @returns {Promise<Packed[]>}
 */
export async function packAll(temp) {
  /** @type {Packed[]} */
  const all = [];
  for (const folder of publishedPackages) all.push(await pack(folder, temp));
  return all;
}

/**
 * @param {string} tarball
 * @param {string} target gets the package's files
 */
export async function unpack(tarball, target) {
  mkdirSync(target, { recursive: true });
  const args = ["-xzf", tarball, "-C", target, "--strip-components=1"];
  const { code, output } = await run("tar", args, { output: "collect", timeoutMs: 60_000 });
  if (code !== 0) throw new Error(`${tarball} could not be unpacked.\n${output}`);
}

/**
 * A project with the packages installed from their tarballs, without a network: what they depend on is linked from the
 * workspace, which has it in the very versions that they ask for.
 * @param {string} folder
 * @param {readonly Packed[]} all
 * @param {readonly string[]} tools dependencies of the workspace's root that the project has, too
 */
export async function offlineProject(folder, all, tools = []) {
  const modules = join(folder, "node_modules");
  mkdirSync(modules, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "app", private: true }));
  for (const { folder: source, name, tarball } of all) {
    await unpack(tarball, join(modules, name));
    const { dependencies = {} } = JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));
    for (const dependency of Object.keys(dependencies)) {
      link(inRoot(join(source, "node_modules", dependency)), join(modules, name, "node_modules", dependency));
    }
  }
  for (const name of tools) link(inRoot(join("node_modules", name)), join(modules, name));
}

/**
 * @param {string} target
 * @param {string} path
 */
function link(target, path) {
  if (!existsSync(target)) throw new Error(`${target} is not installed: run npm run setup.`);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, "junction");
}
