/**
 * Starts a worker thread for the connection: which script, which environment variables and which flags it gets.
 * `ThreadHost` decides when.
 */
import type { Worker } from "node:worker_threads";
import { readClocks, systemClock } from "@holdfast/core";
import { nodeModule } from "../../runtime.ts";
import type { ConnectionThreadData } from "../shared/connection-thread-data.ts";

/** What holding a connection thread takes of a worker. */
export type ThreadHandle = Pick<Worker, "on" | "once" | "postMessage" | "terminate" | "unref" | "stdout" | "stderr">;

export interface ResourceLimits {
  readonly maxOldGenerationSizeMb?: number;
  readonly maxYoungGenerationSizeMb?: number;
  readonly codeRangeSizeMb?: number;
  readonly stackSizeMb?: number;
}

export interface SpawnSettings {
  /** The script's text, or where it is. */
  readonly script: { readonly text: string } | { readonly url: string | URL };
  readonly resourceLimits: ResourceLimits | undefined;
}

/** All that reaches the thread of the environment: keys and the like stay here. */
const VARIABLES = ["NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "TZ"];

function scrubbedEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** For the thread alone: see `thread/process-signals.ts`. */
const INTERNALS_FLAG = "--expose-internals";

export function spawnConnectionThread(settings: SpawnSettings): ThreadHandle {
  try {
    return start(settings, [INTERNALS_FLAG]);
  } catch (error) {
    // Other runtimes need not have it.
    if ((error as NodeJS.ErrnoException).code !== "ERR_WORKER_INVALID_EXEC_ARGV") throw error;
    return start(settings, []);
  }
}

/**
 * What is started when the script is text: Node would quote an evaluated text into another one and parse it twice. It
 * has the name of no file, and frames of its stacks have that name.
 */
const BOOT = `
const { workerData } = require("node:worker_threads");
require("node:vm").compileFunction(workerData.script, ["require"], { filename: "holdfast-connection-thread.cjs" })(require);
`;

/** Threads of which the first is already on its way. */
export interface EarlyThreads {
  /** The first one, and from then on a new one each time. */
  readonly start: () => ThreadHandle;
  /** Ends the first one if it was not asked for; resolves when it is gone. */
  readonly discard: () => Promise<void>;
}

/** Starts a thread now. It must be asked for in this turn: what it emits afterwards is for whom it was given to. */
export function startEarly(spawn: () => ThreadHandle): EarlyThreads {
  let first: (() => ThreadHandle) | undefined;
  try {
    const thread = spawn();
    first = () => thread;
  } catch (error) {
    first = () => {
      throw error;
    };
  }
  const take = (): (() => ThreadHandle) => {
    const taken = first ?? spawn;
    first = undefined;
    return taken;
  };
  return {
    start: () => take()(),
    discard: async () => {
      if (first === undefined) return;
      try {
        const unused = take()();
        // Without this nothing listens, and an error without a listener would end the process.
        unused.on("error", () => {});
        await unused.terminate();
      } catch {
        // It never started.
      }
    },
  };
}

function start({ script, resourceLimits }: SpawnSettings, execArgv: string[]): ThreadHandle {
  const { Worker: NodeWorker } = nodeModule("node:worker_threads");
  const options = {
    name: "holdfast-connection",
    execArgv,
    env: scrubbedEnvironment(),
    stdout: true,
    stderr: true,
    ...(resourceLimits ? { resourceLimits: { ...resourceLimits } } : {}),
  };
  const given: ConnectionThreadData = { started: readClocks(systemClock), uptimeMs: process.uptime() * 1000 };
  if ("url" in script) return new NodeWorker(script.url, { ...options, workerData: given });
  const workerData: ConnectionThreadData = { ...given, script: script.text };
  return new NodeWorker(BOOT, { ...options, eval: true, workerData });
}
