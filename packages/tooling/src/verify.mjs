/**
 * `pnpm verify`: every gate, two at a time. Names of gates as arguments run only those.
 */
import os from "node:os";
import { join } from "node:path";
import { build } from "./build.mjs";
import { endWithChildren, run } from "./processes.mjs";
import { typeCheck } from "./types.mjs";
import { isProgram, root, tool } from "./workspace.mjs";

const own = (/** @type {string} */ name) => join(root, "packages/tooling/src", name);

/**
 * @typedef {object} Gate
 * @property {string} name
 * @property {string} proves
 * @property {string[]} args of Node
 */

/** @type {Gate[]} */
export const gates = [
  gate("types", "everything type-checks", ...typeCheck()),
  gate(
    "types-page",
    "the dashboard type-checks, as code of browsers",
    ...typeCheck({ project: "gateway-mock/dashboard" }),
  ),
  gate("format", "formatted and linted", tool("@biomejs/biome/bin/biome"), "check", "--error-on-warnings", "."),
  gate("size", "files and functions are small", tool("oxlint/bin/oxlint"), "--deny-warnings", "--format=unix"),
  gate(
    "imports",
    "who imports whom",
    tool("dependency-cruiser/bin/dependency-cruise.mjs"),
    ...["--config", ".dependency-cruiser.cjs", "packages", "gateway-mock", "e2e"],
  ),
  gate("purity", "pure files use no clock, randomness or input/output", own("purity.mjs")),
  gate("unused", "no dead code, no unused dependency", tool("knip/bin/knip.js"), "--no-progress"),
  gate("generated", "the protobuf code is current", join(root, "packages/protocol/scripts/generate.mjs"), "--check"),
  gate("errors", "docs/errors.md is current", "--import", "tsx", own("docs-errors.ts"), "--check"),
  gate("nodes", "docs/node-types.md is current", "--import", "tsx", own("docs-node-types.ts"), "--check"),
  gate("sdk", "docs/sdk-options.md is current", "--import", "tsx", own("docs-sdk.ts"), "--check"),
  gate("http", "docs/http-reference.md is current", "--import", "tsx", own("docs-http.ts"), "--check"),
  gate("options", "the README's tables of options are current", "--import", "tsx", own("docs-options.ts"), "--check"),
  gate("examples", "blocks of the docs compile, and every option has an example that does", own("examples.mjs")),
  gate("api", "etc/*.api.md say what users see", own("api-report.mjs"), "--check"),
  gate("invariants", "each invariant has a label of its own, and a test with it in its title", own("invariants.mjs")),
  gate(
    "mutations",
    "guards are where the simulation's mutations look for them",
    ...["--import", "tsx", own("mutations.mjs")],
  ),
  gate("loaded", "holdfast/client is small, and sdk.js one byte a character", own("loaded-size.mjs")),
  gate("entries", "the types of each entry have the values that its modules have", own("entries.mjs")),
  gate("nameable", "declarations of users can name what the types of each entry give", own("nameable.mjs")),
  gate("named", "what how-to pages and Vitest lists name is there", own("named.mjs")),
  gate("subjects", "commit subjects name their area, in 72 characters", own("subjects.mjs")),
  gate("glossary", "words that the glossary bans are not used", own("glossary.mjs")),
  gate("registry", "no registry host in lockfile and configuration", own("hygiene.mjs"), "registry"),
  gate("paths", "no machine paths", own("hygiene.mjs"), "paths"),
  gate("wrap", "Markdown wraps at 120 characters", own("hygiene.mjs"), "wrap"),
  gate("headers", "source files begin with what they are for", own("hygiene.mjs"), "headers"),
  gate("stopwatches", "no test judges how fast the machine is", own("hygiene.mjs"), "stopwatches"),
  gate("casts", "product code casts nothing by way of unknown", own("hygiene.mjs"), "casts"),
];

/** Slow gates, run only by `npm run test:slow` or by name. @type {Gate[]} */
export const slowGates = [
  gate("types-build", "everything type-checks by the compiler that builds", ...typeCheck({ compiler: "building" })),
];

/**
 * @param {string} name
 * @param {string} proves
 * @param {...string} args
 * @returns {Gate}
 */
function gate(name, proves, ...args) {
  return { name, proves, args };
}

/**
 * Runs gates and says how each went.
 * @param {readonly string[]} [names] all but the slow ones when empty
 * @returns {Promise<{ passed: number, failed: number }>}
 */
export async function verify(names = []) {
  const all = [...slowGates, ...gates];
  const unknown = names.filter((name) => !all.some((each) => each.name === name));
  if (unknown.length > 0) {
    throw new Error(`There is no gate ${unknown.join(", ")}; there are ${all.map(({ name }) => name).join(", ")}.`);
  }
  const waiting = names.length > 0 ? all.filter(({ name }) => names.includes(name)) : [...gates];
  // A build writes files that other gates would look at.
  if (waiting.some(({ name }) => ["api", "loaded", "entries", "nameable"].includes(name))) await build();
  const counts = { passed: 0, failed: 0 };
  const lanes = Array.from({ length: Math.min(4, Math.max(2, os.availableParallelism())) }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const start = Date.now();
      const { code, output, timedOut } = await run(process.execPath, next.args, {
        cwd: root,
        output: "collect",
        timeoutMs: 180_000,
        env: { FORCE_COLOR: process.stdout.isTTY ? "1" : "0", NO_UPDATE_NOTIFIER: "1" },
      });
      const seconds = ((Date.now() - start) / 1000).toFixed(1);
      counts[code === 0 ? "passed" : "failed"] += 1;
      console.log(`${code === 0 ? "ok    " : "FAILED"} ${next.name} (${seconds} s): ${next.proves}`);
      if (code !== 0) console.log(`${shortened(output)}${timedOut ? "\nIt took too long and was ended." : ""}\n`);
    }
  });
  await Promise.all(lanes);
  return counts;
}

/**
 * The first lines of a long output: what comes first is fixed first.
 * @param {string} output
 */
function shortened(output, max = 150) {
  const lines = output.trimEnd().split("\n");
  return lines.length <= max
    ? lines.join("\n")
    : [...lines.slice(0, max), `... ${lines.length - max} more lines`].join("\n");
}

if (isProgram(import.meta.url)) {
  endWithChildren();
  const { passed, failed } = await verify(process.argv.slice(2));
  console.log(`${passed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}
