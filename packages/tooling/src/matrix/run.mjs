/**
 * `npm run test:bundles`: the packed packages in every way in which apps are written, built and started, on every Node that
 * is supported, against one packed gateway. Names of environments as arguments run only those.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  nodeOf,
  otherRuntime,
  otherRuntimes,
  supportedMajors,
  versionOf,
} from "../../../../e2e/support/node-versions.mjs";
import { offlineProject, packAll } from "../packing.mjs";
import { endWithChildren, run, temporaryFolder } from "../processes.mjs";
import { setup } from "../setup.mjs";
import { fail } from "../workspace.mjs";
import { bundled, bundledApart, installed, makeBundle, writeApps } from "./environments.mjs";
import { table } from "./table.mjs";
import { tooOld, traps, writeTraps } from "./traps.mjs";

endWithChildren();
const { path: temp, remove } = temporaryFolder("holdfast-matrix-");
const counts = { passed: 0, failed: 0 };
const start = Date.now();

/**
 * @param {string} what
 * @param {string} problem
 */
function report(what, problem) {
  counts[problem === "" ? "passed" : "failed"] += 1;
  console.log(`${problem === "" ? "ok    " : "FAILED"} ${what}${problem && `\n${problem.trimEnd()}\n`}`);
}

/**
 * Makes the bundles once for all Nodes, two at a time.
 * @param {import("./environments.mjs").Folders} folders
 * @param {readonly import("./environments.mjs").Environment[]} environments
 */
async function bundleAll(folders, environments) {
  const waiting = environments.filter(({ bundler }) => bundler !== undefined);
  const lanes = [1, 2].map(async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const begin = Date.now();
      const problem = await makeBundle(folders, next);
      const file = join(folders.alone, next.bundler ?? "", `main.${next.extension}`);
      const size = problem === "" ? `, ${Math.round(statSync(file).size / 1024)} KiB` : "";
      report(`${next.name}: bundled (${((Date.now() - begin) / 1000).toFixed(1)} s${size})`, problem);
    }
  });
  await Promise.all(lanes);
}

/**
 * @param {readonly import("./environments.mjs").Environment[]} environments
 * @returns {Promise<import("./driver.mjs").Cell[]>}
 */
async function cellsOf(environments) {
  const nodes = await Promise.all(
    supportedMajors.map(async (major) => {
      const path = await nodeOf(major);
      return { path, major, version: await versionOf(path) };
    }),
  );
  const onNode = environments.flatMap(({ name, start: startOn }) =>
    nodes.flatMap((node) => {
      const how = startOn(node);
      return how === undefined ? [] : [{ row: name, column: `Node ${node.version}`, command: node.path, ...how }];
    }),
  );
  const others = environments.flatMap(({ name, others = {} }) =>
    otherRuntimes.flatMap((runtime) => {
      const how = others[runtime];
      return how === undefined ? [] : [{ row: name, column: runtime, command: otherRuntime(runtime), ...how }];
    }),
  );
  return [...onNode, ...others];
}

/**
 * The oldest Node that people may still have.
 * @param {import("./environments.mjs").Folders} folders
 * @returns {Promise<import("./driver.mjs").Cell[]>}
 */
async function oldCells(folders) {
  const node = await nodeOf(18);
  const column = `Node ${await versionOf(node)}`;
  return tooOld(folders).map(({ name, ...how }) => ({ row: name, column, command: node, ...how }));
}

/**
 * @param {string} project
 * @param {readonly import("./driver.mjs").Cell[]} cells
 * @returns {Promise<import("./driver.mjs").CellResult[]>}
 */
async function runCells(project, cells) {
  const [cellsFile, resultsFile] = [join(temp, "cells.json"), join(temp, "results.json")];
  writeFileSync(cellsFile, JSON.stringify(cells));
  const driver = fileURLToPath(new URL("./driver.mjs", import.meta.url));
  const { code, output, left } = await run(process.execPath, [driver, project, cellsFile, resultsFile], {
    cwd: project,
    output: "both",
    timeoutMs: 8 * 60_000,
  });
  report("one gateway served them all, and nothing is left", code === 0 && left.length === 0 ? "" : output + left);
  /** @type {import("./driver.mjs").CellResult[]} */
  const results = code === 0 ? JSON.parse(readFileSync(resultsFile, "utf8")) : [];
  for (const cell of cells) {
    const result = results.find(({ row, column }) => row === cell.row && column === cell.column);
    counts[result?.problem === "" ? "passed" : "failed"] += 1;
  }
  return cells.flatMap(({ row, column }) => results.filter((each) => each.row === row && each.column === column));
}

try {
  await setup({ runtimes: true });
  const folders = { project: join(temp, "app"), alone: join(temp, "alone") };
  mkdirSync(folders.alone);
  await offlineProject(folders.project, await packAll(temp), ["tsx", "vitest"]);
  writeApps(folders);
  writeTraps(folders);
  const wanted = process.argv.slice(2);
  const isWanted = (/** @type {string} */ name) => wanted.length === 0 || wanted.some((text) => name.includes(text));
  const all = [...installed(folders), ...bundled(folders), ...bundledApart(folders), ...traps(folders)];
  const environments = all.filter(({ name }) => isWanted(name));
  if (environments.length === 0) {
    throw new Error(
      `There is no environment ${wanted.join(", ")}; there are:\n${all.map(({ name }) => name).join("\n")}`,
    );
  }
  const needed = environments.map(({ needs, bundler }) => needs ?? bundler);
  await bundleAll(
    folders,
    all.filter(({ bundler }) => needed.includes(bundler)),
  );
  const old = wanted.length === 0 ? await oldCells(folders) : [];
  const results = await runCells(folders.project, [...(await cellsOf(environments)), ...old]);
  const text = (/** @type {import("./driver.mjs").CellResult} */ { problem, ms }) =>
    `${problem === "" ? "ok" : "FAILED"} ${(ms / 1000).toFixed(1)} s`;
  console.log(
    `\n${table(
      "environment",
      results.map((each) => ({ ...each, text: text(each) })),
    )}`,
  );
  console.log(`\nTook ${Math.round((Date.now() - start) / 1000)} s.`);
} catch (error) {
  counts.failed += 1;
  fail(error);
} finally {
  remove();
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
if (counts.failed > 0) process.exitCode = 1;
