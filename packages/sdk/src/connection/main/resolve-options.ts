/**
 * Reads the options of `connect()` by the table in `connect-option-table.ts` and gives them the names and units that
 * the code uses.
 */
import type { BackoffPolicy } from "@holdfast/core";
import type { ResolvedClientOptions } from "../../functions/app-client.ts";
import { checkOptions } from "../../functions/inngest-options.ts";
import type { IsolationOptions } from "../../isolation/main/isolation.ts";
import { type Environment, invalidOption, readTable } from "../../options.ts";
import { nodeModule } from "../../runtime.ts";
import type { ConnectOptions } from "../shared/connect-options.ts";
import { CONNECT_OPTIONS } from "./connect-option-table.ts";
import { defined, isolationOf } from "./isolation-option-table.ts";
import type { ConnectionCallbacks } from "./listeners.ts";
import type { RespawnPolicy } from "./thread-host.ts";

export interface ResolvedConnectOptions {
  readonly gatewayUrl?: string;
  readonly instanceId: string;
  readonly maxWorkerConcurrency: number;
  readonly queues: readonly string[];
  readonly signals: readonly NodeJS.Signals[];
  readonly abort?: AbortSignal;
  readonly callbacks: ConnectionCallbacks;
  readonly connectTimeoutMs: number;
  readonly drainTimeoutMs: number;
  /** The same after a signal. */
  readonly signalDrainMs: number;
  readonly workerUrl?: string | URL;
  readonly resourceLimits: NonNullable<ConnectOptions["resourceLimits"]>;
  readonly extensions: boolean;
  readonly outbox: { readonly maxCount: number; readonly maxBytes: number; readonly ackMs: number };
  readonly respawn: RespawnPolicy;
  readonly hangTimeoutMs: number;
  /** Null = never. */
  readonly yieldAfterMs: number | null;
  readonly isolation: IsolationOptions;
  readonly stall: { readonly thresholdMs: number | null; readonly maxStallMs: number | null };
}

type Mode = ResolvedClientOptions["mode"];

/**
 * How attempts to connect are spaced. In production thousands of workers may lose one gateway at once: they come back
 * spread over half a minute. In development there is one, and someone waits for it.
 */
export const RECONNECT_BACKOFF: Readonly<Record<Mode, BackoffPolicy>> = {
  cloud: { baseMs: 100, factor: 2, maxMs: 30_000, jitter: 0.5 },
  dev: { baseMs: 100, factor: 2, maxMs: 1_500, jitter: 0.5 },
};

const DRAIN_TIMEOUT_MS = 25_000;
/** After a signal, in development: that is a reload, and what is handed back goes to the next process at once. */
const DEV_SIGNAL_DRAIN_MS = 1_000;

/** @throws HoldfastError `OPTION_INVALID` */
export function resolveConnectOptions(
  options: ConnectOptions,
  env: Environment,
  mode: Mode = "cloud",
): ResolvedConnectOptions {
  checkOptions("connect()", options, Object.keys(CONNECT_OPTIONS));
  const read = readTable(CONNECT_OPTIONS, { ...options }, env);
  const { gatewayUrl, signal, workerUrl, resourceLimits, outbox, respawn } = read;
  return {
    ...(gatewayUrl === undefined ? {} : { gatewayUrl }),
    instanceId: read.instanceId ?? defaultInstanceId(),
    maxWorkerConcurrency: read.maxWorkerConcurrency,
    queues: read.queues,
    signals: read.handleShutdownSignals,
    ...(signal === undefined ? {} : { abort: signal }),
    callbacks: defined({ onStateChange: read.onStateChange, onStall: read.onStall }),
    connectTimeoutMs: read.connectTimeout,
    drainTimeoutMs: read.drainTimeout ?? DRAIN_TIMEOUT_MS,
    signalDrainMs: read.drainTimeout ?? (mode === "dev" ? DEV_SIGNAL_DRAIN_MS : DRAIN_TIMEOUT_MS),
    ...(workerUrl === undefined ? {} : { workerUrl }),
    resourceLimits: defined(resourceLimits),
    extensions: read.extensions,
    outbox: { maxCount: outbox.maxCount, maxBytes: outbox.maxBytes, ackMs: outbox.ackTimeout },
    isolation: isolationOf(read.isolation),
    stall: checkedStall(read.stallThreshold, read.maxStall),
    respawn: {
      baseMs: respawn.baseDelay,
      maxMs: respawn.maxDelay,
      factor: 2,
      jitter: 0.2,
      maxCrashes: respawn.maxCrashes,
      minUptimeMs: respawn.minUptime,
    },
    hangTimeoutMs: respawn.hangTimeout,
    yieldAfterMs: read.yieldAfter,
  };
}

function defaultInstanceId(): string {
  const suffix = nodeModule("node:crypto").randomBytes(4).toString("hex");
  return `${nodeModule("node:os").hostname()}-${process.pid}-${suffix}`;
}

function checkedStall(thresholdMs: number | null, maxStallMs: number | null): ResolvedConnectOptions["stall"] {
  if (maxStallMs !== null && (thresholdMs === null || maxStallMs < thresholdMs)) {
    throw invalidOption(
      "the option `maxStall`",
      "requires `stallThreshold`, and must not be shorter: a stall is detected first, and its requests are returned afterwards.",
    );
  }
  return { thresholdMs, maxStallMs };
}
