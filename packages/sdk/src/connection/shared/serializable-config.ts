/**
 * What the connection thread is told in INIT, and what every connection offers. It crosses to another thread, so it is
 * plain data.
 */
import type { BackoffPolicy } from "@holdfast/core";
import { type AppConfiguration, EXTENSIONS, type Extension, TIMEOUTS, WIRE_LIMITS } from "@holdfast/protocol";
import type { StallPolicy } from "./stall.ts";

/** What this SDK offers to a gateway beyond the plain protocol: all extensions that there are. */
export const OFFERED_EXTENSIONS: readonly Extension[] = EXTENSIONS;

export const MAX_APPS = WIRE_LIMITS.maxAppsPerConnection;

export const CONNECT_TIMEOUTS = { openMs: TIMEOUTS.openMs, httpMs: TIMEOUTS.httpMs } as const;

/** What the thread needs to know: plain data only. Keys are hashed before they get here. */
export interface SerializableConfig {
  readonly apiBaseUrl: string;
  /** Instead of the endpoint that the start call names. */
  readonly gatewayUrl?: string;
  readonly envName?: string;
  readonly hashedSigningKey?: string;
  readonly hashedFallbackKey?: string;
  readonly apps: readonly AppConfiguration[];
  readonly instanceId: string;
  readonly maxWorkerConcurrency: number;
  /** What is offered to the gateway; empty = the plain protocol. */
  readonly extensions: readonly Extension[];
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
