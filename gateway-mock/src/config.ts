import { HoldfastError, type Log, silentLog } from "@holdfast/core";
import { EXTENSIONS, type Extension, PLAIN_INTERVALS, TIMEOUTS } from "@holdfast/protocol";
import { VERSION_POLICIES, type VersionPolicy } from "./engine/index.ts";
import { readAllowedHosts, readAllowedOrigins } from "./http/callers.ts";
import { type GatewayKey, type GatewayKeys, readGatewayKeys } from "./keys-config.ts";

/** Options of `startGateway`; durations are milliseconds. */
export interface GatewayOptions {
  /** Address to listen on. Default `127.0.0.1`; anything beyond this machine needs both keys. */
  readonly host?: string;
  /** HTTP and WebSocket. Default 8288; 0 = any free port. */
  readonly port?: number;
  /** The WebSocket's second port, for agents that expect one. Default `port + 1`; 0 = any free port. */
  readonly connectPort?: number;
  /** Postgres to use, as `postgres://user:password@host:port/database`. Without it a local server is started. */
  readonly databaseUrl?: string;
  /** Where the local Postgres keeps its data. Default `.holdfast`. */
  readonly dataDir?: string;
  /** False: the local Postgres is a throwaway; nothing stays. Default true. */
  readonly keepData?: boolean;
  /** Protocol extensions that agents are granted. Default: all. */
  readonly extensions?: readonly Extension[];
  /**
   * The plain protocol only, and as strict as the reference's gateway: it closes, ignores, routes and gives up as that one does. For
   * tests of what is to run there. Default false.
   */
  readonly plain?: boolean;
  /** Lease of a request; extensions come four times as often. Default 20,000 with extensions, else 120,000. */
  readonly leaseMs?: number;
  /** Heartbeat interval. Default 5,000 with extensions, else 10,000. */
  readonly heartbeatMs?: number;
  /** Wait before the first retry of a step; doubles up to 60 s. Default 1,000. */
  readonly retryBaseMs?: number;
  /** How long a lost agent may take to come back with its work. Default 5,000. */
  readonly reconnectGraceMs?: number;
  /**
   * A request that is not acknowledged after this goes elsewhere; from an app of the plain protocol whose connection lives only
   * to another one. Default 5,000; with `plain` 5,000 after the lease's end, as at the reference.
   */
  readonly requestAckMs?: number;
  /** How long `drain` waits for agents. Default 25,000. */
  readonly drainMs?: number;
  /**
   * What agents must sign start and flush with: hex digits, at least 32 (`openssl rand -hex 32`), with or without a prefix
   * such as `signkey-prod-`. Default: nothing is checked.
   */
  readonly signingKey?: string;
  /** A second key that is good too, while keys are changed. */
  readonly signingKeyFallback?: string;
  /** What senders of events must use. Default: nothing is checked. */
  readonly eventKey?: string;
  /** Further keys, which may each belong to one environment. */
  readonly keys?: readonly GatewayKey[];
  /** Origins of browser pages that may call, such as `https://app.example.com`. Default: none but this gateway's own. */
  readonly allowedOrigins?: readonly string[];
  /**
   * Names by which the gateway may be called, beside `localhost`, `host` and addresses: those of a proxy in front of it, say.
   * Given, they are all; without them any name is good where the gateway listens beyond this machine, which needs keys.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Who gets a run that another version of its app has started. `prefer` (default): a worker of that version while one is
   * connected, else any; `strict`: it waits for one; `any`: any worker.
   */
  readonly versionPolicy?: VersionPolicy;
  /**
   * Whether `step.fetch` may call this machine and its private network. Default: only while the gateway itself can be
   * reached from this machine alone; a gateway that others reach refuses, so that nobody gets behind it through a step.
   */
  readonly fetchInner?: boolean;
  /** Connections to Postgres, 3 to 100. Default 10. */
  readonly maxConnections?: number;
  /**
   * Time can be moved on, with `skipTime` or `POST /v1/testing/skip-time`, so that sleeps of hours take milliseconds. For
   * tests, on a database of their own: the time that was skipped stays skipped there. Default false.
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
  readonly fetchInner: boolean;
  readonly maxConnections: number;
  readonly virtualTime: boolean;
  readonly log: Log;
}

export const DEFAULT_PORT = 8288;

/** Limits of the gateway that have no option. */
export const GATEWAY_LIMITS = {
  maxSockets: 10_000,
  /** Of sockets whose worker is not accepted yet. */
  pending: { maxSockets: 1000, ownBytes: 64 * 1024, sharedBytes: 16 * 1024 * 1024, pieceBytes: 256 },
  maxFunctionsPerApp: 1000,
  maxEventBodyBytes: 16 * 1024 * 1024,
  maxCheckpointBodyBytes: 16 * 1024 * 1024,
  /** Of a body that is refused, this much is read, so that the peer gets to read why. */
  maxDroppedBodyBytes: 64 * 1024 * 1024,
  roomBytes: 4 * 1024 * 1024,
  maxBufferedBytes: 64 * 1024 * 1024,
  httpRequestTimeoutMs: 30_000,
  httpHeadersTimeoutMs: 10_000,
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
  fetchInner: true,
  maxConnections: true,
  virtualTime: true,
  log: true,
};

/** @throws HoldfastError `OPTION_INVALID` */
function checkNames(options: GatewayOptions): void {
  const extra = Object.keys(options).find((name) => !Object.hasOwn(KNOWN, name));
  if (extra !== undefined) {
    const known = Object.keys(KNOWN).join(", ");
    throw new HoldfastError("OPTION_INVALID", `The gateway has no option \`${extra}\`; it knows ${known}.`);
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
      `The gateway is to listen on ${host}, which other machines can reach: give it a signing key and an event key, or listen on 127.0.0.1.`,
    );
  }
  if (options.virtualTime && !isLoopback(host)) {
    throw new HoldfastError(
      "OPTION_INVALID",
      `virtualTime is for tests on this machine; the gateway is to listen on ${host}.`,
    );
  }
  if (options.versionPolicy !== undefined && !VERSION_POLICIES.includes(options.versionPolicy)) {
    throw new HoldfastError("OPTION_INVALID", `versionPolicy must be one of ${VERSION_POLICIES.join(", ")}.`);
  }
  for (const name of options.extensions ?? []) {
    if (!EXTENSIONS.includes(name)) throw new HoldfastError("OPTION_INVALID", `There is no extension "${name}".`);
  }
  const plain = options.plain ?? false;
  if (plain && (options.extensions ?? []).length > 0) {
    throw new HoldfastError(
      "OPTION_INVALID",
      "A plain gateway grants no extensions: leave out `extensions`, or `plain`.",
    );
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
    fetchInner: options.fetchInner ?? isLoopback(host),
    maxConnections: options.maxConnections ?? 10,
    virtualTime: options.virtualTime ?? false,
    log: options.log === undefined ? silentLog : neverThrowing(options.log),
  };
}

function defaultAckMs(plain: boolean, leaseMs: number = PLAIN_INTERVALS.leaseMs): number {
  return plain ? leaseMs + TIMEOUTS.requestAckMs : TIMEOUTS.requestAckMs;
}

/** A log that fails breaks nothing else; nor does it later, where it is asynchronous. */
function neverThrowing(log: Log): Log {
  return (level, message, data) => {
    try {
      const returned: unknown = log(level, message, data);
      if (returned instanceof Promise) returned.catch(() => {});
    } catch {
      // There is nobody left to tell.
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
