/**
 * `npm run docs:site`: builds the documentation as a site into `packages/site/dist`; a link that leads nowhere is an
 * error. `-- --serve` shows it until it is stopped, `-- --try` looks at it in a browser; the last line of that says
 * `N passed, N failed`.
 */
import { join } from "node:path";
import { endWithChildren, run } from "./processes.mjs";
import { setup } from "./setup.mjs";
import { fail, root } from "./workspace.mjs";

endWithChildren();
const tried = process.argv.includes("--try");
const served = process.argv.includes("--serve");
const counts = { passed: 0, failed: 0 };

/** @param {string} title @param {string} file @param {string[]} [args] */
async function step(title, file, args = []) {
  const timeoutMs = served ? 2 ** 31 - 1 : 10 * 60_000;
  const result = await run(process.execPath, [join(root, file), ...args], {
    cwd: root,
    output: served ? "show" : "collect",
    timeoutMs,
  });
  if (result.code === 0) {
    counts.passed += 1;
    console.log(`ok     ${title}`);
    return;
  }
  counts.failed += 1;
  console.log(`FAILED ${title}\n    ${result.output.trim().split("\n").slice(-30).join("\n    ")}`);
}

try {
  await setup({ site: true, build: false });
  await step(
    "every page is built, and every link leads somewhere",
    "packages/site/src/build.mjs",
    served ? ["--serve"] : [],
  );
  if (tried && counts.failed === 0) await step("it is read and searched in a browser", "e2e/support/try-site.mjs");
} catch (error) {
  counts.failed += 1;
  fail(error);
}
if (tried) console.log(`${counts.passed} passed, ${counts.failed} failed`);
else if (counts.failed === 0 && !served) console.log("The site is in packages/site/dist.");
if (counts.failed > 0) process.exitCode = 1;
