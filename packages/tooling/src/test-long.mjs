/**
 * `npm run test:long`: set-up and the end-to-end tests that take minutes; `npm run test:long -- kills` runs the files whose
 * names have that word. The last line says `N passed, N failed`.
 */
import { endWithChildren } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { runSuite } from "./suite.mjs";
import { fail } from "./workspace.mjs";

endWithChildren();
const total = { passed: 0, failed: 0 };
try {
  await setup({ runtimes: true });
  const counts = await runSuite("e2e/long", { timeoutMs: 90 * 60_000, filters: process.argv.slice(2) });
  total.passed += counts.passed;
  total.failed += counts.failed;
} catch (error) {
  total.failed += 1;
  fail(error);
}
console.log(`${total.passed} passed, ${total.failed} failed`);
if (total.failed > 0) process.exitCode = 1;
