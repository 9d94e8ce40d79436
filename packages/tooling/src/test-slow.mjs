/**
 * `npm run test:slow`: what `npm test` leaves out because it takes minutes: slow gates and the Vitest projects `slow` of all
 * suites. `npm run test:slow -- users` runs the test files whose names have that word. The last line says
 * `N passed, N failed`.
 */
import { SLOW, slowFiles, slowSuites } from "./kinds.mjs";
import { endWithChildren } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { runSuite } from "./suite.mjs";
import { slowGates, verify } from "./verify.mjs";
import { fail } from "./workspace.mjs";

endWithChildren();
const total = { passed: 0, failed: 0 };
/** @param {{ passed: number, failed: number }} counts */
const add = (counts) => {
  total.passed += counts.passed;
  total.failed += counts.failed;
};
try {
  await setup();
  const filters = process.argv.slice(2);
  if (filters.length === 0) add(await verify(slowGates.map(({ name }) => name)));
  const chosen = (/** @type {string} */ path) => filters.length === 0 || filters.some((word) => path.includes(word));
  const suites = slowSuites.filter((suite) => slowFiles(suite).some(chosen));
  if (suites.length === 0)
    throw new Error(`No slow test has such a name: ${slowSuites.flatMap(slowFiles).join(", ")}.`);
  for (const suite of suites) add(await runSuite(suite, { timeoutMs: 30 * 60_000, project: SLOW, filters }));
} catch (error) {
  total.failed += 1;
  fail(error);
}
console.log(`${total.passed} passed, ${total.failed} failed`);
if (total.failed > 0) process.exitCode = 1;
