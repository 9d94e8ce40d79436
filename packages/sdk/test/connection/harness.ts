import { type Deferred, deferred, systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { type ExecutorRequest, encodeJsonBytes } from "@holdfast/protocol";
import type { Connection } from "../../src/connection/main/connection.ts";
import { openConnection } from "../../src/connection/main/open-connection.ts";
import type { OpenConnectionDeps } from "../../src/connection/main/open-connection-deps.ts";
import { type SpawnSettings, spawnConnectionThread } from "../../src/connection/main/spawn-thread.ts";
import type { SerializableConfig } from "../../src/connection/shared/serializable-config.ts";
import type { CancelSignal } from "../../src/execution/abort.ts";
import type {
  CheckpointPort,
  ExecutionRequest,
  ExecutionResult,
  ExecutionStrategy,
} from "../../src/execution/execution.ts";
import type { HoldfastFunction } from "../../src/functions/define-function.ts";
import { loadThreadScript } from "../../src/thread-script.ts";

export function done(value: unknown = "ok"): ExecutionResult {
  return { status: "DONE", body: encodeJsonBytes(value), noRetry: false, requestVersion: 2 };
}

/** A request that the test answers by hand. */
export interface ManualCall {
  readonly request: ExecutionRequest;
  readonly port: CheckpointPort;
  readonly signal: CancelSignal;
  readonly result: Deferred<ExecutionResult>;
}

/** A strategy whose calls the test sees and answers. */
export function manualStrategy(): { readonly calls: ManualCall[]; readonly strategy: ExecutionStrategy } {
  const calls: ManualCall[] = [];
  return {
    calls,
    strategy: {
      execute: (request, port, signal) => {
        const result = deferred<ExecutionResult>();
        calls.push({ request, port, signal, result });
        return result.promise;
      },
    },
  };
}

/** A request that the real strategy runs in place, as a gateway with our extensions makes it. */
export function requestFor(fn: HoldfastFunction, appName: string): Partial<ExecutorRequest> {
  const requestPayload = encodeJsonBytes({
    version: -1,
    event: { id: "e", name: "n", data: {}, ts: 1 },
    events: [],
    steps: {},
    ctx: { attempt: 0, stack: { stack: [], current: 0 }, holdfast: { v: 1, retries: {}, signatures: {} } },
  });
  return { appName, functionSlug: fn.slug, requestPayload };
}

export const instantStrategy: ExecutionStrategy = {
  execute: async ({ payload }) => ({ ...done(), body: payload }),
};

export interface Opened {
  readonly connection: Connection;
  readonly logs: { readonly level: string; readonly message: string; readonly data?: unknown }[];
}

export function testConfig(url: string, changes: Partial<SerializableConfig> = {}): SerializableConfig {
  return {
    apiBaseUrl: url,
    apps: [{ appName: "app", functions: encodeJsonBytes([]) }],
    isolated: [],
    instanceId: "instance",
    maxWorkerConcurrency: 100,
    partitions: [],
    queues: ["default"],
    required: [],
    extensions: ["checkpoint", "nack", "cancel"],
    sdkVersion: "holdfast-js:v0",
    startedAtMs: 1_700_000_000_000,
    system: { cpuCores: 2, memBytes: 1024, os: "linux" },
    outbox: { maxCount: 1000, maxBytes: 1_000_000, ackMs: 30_000 },
    reconnect: { baseMs: 20, factor: 2, maxMs: 200, jitter: 0.5 },
    minUptimeMs: 1_000,
    openMs: 5_000,
    httpMs: 5_000,
    debugMs: 200,
    stall: { thresholdMs: 1_000, maxStallMs: null, noStack: "tests do not ask for it." },
    ...changes,
  };
}

export type OpenChanges = Partial<Omit<OpenConnectionDeps, "config">> & {
  readonly config?: Partial<SerializableConfig>;
  readonly logs?: Opened["logs"];
  /** Instead of the real script of the connection thread. */
  readonly script?: SpawnSettings["script"];
  readonly resourceLimits?: SpawnSettings["resourceLimits"];
};

export async function openTest(url: string, changes: OpenChanges = {}): Promise<Opened> {
  const { config, logs = [], script: given, resourceLimits, ...deps } = changes;
  const script = given ?? { text: await loadThreadScript() };
  const connection = await openConnection({
    config: testConfig(url, config),
    strategy: instantStrategy,
    startThread: () => spawnConnectionThread({ script, resourceLimits }),
    respawn: { baseMs: 20, factor: 2, maxMs: 200, jitter: 0.2, maxCrashes: 5, minUptimeMs: 1_000 },
    connectTimeoutMs: 20_000,
    drainTimeoutMs: 10_000,
    signals: [],
    log: (level, message, data) => logs.push({ level, message, data }),
    clock: systemClock,
    timers: systemTimers,
    random: systemRandom,
    ...deps,
  });
  return { connection, logs };
}
