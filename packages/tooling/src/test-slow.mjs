/**
 * `npm run test:slow`: the tests that `npm test` leaves out because they take minutes: the Vitest projects `slow` of all
 * suites. `npm run test:slow -- users` runs the files whose names have that word. The last line says `N passed, N failed`.
 */
import { SLOW, slowSuites } from "./kinds.mjs";
import { endWithChildren } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { runSuite } from "./suite.mjs";
import { fail } from "./workspace.mjs";

endWithChildren();
const total = { passed: 0, failed: 0 };
try {
  await setup();
  for (const suite of slowSuites) {
    const counts = await runSuite(suite, { timeoutMs: 30 * 60_000, project: SLOW, filters: process.argv.slice(2) });
    total.passed += counts.passed;
    total.failed += counts.failed;
  }
} catch (error) {
  total.failed += 1;
  fail(error);
}
console.log(`${total.passed} passed, ${total.failed} failed`);
if (total.failed > 0) process.exitCode = 1;
