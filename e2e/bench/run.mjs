/**
 * The benchmark, `npm run bench`: prints a table, or a comparison with another commit, and keeps every measurement as JSON in
 * `results/`. `options.mjs` says what it understands.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { endAll } from "../support/child.mjs";
import { otherBuild, thisBuild } from "./builds.mjs";
import { keepRows, writeDocuments } from "./docs.mjs";
import { Measurements } from "./measure.mjs";
import { readOptions, USAGE } from "./options.mjs";
import { comparison, table, titleOf } from "./report.mjs";
import { scenarios } from "./scenarios/index.mjs";

const options = readOrExplain();
if (options.list) {
  for (const one of scenarios) console.log(`${one.name.padEnd(14)} ${titleOf(one, one.sizes[options.size])}`);
  process.exit(0);
}

for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  // The build of another commit, and what builds it, end with the reaper; the servers end with this process.
  process.once(signal, async () => {
    await endAll();
    process.exit(130);
  });
}

const results = options.results ?? fileURLToPath(new URL("./results/", import.meta.url));
const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
const profiles = options.cpuProf ? join(results, `${stamp}-profiles`) : undefined;
mkdirSync(profiles ?? results, { recursive: true });

const other = options.against === undefined ? undefined : await otherBuild(options.against);
const builds = [thisBuild(), ...(other === undefined ? [] : [other])];
const measurements = new Measurements(builds, profiles);
const chosen = scenarios.filter(({ name }) => options.names.includes(name));
const file = join(results, `${stamp}.json`);
try {
  for (const scenario of chosen) {
    process.stdout.write(`${titleOf(scenario, scenario.sizes[options.size])} `);
    await measurements.measure(scenario, { ...options, onRow: () => process.stdout.write(".") });
    process.stdout.write("\n");
    // Now, not at the end: what was measured is not lost when the rest is interrupted.
    keep();
  }
} finally {
  await measurements.close();
  other?.remove();
}
report();

function readOrExplain() {
  try {
    return readOptions(process.argv.slice(2), scenarios);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return process.exit(2);
  }
}

function keep() {
  const { rows, failures, commitMs } = measurements;
  const machine = {
    cpus: availableParallelism(),
    model: cpus()[0]?.model,
    memoryBytes: totalmem(),
    node: process.version,
    commitMs,
  };
  const kept = { at: stamp, builds: builds.map(({ label, commit }) => ({ label, commit })), machine, failures, rows };
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
  if (!options.docs) return;
  const { cpus: count, model, node } = machine;
  keepRows({ cpus: count, model, node, commitMs }, builds[0]?.commit ?? "unknown", rows);
  writeDocuments();
}

function report() {
  const { rows, failures } = measurements;
  const measured = chosen
    .map((scenario) => ({ scenario, size: scenario.sizes[options.size], rows: measurements.rowsOf(scenario.name) }))
    .filter((one) => one.rows.some((ofBuild) => ofBuild.length > 0));
  if (measured.length > 0) {
    const text = other === undefined ? table(measured) : comparison(measured, ["this", other.label]);
    console.log(`\n${text}\n`);
  }
  for (const { scenario, build, message } of failures) {
    console.log(`${scenario} could not be measured on ${build}: ${message}\n`);
  }
  const loads = rows.map(({ load }) => load);
  console.log(
    `Load average ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)} on ${availableParallelism()} cores.`,
  );
  console.log(`Raw rows: ${file}`);
  if (options.docs) console.log("docs/performance.md and its plots have these figures.");
  if (profiles !== undefined) console.log(`CPU profiles of app and gateway: ${profiles}`);
  if (failures.some(({ build }) => build === "this")) process.exitCode = 1;
}
