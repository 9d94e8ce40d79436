import { HoldfastError, type Log, silentLog } from "@holdfast/core";
import { VERSION_POLICIES, type VersionPolicy } from "@holdfast/engine";
import { EXTENSIONS, type Extension, PLAIN_INTERVALS, TIMEOUTS } from "@holdfast/protocol";

import { readAllowedHosts, readAllowedOrigins } from "./http/callers.ts";
import { type GatewayKey, type GatewayKeys, readGatewayKeys } from "./keys-config.ts";

/** Options of `startGateway`; durations are milliseconds. */
export interface GatewayOptions {
  /** Address to listen on. Default `127.0.0.1`; anything beyond this machine requires both keys. */
  readonly host?: string;
  /** HTTP and WebSocket. Default 8288; 0 = any free port. */
  readonly port?: number;
  /** A second port for the WebSocket, for workers that expect one. Default `port + 1`; 0 = any free port. */
  readonly connectPort?: number;
  /** Postgres to use, as `postgres://user:password@host:port/database`. If omitted, an embedded server is started. */
  readonly databaseUrl?: string;
  /** Where the embedded Postgres keeps its data. Default `.holdfast`. */
  readonly dataDir?: string;
  /** If false, the data of the embedded Postgres is deleted on exit. Default true. */
  readonly keepData?: boolean;
  /** Protocol extensions that workers are granted. Default: all. */
  readonly extensions?: readonly Extension[];
  /**
   * The base protocol only, and as strict as the reference gateway: it closes, ignores, routes and gives up in the same
   * cases. For testing apps that will run there. Default false.
   */
  readonly plain?: boolean;
  /** Lease of a request; workers extend it four times per lease. Default 20,000 with extensions, else 120,000. */
  readonly leaseMs?: number;
  /** Heartbeat interval. Default 5,000 with extensions, else 10,000. */
  readonly heartbeatMs?: number;
  /** Delay before the first retry of a step; doubles up to 60 s. Default 1,000. */
  readonly retryBaseMs?: number;
  /** How long a disconnected worker may take to reconnect and keep its work. Default 5,000. */
  readonly reconnectGraceMs?: number;
  /**
   * A request that is not acknowledged within this time is reassigned; if its app speaks the base protocol and is still
   * connected, only to another worker. Default 5,000; with `plain` 5,000 after the lease's end, as the reference does.
   */
  readonly requestAckMs?: number;
  /** How long `drain` waits for workers. Default 25,000. */
  readonly drainMs?: number;
  /**
   * The key that workers sign start and flush with: at least 32 hex digits (`openssl rand -hex 32`), with or without a
   * prefix such as `signkey-prod-`. Default: nothing is checked.
   */
  readonly signingKey?: string;
  /** A second accepted key, for key rotation. */
  readonly signingKeyFallback?: string;
  /** The key that event senders must use. Default: nothing is checked. */
  readonly eventKey?: string;
  /** Additional keys, each of which may belong to one environment. */
  readonly keys?: readonly GatewayKey[];
  /** Origins of browser pages that may call, such as `https://app.example.com`. Default: only this gateway's own. */
  readonly allowedOrigins?: readonly string[];
  /**
   * Host names that clients may use besides `localhost`, `host` and IP addresses, such as that of a proxy in front of it.
   * When omitted, a gateway that listens beyond this machine (which requires keys) accepts any name.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Which workers may continue a run started by another app version. `prefer` (default): a worker of that version while
   * one is connected, otherwise any; `strict`: only a worker of that version; `any`: any worker.
   */
  readonly versionPolicy?: VersionPolicy;
  /**
   * Whether `step.fetch` may call this machine and its private network. Default: only while the gateway itself is
   * reachable from this machine alone; otherwise a step could be used to reach services behind the gateway.
   */
  readonly allowPrivateFetch?: boolean;
  /** Connections to Postgres, 3 to 100. Default 10. */
  readonly maxConnections?: number;
  /**
   * Time can be advanced with `skipTime` or `POST /v1/testing/skip-time`, so that sleeps of hours take milliseconds. For
   * tests, on a database of their own: skipped time stays skipped in that database. Default false.
   */
  readonly virtualTime?: boolean;
  readonly log?: Log;
}

