/** Starts one thread of the pool: with the app's own flags, loaders and environment, unlike the connection thread. */
import type { MessagePort, Worker } from "node:worker_threads";
import { readClocks, systemClock } from "@holdfast/core";
import { nodeModule } from "../../runtime.ts";
import type { PoolThreadInit } from "../shared/isolation-messages.ts";

export interface PoolResourceLimits {
  readonly maxOldGenerationSizeMb?: number;
  readonly maxYoungGenerationSizeMb?: number;
  readonly codeRangeSizeMb?: number;
  readonly stackSizeMb?: number;
}

/**
 * At its limit a thread may take 16 MB more until it ends; then Node ends the process. Of the room that new objects have by
 * default (48 MB, Node 24: 192) more than that can become old at once. docs/code-that-computes.md has the measurements.
 */
const YOUNG_MB = 24;

/** Of a thread with this limit of its turns; 0 = the pool's. */
export function limitsOf(given: PoolResourceLimits, memoryMb: number): PoolResourceLimits {
  const limits = { maxYoungGenerationSizeMb: YOUNG_MB, ...given };
  return memoryMb > 0 ? { ...limits, maxOldGenerationSizeMb: memoryMb } : limits;
}

export interface SpawnedThread {
  readonly worker: Worker;
  /** Main's end of the port to the thread. */
  readonly port: MessagePort;
  /** What the thread has posted and main has not read. */
  readonly drain: () => readonly unknown[];
  /** How long its event loop has not waited, since it started; undefined = this is not counted. */
  readonly activeMs?: () => number | undefined;
}

export type SpawnPoolThread = (
  init: Omit<PoolThreadInit, "port" | "script" | "started" | "isPoolThread">,
  limits: PoolResourceLimits,
  /** Ports in `init`. */
  transfer?: readonly MessagePort[],
) => SpawnedThread;

/** It has the name of no file, and frames of its stacks have that name. */
const FILENAME = "holdfast-pool-thread.cjs";

/**
 * A module, since Node gives preloads (`--import`) and `--input-type` their meaning in threads that begin with one, and
 * not in evaluated text. It cannot `require()`, and the script wants Node's modules only.
 */
const BOOT = `
import { compileFunction } from "node:vm";
import { workerData } from "node:worker_threads";
const run = compileFunction(workerData.script, ["require", "importModule"], { filename: "${FILENAME}" });
run(process.getBuiltinModule, (url) => import(url));
`;

/** For runtimes that start no thread with a module that is no file. */
const EVALUATED_BOOT = `
const { workerData } = require("node:worker_threads");
require("node:vm").compileFunction(workerData.script, ["require", "importModule"], { filename: "${FILENAME}" })(
  require,
  (url) => import(url),
);
`;

export function poolThreadSpawner(script: string): SpawnPoolThread {
  return (init, limits, transfer = []) => {
    const { Worker: NodeWorker, MessageChannel: NodeChannel } = nodeModule("node:worker_threads");
    const { port1, port2 } = new NodeChannel();
    const { bun, deno } = process.versions;
    const isNode = bun === undefined && deno === undefined;
    const boot = isNode ? new URL(`data:text/javascript,${encodeURIComponent(BOOT)}`) : EVALUATED_BOOT;
    const worker = new NodeWorker(boot, {
      eval: !isNode,
      name: `holdfast-pool-${init.slot}`,
      stdout: true,
      stderr: true,
      resourceLimits: { ...limits },
      workerData: {
        ...init,
        isPoolThread: true,
        script,
        started: readClocks(systemClock),
        port: port2,
      } satisfies PoolThreadInit,
      transferList: [port2, ...transfer],
    });
    const spawned = { worker, port: port1, drain: () => drained(port1) };
    return isNode ? { ...spawned, activeMs: () => activeMsOf(worker) } : spawned;
  };
}

function activeMsOf(worker: Worker): number | undefined {
  const { active, idle } = worker.performance.eventLoopUtilization();
  return idle > 0 ? active : undefined;
}

function drained(port: MessagePort): readonly unknown[] {
  const { receiveMessageOnPort } = nodeModule("node:worker_threads");
  const posted: unknown[] = [];
  for (let one = receiveMessageOnPort(port); one !== undefined; one = receiveMessageOnPort(port))
    posted.push(one.message);
  return posted;
}
