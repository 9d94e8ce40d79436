/**
 * `npm test`: set-up, every gate, every test. The last line says `N passed, N failed`; gates count like tests.
 */
import { endWithChildren } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { runSuite } from "./suite.mjs";
import { verify } from "./verify.mjs";
import { fail, unitSuites } from "./workspace.mjs";

endWithChildren();
const total = { passed: 0, failed: 0 };
/** @param {{ passed: number, failed: number }} counts */
const add = (counts) => {
  total.passed += counts.passed;
  total.failed += counts.failed;
};

try {
  const start = Date.now();
  await setup();
  add({ passed: 1, failed: 0 });
  console.log("\n--- gates");
  add(await verify());
  for (const suite of unitSuites) add(await runSuite(suite, { timeoutMs: 240_000 }));
  add(await runSuite("e2e", { timeoutMs: 480_000 }));
  console.log(`\nTook ${Math.round((Date.now() - start) / 1000)} s.`);
} catch (error) {
  add({ passed: 0, failed: 1 });
  fail(error);
}
console.log(`${total.passed} passed, ${total.failed} failed`);
if (total.failed > 0) process.exitCode = 1;
