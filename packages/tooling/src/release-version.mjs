/**
 * `npm run release:version`: turns the changesets into new versions and changelogs, and writes the versions where the
 * packages tell their own.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { endWithChildren, run } from "./processes.mjs";
import { fail, inRoot, isProgram, publishedPackages, root } from "./workspace.mjs";

/** Constants that must be the version of the package they are in; tests compare them. */
const constants = ["packages/sdk", "gateway-mock"];

/** @param {string} folder of the workspace */
export async function releaseVersion(folder) {
  const changesets = inRoot("node_modules/@changesets/cli/bin.js");
  const { code, output } = await run(process.execPath, [changesets, "version"], { cwd: folder, output: "collect" });
  if (code !== 0) throw new Error(output);
  for (const name of constants) {
    const file = join(folder, name, "src/version.ts");
    const text = readFileSync(file, "utf8");
    const next = text.replace(/(VERSION = )"[^"]+"/, `$1"${versionOf(folder, name)}"`);
    writeFileSync(file, next);
  }
  return publishedPackages.map((name) => `${name} ${versionOf(folder, name)}`);
}

/**
 * @param {string} folder
 * @param {string} name
 * @returns {string}
 */
const versionOf = (folder, name) => JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")).version;

if (isProgram(import.meta.url)) {
  endWithChildren();
  try {
    for (const line of await releaseVersion(resolve(root))) console.log(line);
  } catch (error) {
    fail(error);
  }
}
