/**
 * `.ci/run`: `npm test` and the longer suites, one after another. What failed is said again at the end, where it is seen
 * when a log is cut off; the last line sums up.
 */
import { join } from "node:path";
import { endWithChildren, run } from "./processes.mjs";
import { isProgram, root } from "./workspace.mjs";

/**
 * Limits are for what hangs: on a busy machine all takes twice as long.
 * @type {{ command: string, args: string[], timeoutMs: number }[]}
 */
export const suites = [
  { command: "npm", args: ["test", "--silent"], timeoutMs: 40 * 60_000 },
  { command: process.execPath, args: [join(root, "packages/tooling/src/test-slow.mjs")], timeoutMs: 25 * 60_000 },
  { command: process.execPath, args: [join(root, "packages/tooling/src/pack-check.mjs")], timeoutMs: 10 * 60_000 },
  { command: process.execPath, args: [join(root, "packages/tooling/src/matrix/run.mjs")], timeoutMs: 10 * 60_000 },
  {
    command: process.execPath,
    args: [join(root, "packages/tooling/src/docs-site.mjs"), "--try"],
    timeoutMs: 10 * 60_000,
  },
];

/**
 * The numbers of the last line that says `N passed, N failed`. A suite that failed without saying so, or said nothing,
 * is one failure.
 * @param {string} output
 * @param {number} code
 */
export function sumUp(output, code) {
  const last = [...output.matchAll(/^(\d+) passed, (\d+) failed\r?$/gm)].at(-1);
  const passed = Number(last?.[1] ?? 0);
  const failed = Number(last?.[2] ?? 1);
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed };
}

/**
 * What failed, in the words of the suites: each line that begins with FAILED, with the indented ones after it.
 * @param {string} output
 */
export function failuresIn(output) {
  return saidIn(output, "FAILED");
}

/**
 * What failed once and passed on its second try.
 * @param {string} output
 */
export function flakyIn(output) {
  return saidIn(output, "FLAKY");
}

/**
 * @param {string} output
 * @param {string} mark
 */
function saidIn(output, mark) {
  return [...output.matchAll(new RegExp(`^${mark} .*(?:\\r?\\n {4}.*)*`, "gm"))].map(([text]) => text);
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  let passed = 0;
  let failed = 0;
  const failures = [];
  const flaky = [];
  for (const { command, args, timeoutMs } of suites) {
    console.log(`\n=== ${[command, ...args].join(" ").replaceAll(`${root}/`, "")}`);
    const result = await run(command, args, { cwd: root, output: "both", timeoutMs });
    const counts = sumUp(result.output, result.code);
    failures.push(...failuresIn(result.output));
    flaky.push(...flakyIn(result.output));
    if (result.code !== 0)
      failures.push(`FAILED ${args.at(0)}: exit code ${result.code}${result.timedOut ? ", after its time limit" : ""}`);
    if (result.left.length > 0) {
      const left = `FAILED ${args.at(0)}: it left processes behind: ${result.left.join("; ")}`;
      console.log(left);
      failures.push(left);
      counts.failed += 1;
    }
    passed += counts.passed;
    failed += counts.failed;
  }
  if (flaky.length > 0) console.log(`\n${flaky.join("\n")}`);
  if (failures.length > 0) console.log(`\n${failures.join("\n")}`);
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}
