/**
 * Runs one Vitest suite and counts what passed, what failed and what it left behind. Tests that open sockets or start
 * processes and fail get a second try, of which the summary speaks (decision 139).
 */
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { temporaryParent } from "./memory-folder.mjs";
import { run, temporaryFolder } from "./processes.mjs";
import { inRoot, tool } from "./workspace.mjs";

/**
 * What is kept in the temporary folder on purpose and goes away with it: caches of tools, the copy of Postgres' programs
 * that an unprivileged user can reach, Vitest's own folder (a random name of 21 characters).
 */
const toolCaches = /^(tsx-|node-compile-cache|v8-compile-cache|holdfast-postgres-|[\w-]{21}$|results\.json$)/;

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {string[]} problems what failed beside tests
 * @property {string[]} failures each failed test, and the first lines of what it says
 * @property {string[]} files those that have a failed test
 */

/** How many lines of a failed test's message are repeated in the summary. */
const MESSAGE_LINES = 6;

/**
 * @typedef {object} TestResult
 * @property {string} status
 * @property {string} fullName
 * @property {string[] | null} [failureMessages]
 */

/** @param {{ name: string, assertionResults: TestResult[] }} file */
function failuresIn(file) {
  return file.assertionResults
    .filter(({ status }) => status === "failed")
    .map(({ fullName, failureMessages }) => {
      const lines = (failureMessages ?? []).join("\n").split("\n").slice(0, MESSAGE_LINES);
      return [`${basename(file.name)}: ${fullName}`, ...lines.map((line) => `    ${line.trim()}`)].join("\n");
    });
}

/**
 * The numbers of a Vitest JSON report. A file that could not be loaded and a run that failed without a failing test
 * (an unhandled error, a crash, no tests at all) count as one failure each.
 * @param {string | undefined} json
 * @param {number} exitCode
 * @returns {Counts}
 */
export function countResults(json, exitCode) {
  if (json === undefined)
    return { passed: 0, failed: 1, problems: ["It ended without a report."], failures: [], files: [] };
  /** @type {{ numPassedTests: number, numFailedTests: number, testResults: { name: string, status: string, assertionResults: TestResult[] }[] }} */
  const report = JSON.parse(json);
  const unloaded = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  const problems = unloaded.map((file) => `${file.name} could not be loaded.`);
  let failed = report.numFailedTests + unloaded.length;
  if (report.numPassedTests + failed === 0) problems.push("It has no tests.");
  else if (exitCode !== 0 && failed === 0) problems.push(`It ended with exit code ${exitCode} outside of any test.`);
  failed = Math.max(failed, report.numFailedTests + problems.length);
  const failures = report.testResults.flatMap(failuresIn);
  const files = report.testResults.filter(({ status }) => status === "failed").map(({ name }) => name);
  return { passed: report.numPassedTests, failed, problems, failures, files };
}

/** As many files get a second try; where more fail, it is no accident. */
const MOST_TRIED_AGAIN = 3;
/** Pure tests fail for a reason that is in them: a second try would have other random values. */
const TRIED_AGAIN = ["real", "slow"];

/**
 * @param {string} folder with a Vitest configuration, relative to the root
 * @param {object} options
 * @param {number} options.timeoutMs
 * @param {boolean} [options.quiet] show nothing before the end, then all at once
 * @param {readonly string[]} [options.filters] run only files whose names have one of these
 * @param {string} [options.project] run only this of the suite's Vitest projects; all but this with `!` before it
 * @returns {Promise<Counts>}
 */
export async function runSuite(folder, { timeoutMs, quiet = false, filters = [], project }) {
  const title = `\n--- tests of ${folder}`;
  const projects = project === undefined ? [] : [project];
  const first = await runOnce(folder, { title, timeoutMs, quiet, filters, projects });
  const counts = await triedAgain(folder, first, { title: `${title}, a second try`, timeoutMs, quiet });
  for (const line of [...counts.failures, ...counts.problems]) console.log(`FAILED ${folder}: ${line}`);
  return counts;
}

/**
 * What failed once and passes alone is counted as passed, and said: it is to be mended all the same.
 * @param {string} folder
 * @param {Counts} first
 * @param {{ title: string, timeoutMs: number, quiet: boolean }} options
 * @returns {Promise<Counts>}
 */
async function triedAgain(folder, first, options) {
  const { files, failures, problems } = first;
  const isTried = files.length > 0 && files.length <= MOST_TRIED_AGAIN && problems.length === 0;
  if (!isTried || process.env.HOLDFAST_SECOND_TRY === "no") return first;
  const second = await runOnce(folder, { ...options, filters: files, projects: TRIED_AGAIN });
  const hasAll = second.ran >= files.length;
  if (!hasAll || second.failed > 0) return first;
  for (const line of failures) console.log(`FLAKY ${folder}: ${line}`);
  return { ...first, passed: first.passed + first.failed, failed: 0, failures: [], files: [] };
}

/**
 * @param {string} folder
 * @param {{ title: string, timeoutMs: number, quiet: boolean, filters: readonly string[], projects: readonly string[] }} options
 * @returns {Promise<Counts & { ran: number }>} `ran`: how many files
 */
async function runOnce(folder, { title, timeoutMs, quiet, filters, projects }) {
  if (!quiet) console.log(title);
  // A temporary folder of its own shows what the suite leaves behind. Like any temporary folder it is open
  // to all: some tests start programs as another user.
  const { path: temp, remove } = temporaryFolder("holdfast-test-", temporaryParent());
  chmodSync(temp, 0o1777);
  try {
    const report = join(temp, "results.json");
    const options = ["run", ...filters, "--root", inRoot(folder), "--reporter=default", "--reporter=json"];
    options.push(...projects.map((project) => `--project=${project}`));
    const result = await run(process.execPath, [tool("vitest/vitest.mjs"), ...options, `--outputFile.json=${report}`], {
      cwd: inRoot(folder),
      timeoutMs,
      output: quiet ? "collect" : "show",
      env: { CI: "true", TMPDIR: temp },
    });
    if (quiet) console.log(`${title}\n${result.output.trim()}`);
    const json = existsSync(report) ? readFileSync(report, "utf8") : undefined;
    const counts = countResults(json, result.code);
    if (result.timedOut) counts.problems.push(`It took longer than ${timeoutMs / 1000} s and was ended.`);
    if (result.left.length > 0) {
      counts.problems.push(`It left processes behind: ${result.left.join("; ")}.`);
      counts.failed += 1;
    }
    const left = readdirSync(temp).filter((name) => !toolCaches.test(name));
    if (left.length > 0) {
      counts.problems.push(`It left temporary files behind: ${left.join(", ")}.`);
      counts.failed += 1;
    }
    return { ...counts, ran: json === undefined ? 0 : JSON.parse(json).testResults.length };
  } finally {
    remove();
  }
}
