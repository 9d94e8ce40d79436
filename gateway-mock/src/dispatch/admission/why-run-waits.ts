/**
 * Why a run has no worker now, for people: the reasons of `Admission` as far as they can be seen from a run, its queue
 * and the workers that are connected. Pure; `../queue/waiting-runs.ts` gathers the facts.
 */
import type { VersionPolicy } from "@holdfast/engine";
import type { Waiting } from "./may-start.ts";

/** As the API shows it. */
export interface RunWaiting {
  readonly reason: Waiting["why"];
  readonly message: string;
}

export interface WaitingFacts {
  /** In how long the first of its jobs that no worker has is due; 0 = now. */
  readonly dueInMs: number;
  /** When that is, of the database's time. */
  readonly dueMs: number;
  readonly appId: string;
  /** The version that has begun it; null: none has. */
  readonly begunBy: string | null;
  readonly versionPolicy: VersionPolicy;
  /** The versions that have its function, the newest first, as they are connected here or at other gateways. */
  readonly versions: readonly {
    readonly version: string;
    readonly queue: string;
    /** A worker that serves the queue is connected. */
    readonly isConnected: boolean;
    /** One takes work. */
    readonly isOpen: boolean;
  }[];
  /** A worker here would have room. */
  readonly hasRoom: boolean;
  /** Limits of its function count it. */
  readonly isLimited: boolean;
  readonly isDraining: boolean;
  readonly isPaused: boolean;
}

/** Null: it is about to be given to a worker. */
export function whyRunWaits(facts: WaitingFacts): RunWaiting | null {
  const { dueInMs, dueMs, appId, isPaused, hasRoom, isLimited, isDraining } = facts;
  if (isPaused) return { reason: "FUNCTION_PAUSED", message: "Its function is paused." };
  const missing = whyNoWorker(facts);
  if (missing) return missing;
  if (dueInMs > 0) return { reason: "NOT_DUE", message: `It is due at ${new Date(dueMs).toISOString()}.` };
  if (isDraining) return { reason: "GATEWAY_DRAINING", message: "This gateway is shutting down." };
  if (!hasRoom) return { reason: "NO_ROOM", message: `All workers of the app "${appId}" that may run it are busy.` };
  return isLimited ? { reason: "LIMITS", message: "The limits of its function are used up." } : null;
}

function whyNoWorker({ appId, begunBy, versionPolicy, versions }: WaitingFacts): RunWaiting | null {
  const own = versions.filter(({ version }) => version === begunBy);
  const may = versionPolicy === "strict" && begunBy !== null ? own : versions;
  if (may.some(({ isOpen }) => isOpen)) return null;
  if (may.some(({ isConnected }) => isConnected)) {
    return { reason: "NO_ROOM", message: `All workers of the app "${appId}" that may run it are paused.` };
  }
  if (versions.some(({ isConnected }) => isConnected)) {
    const message = `It began with version "${begunBy}" of the app "${appId}", of which no worker is connected.`;
    return { reason: "VERSION", message };
  }
  const queue = (may[0] ?? versions[0])?.queue ?? "default";
  return { reason: "NO_WORKER_IN_QUEUE", message: noWorkerInQueue(appId, queue) };
}

export const noWorkerInQueue = (appId: string, queue: string): string =>
  `No connected worker of the app "${appId}" serves the queue "${queue}".`;
