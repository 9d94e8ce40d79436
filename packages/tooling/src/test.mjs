/**
 * `npm test`: set-up, every gate, every test. The last line says `N passed, N failed`; gates count like tests.
 */
import { endWithChildren } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { runSuite } from "./suite.mjs";
import { verify } from "./verify.mjs";
import { fail, unitSuites } from "./workspace.mjs";

/** Ends what hangs. How long a suite takes is the machine's affair: it may be busy with other things. */
const SUITE_TIMEOUT_MS = 2_700_000;

endWithChildren();
const total = { passed: 0, failed: 0 };
/** @param {{ passed: number, failed: number }} counts */
const add = (counts) => {
  total.passed += counts.passed;
  total.failed += counts.failed;
};

const slowSuites = ["packages/postgres-server", "packages/testing", "e2e/sim"];
const otherSuites = unitSuites.filter((suite) => !slowSuites.includes(suite));

/** @param {readonly string[]} suites */
async function lane(suites) {
  for (const suite of suites) add(await runSuite(suite, { timeoutMs: SUITE_TIMEOUT_MS, quiet: true }));
}

/** @param {readonly string[]} suites */
async function gatesThen(suites) {
  add(await verify([], { slow: true }));
  await lane(suites);
}

try {
  const start = Date.now();
  await setup();
  add({ passed: 1, failed: 0 });
  // Half of what these do is waiting, so two lanes take little longer than one. The end-to-end tests, which watch
  // intervals and load, then have the machine to themselves.
  await Promise.all([lane(slowSuites), gatesThen(otherSuites)]);
  add(await runSuite("e2e", { timeoutMs: SUITE_TIMEOUT_MS }));
  console.log(`\nTook ${Math.round((Date.now() - start) / 1000)} s.`);
} catch (error) {
  add({ passed: 0, failed: 1 });
  fail(error);
}
console.log(`${total.passed} passed, ${total.failed} failed`);
if (total.failed > 0) process.exitCode = 1;
