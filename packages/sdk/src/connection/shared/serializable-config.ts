/**
 * What INIT gives the connection thread, and what every connection offers. It crosses to another thread, so it is
 * plain data.
 */
import type { BackoffPolicy, ErrorCode } from "@holdfast/core";
import { type AppConfiguration, EXTENSIONS, type Extension, TIMEOUTS, WIRE_LIMITS } from "@holdfast/protocol";
import type { StallPolicy } from "./stall.ts";

/** What this SDK offers to a gateway beyond the plain protocol: all extensions that there are. */
export const OFFERED_EXTENSIONS: readonly Extension[] = EXTENSIONS;

export const MAX_APPS = WIRE_LIMITS.maxAppsPerConnection;

export const CONNECT_TIMEOUTS = { openMs: TIMEOUTS.openMs, httpMs: TIMEOUTS.httpMs } as const;

/** How many requests of these functions may run at once, whatever the others do. */
export interface Partition {
  /** Slugs: `<app id>-<function id>`. */
  readonly functions: readonly string[];
  readonly capacity: number;
}

/** Without the extension the connection is refused, with this code and message. */
export interface RequiredExtension {
  readonly extension: Extension;
  readonly code: ErrorCode;
  readonly message: string;
}

/** What the thread needs to know: plain data only. Keys are hashed before they get here. */
export interface SerializableConfig {
  readonly apiBaseUrl: string;
  /** Instead of the endpoint that the start call names. */
  readonly gatewayUrl?: string;
  readonly envName?: string;
  readonly hashedSigningKey?: string;
  readonly hashedFallbackKey?: string;
  readonly apps: readonly AppConfiguration[];
  /** Functions whose requests go to pool threads. */
  readonly isolated: readonly { readonly appName: string; readonly functionSlug: string }[];
  readonly instanceId: string;
  /** Requests that may run at once, of the functions that are in no partition. */
  readonly maxWorkerConcurrency: number;
  /** Parts of the capacity that belong to some functions alone. No function is in two of them. */
  readonly partitions: readonly Partition[];
  /** The queues that this worker serves; `["*"]` = every one. */
  readonly queues: readonly string[];
  /** What is offered to the gateway; empty = the plain protocol. */
  readonly extensions: readonly Extension[];
  /** Of these the ones that this worker cannot do without, each with what it would mean. */
  readonly required: readonly RequiredExtension[];
  readonly sdkVersion: string;
  readonly platform?: string;
  readonly startedAtMs: number;
  readonly system: { readonly cpuCores: number; readonly memBytes: number; readonly os: string };
  readonly outbox: { readonly maxCount: number; readonly maxBytes: number; readonly ackMs: number };
  readonly reconnect: BackoffPolicy;
  /** A connection that held this long clears the count of failures. */
  readonly minUptimeMs: number;
  readonly openMs: number;
  readonly httpMs: number;
  readonly debugMs: number;
  readonly stall: StallPolicy;
}
