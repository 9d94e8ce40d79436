/** `.ci/run`: `npm test` and the longer suites, one after another; the last line sums them up. */
import { join } from "node:path";
import { endWithChildren, run } from "./processes.mjs";
import { isProgram, root } from "./workspace.mjs";

/** @type {{ command: string, args: string[], timeoutMs: number }[]} */
export const suites = [
  { command: "npm", args: ["test", "--silent"], timeoutMs: 20 * 60_000 },
  { command: process.execPath, args: [join(root, "packages/tooling/src/test-slow.mjs")], timeoutMs: 20 * 60_000 },
  { command: process.execPath, args: [join(root, "packages/tooling/src/pack-check.mjs")], timeoutMs: 10 * 60_000 },
  { command: process.execPath, args: [join(root, "packages/tooling/src/matrix/run.mjs")], timeoutMs: 10 * 60_000 },
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

if (isProgram(import.meta.url)) {
  endWithChildren();
  let passed = 0;
  let failed = 0;
  for (const { command, args, timeoutMs } of suites) {
    console.log(`\n=== ${[command, ...args].join(" ").replaceAll(`${root}/`, "")}`);
    const result = await run(command, args, { cwd: root, output: "both", timeoutMs });
    const counts = sumUp(result.output, result.code);
    if (result.left.length > 0) {
      console.log(`FAILED: it left processes behind: ${result.left.join("; ")}`);
      counts.failed += 1;
    }
    passed += counts.passed;
    failed += counts.failed;
  }
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}