export interface GatewayConfig extends GatewayKeys {
  readonly host: string;
  readonly port: number;
  readonly connectPort: number;
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly keepData: boolean;
  readonly extensions: readonly Extension[];
  readonly plain: boolean;
  readonly leaseMs: number | undefined;
  readonly heartbeatMs: number | undefined;
  readonly retryBaseMs: number;
  readonly reconnectGraceMs: number;
  readonly requestAckMs: number;
  readonly drainMs: number;
  readonly allowedOrigins: readonly string[];
  readonly allowedHosts: readonly string[];
  readonly versionPolicy: VersionPolicy;
  readonly allowPrivateFetch: boolean;
  readonly maxConnections: number;
  readonly virtualTime: boolean;
  readonly log: Log;
}

export const DEFAULT_PORT = 8288;

/** Limits of the gateway that have no option. */
export const GATEWAY_LIMITS = {
  maxSockets: 10_000,
  /** Sockets whose worker has not been accepted yet. */
  pending: { maxSockets: 1000, ownBytes: 64 * 1024, sharedBytes: 16 * 1024 * 1024, pieceBytes: 256 },
  maxFunctionsPerApp: 1000,
  maxEventBodyBytes: 16 * 1024 * 1024,
  maxCheckpointBodyBytes: 16 * 1024 * 1024,
  /** How much of a rejected body is still read, so that the peer receives the answer. */
  maxDroppedBodyBytes: 64 * 1024 * 1024,
  roomBytes: 4 * 1024 * 1024,
  maxBufferedBytes: 64 * 1024 * 1024,
  httpRequestTimeoutMs: 30_000,
  httpHeadersTimeoutMs: 10_000,
  httpCheckEveryMs: 1_000,
  maxHeaderBytes: 16 * 1024,
  /** Of both ports together, without the sockets of workers. */
  maxHttpConnections: 2_000,
  sessionTokenMs: 300_000,
} as const;

const KNOWN: Readonly<Record<keyof GatewayOptions, true>> = {
  host: true,
  port: true,
  connectPort: true,
  databaseUrl: true,
  dataDir: true,
  keepData: true,
  extensions: true,
  plain: true,
  leaseMs: true,
  heartbeatMs: true,
  retryBaseMs: true,
  reconnectGraceMs: true,
  requestAckMs: true,
  drainMs: true,
  signingKey: true,
  signingKeyFallback: true,
  eventKey: true,
  keys: true,
  allowedOrigins: true,
  allowedHosts: true,
  versionPolicy: true,
  allowPrivateFetch: true,
  maxConnections: true,
  virtualTime: true,
  log: true,
};

/** @throws HoldfastError `OPTION_INVALID` */
function checkNames(options: GatewayOptions): void {
  const extra = Object.keys(options).find((name) => !Object.hasOwn(KNOWN, name));
  if (extra !== undefined) {
    const known = Object.keys(KNOWN).join(", ");
    throw new HoldfastError("OPTION_INVALID", `Unknown gateway option \`${extra}\`; valid options: ${known}.`);
  }
  if (options.log === undefined || typeof options.log === "function") return;
  throw new HoldfastError("OPTION_INVALID", "The option `log` must be a function: (level, message, data) => ...");
}

