/**
 * `npm test`: set-up, every gate, every test but the slow ones (`npm run test:slow`). The last line says
 * `N passed, N failed`; gates count like tests.
 */
import { SLOW } from "./kinds.mjs";
import { endWithChildren } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { runSuite } from "./suite.mjs";
import { verify } from "./verify.mjs";
import { fail, unitSuites } from "./workspace.mjs";

/** Ends what hangs. How long a suite takes is the machine's affair: it may be busy with other things. */
const SUITE_TIMEOUT_MS = 2_700_000;

/** Suites of unit tests; the first ones take minutes, the last ones seconds. */
const LONGEST_FIRST = [...unitSuites].sort((a, b) => rank(a) - rank(b));

/** @param {string} suite */
function rank(suite) {
  const at = ["gateway-mock", "packages/sdk", "packages/testing", "packages/postgres-server", "e2e/sim"].indexOf(suite);
  return at < 0 ? Number.POSITIVE_INFINITY : at;
}

/** What is slow is left to `npm run test:slow`, which continuous integration runs as well. */
const options = { timeoutMs: SUITE_TIMEOUT_MS, project: `!${SLOW}` };

endWithChildren();
const total = { passed: 0, failed: 0 };
/** @param {{ passed: number, failed: number }} counts */
const add = (counts) => {
  total.passed += counts.passed;
  total.failed += counts.failed;
};

/** What there is to do, the longest first: two lanes take the next one as they become free. */
const work = [() => verify(), ...LONGEST_FIRST.map((suite) => () => runSuite(suite, { ...options, quiet: true }))];

async function lane() {
  for (let next = work.shift(); next !== undefined; next = work.shift()) add(await next());
}

try {
  const start = Date.now();
  await setup();
  add({ passed: 1, failed: 0 });
  // Half of what these do is waiting, so two lanes take little longer than one. The end-to-end tests, which watch
  // intervals and load, then have the machine to themselves.
  await Promise.all([lane(), lane()]);
  add(await runSuite("e2e", options));
  console.log(`\nTook ${Math.round((Date.now() - start) / 1000)} s.`);
} catch (error) {
  add({ passed: 0, failed: 1 });
  fail(error);
}
console.log(`${total.passed} passed, ${total.failed} failed`);
if (total.failed > 0) process.exitCode = 1;
