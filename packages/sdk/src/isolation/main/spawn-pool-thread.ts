/** Starts one thread of the pool: with the app's own flags, loaders and environment, unlike the connection thread. */
import type { MessagePort, Worker } from "node:worker_threads";
import { nodeModule } from "../../runtime.ts";
import type { PoolThreadInit } from "../shared/isolation-messages.ts";

export interface PoolResourceLimits {
  readonly maxOldGenerationSizeMb?: number;
  readonly maxYoungGenerationSizeMb?: number;
  readonly codeRangeSizeMb?: number;
  readonly stackSizeMb?: number;
}

export interface SpawnedThread {
  readonly worker: Worker;
  /** Main's end of the port to the thread. */
  readonly port: MessagePort;
}

export type SpawnPoolThread = (
  init: Omit<PoolThreadInit, "port" | "script">,
  limits: PoolResourceLimits,
) => SpawnedThread;

/** It has the name of no file, and frames of its stacks have that name. */
const BOOT = `
const { workerData } = require("node:worker_threads");
require("node:vm").compileFunction(workerData.script, ["require", "importModule"], { filename: "holdfast-pool-thread.cjs" })(
  require,
  (url) => import(url),
);
`;

export function poolThreadSpawner(script: string): SpawnPoolThread {
  return (init, limits) => {
    const { Worker: NodeWorker, MessageChannel: NodeChannel } = nodeModule("node:worker_threads");
    const { port1, port2 } = new NodeChannel();
    const worker = new NodeWorker(BOOT, {
      eval: true,
      name: `holdfast-pool-${init.slot}`,
      stdout: true,
      stderr: true,
      resourceLimits: { ...limits },
      workerData: { ...init, script, port: port2 } satisfies PoolThreadInit,
      transferList: [port2],
    });
    return { worker, port: port1 };
  };
}
