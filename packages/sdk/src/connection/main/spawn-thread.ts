/**
 * Starts a worker thread for the connection: which script, which environment variables and which flags it gets.
 * `ThreadHost` decides when.
 */
import type { Worker } from "node:worker_threads";
import { nodeModule } from "../../runtime.ts";

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

function start({ script, resourceLimits }: SpawnSettings, execArgv: string[]): ThreadHandle {
  const { Worker: NodeWorker } = nodeModule("node:worker_threads");
  const source = "text" in script ? script.text : script.url;
  return new NodeWorker(source, {
    eval: "text" in script,
    name: "holdfast-connection",
    execArgv,
    env: scrubbedEnvironment(),
    stdout: true,
    stderr: true,
    ...(resourceLimits ? { resourceLimits: { ...resourceLimits } } : {}),
  });
}
