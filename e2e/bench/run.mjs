/**
 * The benchmark: `node run.mjs [--only one,latency] [--times N] [--cpu-prof]`. Prints a table and keeps every measurement as
 * JSON in `results/`.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { endAll } from "../support/child.mjs";
import { figures } from "./figures.mjs";
import { table } from "./report.mjs";
import { openWorld } from "./world.mjs";

const results = fileURLToPath(new URL("./results/", import.meta.url));

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    times: { type: "string" },
    "cpu-prof": { type: "boolean", default: false },
  },
});

const wanted = options.only?.split(",") ?? figures.map(({ name }) => name);
const unknown = wanted.filter((name) => !figures.some((figure) => figure.name === name));
if (unknown.length > 0) {
  console.error(`There is no figure ${unknown.join(", ")}; there are ${figures.map(({ name }) => name).join(", ")}.`);
  process.exit(2);
}

for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
  process.once(signal, async () => {
    await endAll();
    process.exit(130);
  });
}

const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
const profiles = join(results, `${stamp}-profiles`);
if (options["cpu-prof"]) mkdirSync(profiles, { recursive: true });

/** @type {{ figure: import("./figures.mjs").Figure, rows: import("./figures.mjs").Row[] }[]} */
const measured = [];
for (const plain of [false, true]) {
  const group = figures.filter((figure) => wanted.includes(figure.name) && (figure.plain ?? false) === plain);
  if (group.length === 0) continue;
  const world = await openWorld({ extensions: !plain, cpuProfiles: options["cpu-prof"] ? profiles : undefined });
  try {
    for (const figure of group) measured.push({ figure, rows: await measure(figure, world) });
  } finally {
    await world.close();
  }
}

console.log(`\n${table(measured)}\n`);
mkdirSync(results, { recursive: true });
const file = join(results, `${stamp}.json`);
const machine = {
  cpus: availableParallelism(),
  model: cpus()[0]?.model,
  memoryBytes: totalmem(),
  node: process.version,
};
const figuresJson = Object.fromEntries(measured.map(({ figure, rows }) => [figure.name, rows]));
writeFileSync(file, `${JSON.stringify({ at: stamp, commit: commit(), machine, figures: figuresJson }, null, 2)}\n`);
console.log(`Raw rows: ${file}`);
if (options["cpu-prof"]) console.log(`CPU profiles of app and gateway: ${profiles}`);

function commit() {
  try {
    return execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return null;
  }
}

/**
 * @param {import("./figures.mjs").Figure} figure
 * @param {import("./world.mjs").BenchWorld} world
 */
async function measure(figure, world) {
  process.stdout.write(`${figure.title} `);
  for (let time = 0; time < (figure.warmUps ?? 1); time++) await figure.measure(world);
  /** @type {import("./figures.mjs").Row[]} */
  const rows = [];
  for (let time = 0; time < (Number(options.times) || figure.times); time++) {
    rows.push(await figure.measure(world));
    process.stdout.write(".");
  }
  process.stdout.write("\n");
  return rows;
}
