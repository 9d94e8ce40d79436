/**
 * Holdfast as a system of the public harness hardbyte/postgresql-job-queue-benchmarking: one process that makes jobs and
 * does them until SIGTERM, and says every few seconds how it goes. README.md has what the harness expects.
 */
import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Holdfast } from "holdfast";
import { Credit, jobsAskedFor, readSettings } from "./settings.mjs";
import { Window } from "./windows.mjs";

const WINDOW_S = 30;
const SYSTEM = "holdfast";
/** The harness allows five seconds from SIGTERM to the end. */
const DRAIN_MS = 2_500;

const settings = readSettings(process.env);
const manifest = JSON.parse(readFileSync(new URL("./adapter.json", import.meta.url), "utf8"));
const { version } = createRequire(import.meta.url)("@holdfast/gateway/package.json");
const observes = settings.instanceId === 0;

let stopping = false;
/** @type {() => void} */
let stop = () => {};
const stopped = new Promise((resolve) => {
  stop = () => {
    stopping = true;
    resolve(undefined);
  };
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop());

const emit = (/** @type {object} */ record) =>
  process.stdout.write(`${JSON.stringify({ ...record, instance_id: settings.instanceId })}\n`);

const gateway = fork(fileURLToPath(new URL("./gateway.mjs", import.meta.url)), {
  stdio: ["ignore", "inherit", "inherit", "ipc"],
});
const gatewayEnded = new Promise((resolve) => gateway.once("exit", resolve));
const url = await new Promise((resolve, reject) => {
  gateway.once("message", (/** @type {{ url: string }} */ message) => resolve(message.url));
  gateway.once("exit", (code) => reject(new Error(`The gateway ended with code ${code}.`)));
});

const produced = new Window(WINDOW_S);
const started = new Window(WINDOW_S);
const ended = new Window(WINDOW_S);
const counts = { enqueued: 0, completed: 0 };
let depth = { due: 0, leased: 0, later: 0 };
let targetRate = settings.rate;
let sequence = 0;

const client = new Holdfast({ id: "queue-harness", isDev: true, baseUrl: url, logLevel: "warn" });
const queues = Array.from({ length: settings.queueCount }, (_, index) => `bench/job${index === 0 ? "" : index}`);
const functions = queues.map((event) =>
  client.createFunction({ id: event.replace("/", "-"), triggers: { event } }, async ({ event: { data } }) => {
    const { enqueued_at_ms: enqueuedMs } = /** @type {{ enqueued_at_ms: number }} */ (data);
    const now = Date.now();
    started.add(now, now - enqueuedMs);
    if (settings.workMs > 0) await sleep(settings.workMs);
    const end = Date.now();
    ended.add(end, end - enqueuedMs);
    counts.completed += 1;
    return null;
  }),
);
const connect = () =>
  client.connect({
    functions,
    maxWorkerConcurrency: settings.workerCount,
    handleShutdownSignals: [],
    drainTimeout: DRAIN_MS,
  });

// A gateway queues events for the functions that it knows: they connect once before jobs are made, also behind a gate.
let connection = await connect();
if (settings.gateFile !== undefined) await connection.close();
emit({
  kind: "descriptor",
  system: SYSTEM,
  event_tables: manifest.event_tables,
  extensions: manifest.extensions,
  version: `@holdfast/gateway@${version}`,
  schema_version: version,
  db_name: new URL(settings.databaseUrl).pathname.slice(1),
  started_at: new Date().toISOString(),
});

const tasks = [consume(), produce(), observe(), sample()];
await stopped;
await Promise.race([connection.close(), sleep(DRAIN_MS + 500)]);
gateway.send("close");
await Promise.race([gatewayEnded, sleep(1_000)]);
await Promise.race([Promise.allSettled(tasks), sleep(200)]);
process.exit(0);

async function consume() {
  if (settings.gateFile === undefined) return;
  while (!stopping && !isOpen(settings.gateFile)) await sleep(200);
  if (!stopping) connection = await connect();
}

/** @param {string} file */
function isOpen(file) {
  try {
    return readFileSync(file, "utf8").trim() === "open";
  } catch {
    return false;
  }
}

async function produce() {
  if (!settings.produces) return;
  if (settings.pacedByHarness) {
    for await (const line of createInterface({ input: process.stdin })) {
      if (stopping) return;
      // The next line is read when these are stored: what cannot be stored in time waits in the pipe.
      await enqueue(Math.min(jobsAskedFor(line), settings.batchMax));
    }
    return;
  }
  const credit = new Credit(performance.now());
  while (!stopping) {
    targetRate = currentRate();
    const count =
      settings.mode === "fixed"
        ? credit.take(performance.now(), targetRate, settings.batchMax)
        : Math.max(0, Math.min(settings.batchMax, settings.targetDepth - depth.due));
    if (count > 0) await enqueue(count);
    // The depth is looked at now and then: what was made since then counts as waiting.
    depth.due += count;
    if (settings.mode === "fixed" || count === 0) await sleep(settings.batchMs);
  }
}

function currentRate() {
  if (settings.rateFile === undefined) return settings.rate;
  try {
    const rate = Number.parseFloat(readFileSync(settings.rateFile, "utf8"));
    return Number.isFinite(rate) ? rate : settings.rate;
  } catch {
    return settings.rate;
  }
}

/** @param {number} count */
async function enqueue(count) {
  if (count === 0) return;
  const name = queues[sequence % queues.length] ?? "";
  const length = Math.max(0, settings.payloadBytes - 96);
  const events = Array.from({ length: count }, () => ({
    name,
    data: {
      seq: sequence++,
      enqueued_at_ms: Date.now(),
      payload_padding: settings.randomPayload
        ? randomBytes(length).toString("base64").slice(0, length)
        : "x".repeat(length),
    },
  }));
  const from = performance.now();
  while (!stopping) {
    try {
      await client.send(events);
      const now = performance.now();
      for (const _ of events) produced.add(Date.now(), (now - from) / count);
      counts.enqueued += count;
      return;
    } catch (error) {
      // Postgres may be away for a while: the harness does that on purpose.
      console.error("[holdfast] events were not accepted, trying again:", error);
      await sleep(200);
    }
  }
}

async function observe() {
  while (!stopping && (observes || settings.mode === "depth-target")) {
    try {
      const response = await fetch(new URL("/v1/metrics", url), { signal: AbortSignal.timeout(5_000) });
      const { queue } = /** @type {{ queue: typeof depth | null }} */ (await response.json());
      if (queue !== null) depth = queue;
    } catch (error) {
      console.error("[holdfast] the depth of the queue is not known:", error);
    }
    await sleep(250);
  }
}

async function sample() {
  const everyMs = settings.sampleEveryS * 1000;
  let before = { ...counts };
  while (!stopping) {
    await Promise.race([sleep(everyMs - (Date.now() % everyMs)), stopped]);
    if (stopping) return;
    const now = Date.now();
    const rate = (/** @type {keyof typeof counts} */ name) => (counts[name] - before[name]) / settings.sampleEveryS;
    const rates = { enqueue_rate: rate("enqueued"), completion_rate: rate("completed") };
    before = { ...counts };
    const t = new Date(now).toISOString();
    const say = (/** @type {string} */ metric, /** @type {number} */ value, /** @type {number} */ windowS) =>
      emit({
        t,
        system: SYSTEM,
        kind: "adapter",
        subject_kind: "adapter",
        subject: "",
        metric,
        value,
        window_s: windowS,
      });
    for (const [name, window] of Object.entries({
      producer: produced,
      subscriber: started,
      claim: started,
      end_to_end: ended,
    })) {
      const percentiles = window.percentiles(now);
      for (const [which, value] of Object.entries(percentiles)) say(`${name}_${which}_ms`, value, WINDOW_S);
    }
    for (const [name, value] of Object.entries(rates)) say(name, value, settings.sampleEveryS);
    if (!observes) continue;
    say("queue_depth", depth.due, 0);
    say("running_depth", depth.leased, 0);
    say("scheduled_depth", depth.later, 0);
    say("total_backlog", depth.due + depth.leased + depth.later, 0);
    say("producer_target_rate", targetRate, 0);
  }
}
