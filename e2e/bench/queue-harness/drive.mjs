/**
 * Drives the adapter the way the harness does, without its Docker: a Postgres of its own, paced jobs on standard input, and the
 * phases that need no container. `node drive.mjs [--phases clean:20,...] [--rate 800] [--workers 32] [--work-ms 1]`
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createDatabase, startTestPostgres } from "@holdfast/testing";
import postgres from "postgres";
import { median } from "../stats.mjs";
import { Credit } from "./settings.mjs";

const SAMPLE_S = 1;
const TICK_MS = 25;

const { values: options } = parseArgs({
  options: {
    phases: {
      type: "string",
      default: "warmup:10,clean:20,idle-in-tx:20,pg-backend-kill:10,kill-worker:10,recovery:40",
    },
    rate: { type: "string", default: "800" },
    workers: { type: "string", default: "32" },
    "work-ms": { type: "string", default: "1" },
    mode: { type: "string", default: "fixed" },
  },
});
const rate = Number(options.rate);

/** @typedef {{ phase: string, metric: string, value: number }} Sample */
/** @type {Sample[]} */
const samples = [];
let phase = "start";

/** @param {string} databaseUrl */
async function startAdapter(databaseUrl) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("./main.mjs", import.meta.url))], {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      SCENARIO: "long_horizon",
      PRODUCER_MODE: options.mode,
      PRODUCER_PACING: "harness",
      PRODUCER_RATE: String(rate),
      PRODUCER_BATCH_MAX: "512",
      TARGET_DEPTH: "1000",
      WORKER_COUNT: options.workers,
      JOB_WORK_MS: options["work-ms"],
      SAMPLE_EVERY_S: String(SAMPLE_S),
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout });
  const [descriptor] = await once(lines, "line");
  if (JSON.parse(descriptor).kind !== "descriptor") throw new Error(`The adapter said this first: ${descriptor}`);
  lines.on("line", (line) => {
    const { metric, value } = JSON.parse(line);
    samples.push({ phase, metric, value });
  });
  return child;
}

const server = await startTestPostgres({
  own: true,
  durable: true,
  settings: { shared_buffers: "256MB", max_wal_size: "4GB" },
});
const database = await createDatabase(server.url);
const sql = postgres(server.url, { max: 2, onnotice: () => {} });
let adapter = await startAdapter(database.url);

/** What goes wrong while a phase lasts; each returns what ends it. @type {Record<string, () => Promise<() => Promise<void>>>} */
const troubles = {
  "high-load": async () => {
    multiplier = 1.5;
    return async () => {
      multiplier = 1;
    };
  },
  "idle-in-tx": async () => {
    // Nothing that was deleted since may be cleaned up while this transaction is open.
    const holder = postgres(database.url, { max: 1, onnotice: () => {} });
    const held = await holder.reserve();
    await held`BEGIN`;
    await held`SELECT txid_current()`;
    return async () => {
      await held`ROLLBACK`;
      held.release();
      await holder.end();
    };
  },
  "pg-backend-kill": async () => {
    const timer = setInterval(() => {
      sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = ${database.name} ORDER BY random() LIMIT 1`.catch(() => {});
    }, 500);
    return async () => clearInterval(timer);
  },
  "kill-worker": async () => {
    adapter.kill("SIGKILL");
    return async () => {
      adapter = await startAdapter(database.url);
    };
  },
};
let multiplier = 1;

const credit = new Credit(performance.now());
const pacer = setInterval(() => {
  const count = credit.take(performance.now(), rate * multiplier, 512);
  if (count > 0 && phase !== "drain" && adapter.exitCode === null) adapter.stdin.write(`ENQUEUE ${count}\n`);
}, TICK_MS);

try {
  for (const [name = "", seconds] of options.phases.split(",").map((each) => each.split(":"))) {
    phase = name;
    const end = await troubles[name]?.();
    for (const until = performance.now() + Number(seconds) * 1000; performance.now() < until; await sleep(200)) {
      if (name !== "kill-worker" && adapter.exitCode !== null) throw new Error("The adapter ended.");
    }
    await end?.();
  }
  phase = "drain";
  const backlog = () => samples.findLast(({ metric }) => metric === "total_backlog")?.value ?? Number.NaN;
  for (let waited = 0; backlog() > 0 && waited < 60; waited++) await sleep(1000);
  report(backlog());
  const from = performance.now();
  adapter.kill("SIGTERM");
  const [code] = await once(adapter, "exit");
  console.log(`SIGTERM to exit ${code}: ${((performance.now() - from) / 1000).toFixed(1)} s`);
} finally {
  clearInterval(pacer);
  adapter.kill("SIGKILL");
  await sql.end({ timeout: 5 });
  await server.stop();
}

/** @param {number} backlog */
function report(backlog) {
  const of = (/** @type {string} */ name, /** @type {string} */ metric) =>
    median(samples.filter((one) => one.phase === name && one.metric === metric).map(({ value }) => value));
  console.log("phase             enqueued/s  completed/s  claim p50 ms  claim p99 ms  backlog");
  for (const name of [...new Set(samples.map((one) => one.phase))]) {
    const cells = ["enqueue_rate", "completion_rate", "claim_p50_ms", "claim_p99_ms", "total_backlog"].map((metric) =>
      of(name, metric).toFixed(metric.startsWith("claim") ? 1 : 0),
    );
    console.log([name.padEnd(16), ...cells.map((cell) => cell.padStart(12))].join(""));
  }
  console.log(`Jobs that are not done at the end: ${backlog}`);
}
