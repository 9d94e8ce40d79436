/** What the command line of the benchmark says. Pure: it reads no environment and starts nothing. */
import { parseArgs } from "node:util";

/** How much work a row is: `tiny` shows that a scenario works, `large` takes up to an hour. */
export const SIZES = /** @type {const} */ (["tiny", "quick", "usual", "large"]);

/** @typedef {(typeof SIZES)[number]} Size */

/**
 * @typedef {object} BenchOptions
 * @property {readonly string[]} names scenarios to run, in their order
 * @property {string | undefined} against commit, branch or folder to compare with
 * @property {number | undefined} rounds
 * @property {Size} size
 * @property {boolean} list
 * @property {boolean} cpuProf
 * @property {boolean} docs
 * @property {string | undefined} results folder for raw rows
 */

export const USAGE = `npm run bench -- [options]
  --list             names and titles of the scenarios
  --only a,b         these scenarios, and those whose names begin with one of these and a dash
  --against <ref>    the same on another commit, in turn; a folder with a built checkout may be given as well
  --rounds N         how often each scenario is measured
  --size ${SIZES.join("|")}
  --results <folder> where the raw rows go; default e2e/bench/results
  --docs             writes the figures and plots of docs/performance.md from what was measured
  --cpu-prof         CPU profiles of app and gateway beside the raw rows`;

/**
 * @param {readonly string[]} args
 * @param {readonly { name: string, onRequest?: boolean }[]} scenarios
 * @returns {BenchOptions}
 * @throws Error with a sentence for the reader
 */
export function readOptions(args, scenarios) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      against: { type: "string" },
      rounds: { type: "string" },
      size: { type: "string", default: "usual" },
      list: { type: "boolean", default: false },
      results: { type: "string" },
      docs: { type: "boolean", default: false },
      "cpu-prof": { type: "boolean", default: false },
    },
  });
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && (!Number.isInteger(rounds) || rounds < 1)) {
    throw new Error(`--rounds must be a whole number from 1 on, not "${values.rounds}".`);
  }
  const size = SIZES.find((one) => one === values.size);
  if (size === undefined) throw new Error(`--size must be ${SIZES.join(", ")}, not "${values.size}".`);
  if (values.docs && values.against !== undefined) throw new Error("--docs is about this build alone, not --against.");
  if (values.against === "") throw new Error("--against needs a commit, a branch or a folder.");
  return {
    names: chosen(values.only, scenarios),
    against: values.against,
    rounds,
    size,
    list: values.list,
    cpuProf: values["cpu-prof"],
    docs: values.docs,
    results: values.results,
  };
}

/**
 * @param {string | undefined} only
 * @param {readonly { name: string, onRequest?: boolean }[]} scenarios
 */
function chosen(only, scenarios) {
  if (only === undefined) return scenarios.filter(({ onRequest }) => !onRequest).map(({ name }) => name);
  const words = only.split(",").map((word) => word.trim());
  const matches = (/** @type {string} */ name, /** @type {string} */ word) =>
    name === word || name.startsWith(`${word}-`);
  const unknown = words.filter((word) => !scenarios.some(({ name }) => matches(name, word)));
  if (unknown.length > 0) {
    const all = scenarios.map(({ name }) => name).join(", ");
    throw new Error(`There is no scenario ${unknown.join(", ")}; there are ${all}.`);
  }
  return scenarios.filter(({ name }) => words.some((word) => matches(name, word))).map(({ name }) => name);
}
