/** WORKER_CONNECT: what this worker is, has and takes. What it takes is said where the extension for it is offered. */
import { encodeJsonBytes, type StartResponse, type WorkerConnect } from "@holdfast/protocol";
import type { SerializableConfig } from "../shared/serializable-config.ts";

/** What the worker says about itself in the handshake. */
export function workerConnectFrame(config: SerializableConfig, start: StartResponse): WorkerConnect {
  const { extensions, envName, platform, system } = config;
  return {
    kind: "WORKER_CONNECT",
    connectionId: start.connectionId,
    instanceId: config.instanceId,
    sessionToken: start.sessionToken,
    syncToken: start.syncToken,
    capabilities: encodeJsonBytes({
      trust_probe: "v1",
      connect: "v1",
      ...(extensions.length > 0 ? { holdfast: { v: 1, extensions, uptimeMs: uptimeMs(), ...takes(config) } } : {}),
    }),
    apps: config.apps,
    workerManualReadinessAck: true,
    ...system,
    ...(envName === undefined ? {} : { environment: envName }),
    framework: "connect",
    ...(platform === undefined ? {} : { platform }),
    sdkVersion: config.sdkVersion,
    sdkLanguage: "typescript",
    startedAtMs: config.startedAtMs,
    maxWorkerConcurrency: config.maxWorkerConcurrency,
  };
}

/** Of the process, which no clock's error changes: a gateway tells a process that was started again from a reconnect. */
const uptimeMs = (): number => Math.round(process.uptime() * 1000);

function takes({ extensions, queues, partitions }: SerializableConfig): object {
  return {
    ...(extensions.includes("queues") ? { queues } : {}),
    ...(extensions.includes("partitions") && partitions.length > 0 ? { partitions } : {}),
  };
}
