/**
 * Each guard that the simulation is tried without is where its mutation looks for it, once, in a file that the simulation is
 * bundled from, and what is left without it is TypeScript. Files move; a mutation that finds nothing switches nothing off.
 *
 *     node --import tsx mutations.mjs
 */
import { readFileSync } from "node:fs";
import { relative, sep } from "node:path";
import { transform } from "esbuild";
import { GUARDS } from "../../../e2e/sim/src/mutations.ts";
import { simulationSources } from "./simulate.mjs";
import { fail, inRoot, isProgram } from "./workspace.mjs";

/**
 * @typedef {object} Guard
 * @property {string} name
 * @property {readonly import("./simulate.mjs").Mutation[]} edits
 */

/**
 * What is wrong with the mutations of some guards.
 * @param {readonly Guard[]} guards
 * @param {{ bundled: ReadonlySet<string>, read: (file: string) => string }} tree `bundled`: files, from the workspace's root on
 * @returns {Promise<string[]>}
 */
export async function lostMutations(guards, { bundled, read }) {
  const names = guards.map(({ name }) => name);
  const problems = names.filter((name, i) => names.indexOf(name) !== i).map((name) => `${name}: there are two of it`);
  for (const { name, edits } of guards) {
    for (const file of new Set(edits.map((edit) => edit.file))) {
      if (!bundled.has(file)) {
        problems.push(`${name}: the simulation has no ${file}`);
        continue;
      }
      let text = read(file);
      for (const { find, replace } of edits.filter((edit) => edit.file === file)) {
        const parts = text.split(find);
        if (parts.length === 2) text = parts.join(replace);
        else problems.push(`${name}: ${file} has ${parts.length - 1} times \`${find}\``);
      }
      const broken = await syntaxErrorIn(text);
      if (broken) problems.push(`${name}: ${file} cannot be read without it: ${broken}`);
    }
  }
  return problems;
}

/** @param {string} text */
async function syntaxErrorIn(text) {
  return transform(text, { loader: "ts", logLevel: "silent" }).then(
    () => undefined,
    (error) => String(error.message).split("\n")[1] ?? String(error),
  );
}

if (isProgram(import.meta.url)) {
  try {
    const sources = await simulationSources();
    const bundled = new Set(sources.map((path) => relative(inRoot("."), path).split(sep).join("/")));
    const problems = await lostMutations(GUARDS, { bundled, read: (file) => readFileSync(inRoot(file), "utf8") });
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) throw new Error("Adapt the mutations in e2e/sim/src/*mutations.ts.");
    console.log(`${GUARDS.length} guards are where their mutations look for them.`);
  } catch (error) {
    fail(error);
  }
}