/** @throws HoldfastError `OPTION_INVALID`, `SIGNING_KEY_INVALID`, `HOST_NOT_LOOPBACK` */
export function resolveConfig(options: GatewayOptions): GatewayConfig {
  checkNames(options);
  const host = options.host ?? "127.0.0.1";
  const port = checkPort(options.port ?? DEFAULT_PORT, "port");
  const connectPort = checkPort(options.connectPort ?? (port === 0 ? 0 : port + 1), "connectPort");
  if (port !== 0 && port === connectPort) {
    throw new HoldfastError("OPTION_INVALID", `port and connectPort are both ${port}; they must differ.`);
  }
  const leaseMs = duration(options, "leaseMs");
  const heartbeatMs = duration(options, "heartbeatMs");
  const keys = readGatewayKeys(options);
  if (!isLoopback(host) && (keys.signingKeys.length === 0 || keys.eventKeys.length === 0)) {
    throw new HoldfastError(
      "HOST_NOT_LOOPBACK",
      `The gateway was asked to listen on ${host}, which other machines can reach: give it a signing key and an event key, or listen on 127.0.0.1.`,
    );
  }
  if (options.virtualTime && !isLoopback(host)) {
    throw new HoldfastError(
      "OPTION_INVALID",
      `virtualTime is for tests on this machine, but the gateway was asked to listen on ${host}.`,
    );
  }
  if (options.versionPolicy !== undefined && !VERSION_POLICIES.includes(options.versionPolicy)) {
    throw new HoldfastError("OPTION_INVALID", `versionPolicy must be one of ${VERSION_POLICIES.join(", ")}.`);
  }
  for (const name of options.extensions ?? []) {
    if (!EXTENSIONS.includes(name)) throw new HoldfastError("OPTION_INVALID", `Unknown extension "${name}".`);
  }
  const plain = options.plain ?? false;
  if (plain && (options.extensions ?? []).length > 0) {
    throw new HoldfastError("OPTION_INVALID", "A plain gateway grants no extensions: omit `extensions` or `plain`.");
  }
  return {
    host,
    port,
    connectPort,
    databaseUrl: options.databaseUrl === "" ? undefined : options.databaseUrl,
    dataDir: options.dataDir ?? ".holdfast",
    keepData: options.keepData ?? true,
    extensions: options.extensions ?? (plain ? [] : EXTENSIONS),
    plain,
    leaseMs,
    heartbeatMs,
    retryBaseMs: duration(options, "retryBaseMs") ?? 1000,
    reconnectGraceMs: duration(options, "reconnectGraceMs") ?? TIMEOUTS.reconnectGraceMs,
    requestAckMs: duration(options, "requestAckMs") ?? defaultAckMs(plain, leaseMs),
    drainMs: duration(options, "drainMs") ?? TIMEOUTS.drainMs,
    ...keys,
    allowedOrigins: readAllowedOrigins(options.allowedOrigins),
    allowedHosts: readAllowedHosts(options.allowedHosts),
    versionPolicy: options.versionPolicy ?? "prefer",
    allowPrivateFetch: options.allowPrivateFetch ?? isLoopback(host),
    maxConnections: options.maxConnections ?? 10,
    virtualTime: options.virtualTime ?? false,
    log: options.log === undefined ? silentLog : neverThrowing(options.log),
  };
}

function defaultAckMs(plain: boolean, leaseMs: number = PLAIN_INTERVALS.leaseMs): number {
  return plain ? leaseMs + TIMEOUTS.requestAckMs : TIMEOUTS.requestAckMs;
}

/** A log function that throws, or rejects later, must not break anything else. */
function neverThrowing(log: Log): Log {
  return (level, message, data) => {
    try {
      const returned: unknown = log(level, message, data);
      if (returned instanceof Promise) returned.catch(() => {});
    } catch {
      // There is nowhere left to report it.
    }
  };
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function checkPort(port: number, name: string): number {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new HoldfastError("OPTION_INVALID", `${name} must be 0 to 65535, not ${port}.`);
  }
  return port;
}

/** The shortest that each duration may be. */
export const MIN_DURATIONS_MS = {
  leaseMs: 200,
  heartbeatMs: 50,
  requestAckMs: 50,
  retryBaseMs: 0,
  reconnectGraceMs: 0,
  drainMs: 0,
} as const satisfies { readonly [Name in keyof GatewayOptions]?: number };
/** The longest. */
export const MAX_OPTION_MS = 86_400_000;

function duration(options: GatewayOptions, name: keyof typeof MIN_DURATIONS_MS): number | undefined {
  const value = options[name];
  if (value === undefined) return undefined;
  const minMs = MIN_DURATIONS_MS[name];
  if (!Number.isFinite(value) || value < minMs || value > MAX_OPTION_MS) {
    throw new HoldfastError(
      "OPTION_INVALID",
      `${name} must be ${minMs} to ${MAX_OPTION_MS} milliseconds, not ${value}.`,
    );
  }
  return Math.round(value);
}
