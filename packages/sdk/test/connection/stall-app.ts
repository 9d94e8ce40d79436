/** An app whose handlers block its main thread as requests say; bundled and run as a process of its own. */
import { existsSync, readFileSync } from "node:fs";
import { systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { Holdfast } from "../../src/app/holdfast.ts";
import { mainTask } from "../../src/connection/main/main-task.ts";
import { openConnection } from "../../src/connection/main/open-connection.ts";
import { spawnConnectionThread } from "../../src/connection/main/spawn-thread.ts";
import { publishCurrentExecution, runAs } from "../../src/execution/current.ts";
import type { ExecutionStrategy } from "../../src/execution/execution.ts";
import { FairTurns } from "../../src/execution/fair-turns.ts";
import { createMainThreadStrategy } from "../../src/execution/main-thread.ts";
import { createRegistry } from "../../src/functions/registry.ts";

function addUpNumbers(ms: number, untilFile?: string): void {
  const end = Date.now() + ms;
  const from = process.cpuUsage();
  // On a busy machine until it has really computed for a good part of the time. All on the line that reports are to name.
  // biome-ignore format: one line
  while (Date.now() < end || process.cpuUsage(from).user < ms * 500 || (untilFile && !existsSync(untilFile))); // mark: addUpNumbers
}

const { config, scriptPath, isFair = false } = JSON.parse(process.env.STALL_APP ?? "{}");
// JSON has no bytes.
for (const app of config.apps) app.functions = Uint8Array.from(Object.values(app.functions));
config.stall = { ...mainTask(), ...config.stall };
publishCurrentExecution();

const byHand: ExecutionStrategy = {
  execute: async ({ requestId, runId, functionSlug, payload }, _port, signal) => {
    signal.addEventListener("abort", () => console.log(`aborted ${requestId}`));
    const { blockMs = 0, waitMs = 0, sleepMs = 0, untilFile } = JSON.parse(new TextDecoder().decode(payload));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    if (sleepMs > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sleepMs);
    const step = { id: "add up", hash: "h", attempt: 0, active: true };
    const unwanted = new AbortController();
    runAs({ requestId, runId, functionSlug, step }, unwanted, () => addUpNumbers(blockMs, untilFile));
    return { status: "DONE", body: new TextEncoder().encode("1"), noRetry: false, requestVersion: 2 };
  },
};

/** The real one, with the gate that bodies start through. */
function fairStrategy(): ExecutionStrategy {
  const client = new Holdfast({ id: "app", isDev: true }, {});
  const fn = client.createFunction({ id: "fn", triggers: { event: "n" } }, ({ event, step }) =>
    step.run("compute", () => addUpNumbers((event.data as { blockMs: number }).blockMs)),
  );
  const gate = new FairTurns({ monotonicMs: systemClock.monotonicMs, nextTurn: (begin) => setImmediate(begin) });
  return createMainThreadStrategy(createRegistry([{ client, functions: [fn] }]), { turns: gate.limitedTo(10) });
}

const connection = await openConnection({
  config,
  strategy: isFair ? fairStrategy() : byHand,
  startThread: () =>
    spawnConnectionThread({ script: { text: readFileSync(scriptPath, "utf8") }, resourceLimits: undefined }),
  signals: [],
  log: (level, message, data) => console.log(JSON.stringify({ level, message, data })),
  respawn: { baseMs: 20, factor: 2, maxMs: 200, jitter: 0, maxCrashes: 3, minUptimeMs: 1000 },
  connectTimeoutMs: 20_000,
  drainTimeoutMs: 10_000,
  clock: systemClock,
  timers: systemTimers,
  random: systemRandom,
});
process.on("message", () => {
  process.disconnect?.();
  void connection.close();
});
process.send?.("ready");
