/**
 * `npm run check`: what can be said within seconds about the files that were changed since the last commit: types,
 * format, size, and the pure tests that reach them. `npm run check -- --all` asks the same of every file. `npm run verify`
 * has the other gates, `npm test` the other tests.
 */
import { extname } from "node:path";
import { changedFiles } from "./changes.mjs";
import { colours, endWithChildren, run } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { typeCheck } from "./types.mjs";
import { fail, isProgram, root, tool } from "./workspace.mjs";

const CODE = [".ts", ".mts", ".mjs", ".js", ".cjs"];
const isCode = (/** @type {string} */ path) => CODE.includes(extname(path));
const isGenerated = (/** @type {string} */ path) => path.includes("/generated/");

/** @typedef {{ name: string, args: string[] }} Part args: of Node */

/**
 * What is to be run for some changed files; for every file when there is no list.
 * @param {readonly string[] | undefined} changed
 * @returns {Part[]}
 */
export function partsFor(changed) {
  const biome = [tool("@biomejs/biome/bin/biome"), "check", "--error-on-warnings", "--no-errors-on-unmatched"];
  const oxlint = [tool("oxlint/bin/oxlint"), "--deny-warnings", "--format=unix", "--no-error-on-unmatched-pattern"];
  const vitest = [tool("vitest/vitest.mjs")];
  // Test files share a process, and what it has loaded: a third of the time. `npm test` keeps them apart.
  const quiet = ["--run", "--reporter=agent", "--passWithNoTests", "--no-isolate"];
  if (changed === undefined) {
    return [
      { name: "types", args: typeCheck({ incremental: true }) },
      { name: "tests", args: [...vitest, "run", ...quiet] },
      { name: "format", args: [...biome, "."] },
      { name: "size", args: oxlint },
    ];
  }
  const code = changed.filter((path) => isCode(path) && !isGenerated(path));
  // What is generated is not formatted, but tests depend on it.
  const tested = changed.filter(isCode);
  return [
    { name: "types", args: typeCheck({ incremental: true }) },
    ...(tested.length === 0 ? [] : [{ name: "tests", args: [...vitest, "related", ...tested, ...quiet] }]),
    ...(changed.length === 0 ? [] : [{ name: "format", args: [...biome, ...changed] }]),
    ...(code.length === 0 ? [] : [{ name: "size", args: [...oxlint, ...code] }]),
  ];
}

/** @param {Part} part */
async function runPart({ name, args }) {
  const start = Date.now();
  const { code, output } = await run(process.execPath, args, {
    cwd: root,
    output: "collect",
    env: colours(),
  });
  const seconds = ((Date.now() - start) / 1000).toFixed(1);
  console.log(`${code === 0 ? "ok    " : "FAILED"} ${name} (${seconds} s)`);
  if (code !== 0) console.log(`${output.trim()}\n`);
  return code === 0;
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  try {
    await setup({ build: false });
    const start = Date.now();
    const changed = process.argv.includes("--all") ? undefined : changedFiles();
    console.log(changed === undefined ? "Checking every file." : `Checking ${changed.length} changed files.`);
    const passed = await Promise.all(partsFor(changed).map(runPart));
    const failed = passed.filter((each) => !each).length;
    console.log(
      `Took ${((Date.now() - start) / 1000).toFixed(1)} s: ${passed.length - failed} passed, ${failed} failed`,
    );
    if (failed > 0) process.exitCode = 1;
  } catch (error) {
    fail(error);
  }
}
