/** What a gateway is started with: its options, checked alone and together, and the limits that have no option. */
import { HoldfastError, type Log, silentLog } from "@holdfast/core";
import { EXTENSIONS, PLAIN_INTERVALS, TIMEOUTS } from "@holdfast/protocol";
import { type GatewayOptions, STORES, type StoreName } from "./gateway-options.ts";
import { type GatewayKeys, readGatewayKeys } from "./keys-config.ts";
import { type ResolvedTable, resolveTable } from "./option-kinds.ts";
import { GATEWAY_OPTIONS } from "./option-table.ts";

type Resolved = ResolvedTable<typeof GATEWAY_OPTIONS>;
/** Where the default depends on other options. */
type Computed =
  | "connectPort"
  | "retentionCompletedMs"
  | "retentionFailedMs"
  | "requestAckMs"
  | "allowPrivateFetch"
  | "extensions"
  | "logRuns"
  | "log";
type KeyOption = "signingKey" | "signingKeyFallback" | "eventKey" | "keys";

export type GatewayConfig = Omit<Resolved, Computed | KeyOption> &
  GatewayKeys & { readonly [Name in Computed]: NonNullable<Resolved[Name]> };

const DAY_MS = 86_400_000;

/** Limits of the gateway that have no option. */
export const GATEWAY_LIMITS = {
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
  /** After so long a call that reads looks whether the database answers at all, and for how long it looks. */
  readPatienceMs: 10_000,
  readPingMs: 2_000,
} as const;

/** @throws HoldfastError `OPTION_INVALID`, `SIGNING_KEY_INVALID`, `HOST_NOT_LOOPBACK` */
export function resolveConfig(options: GatewayOptions): GatewayConfig {
  const {
    signingKey: _,
    signingKeyFallback: _fallback,
    eventKey: _event,
    keys: _keys,
    ...resolved
  } = resolveTable(GATEWAY_OPTIONS, options);
  const { host, port, plain, databaseUrl, extensions = plain ? [] : EXTENSIONS, log } = resolved;
  const connectPort = resolved.connectPort ?? (port === 0 ? 0 : port + 1);
  if (connectPort > MAX_PORT) throw invalid("The port after 65535 does not exist: give `connectPort`, too.");
  if (port !== 0 && port === connectPort) {
    throw invalid(`port and connectPort are both ${port}; they must differ.`);
  }
  const keys = readGatewayKeys(options);
  if (!isLoopback(host) && (keys.signingKeys.length === 0 || keys.eventKeys.length === 0)) {
    throw new HoldfastError(
      "HOST_NOT_LOOPBACK",
      `The gateway was asked to listen on ${host}, which other machines can reach: give it a signing key and an event key, or listen on 127.0.0.1.`,
    );
  }
  if (resolved.virtualTime && !isLoopback(host)) {
    throw invalid(`virtualTime is for tests on this machine, but the gateway was asked to listen on ${host}.`);
  }
  if (plain && extensions.length > 0) {
    throw invalid("A plain gateway grants no extensions: omit `extensions` or `plain`.");
  }
  checkStoreOptions(options, resolved.store);
  return {
    ...resolved,
    ...keys,
    connectPort,
    databaseUrl: databaseUrl === "" ? undefined : databaseUrl,
    extensions,
    retentionCompletedMs: resolved.retentionCompletedMs ?? 30 * DAY_MS,
    retentionFailedMs: resolved.retentionFailedMs ?? 90 * DAY_MS,
    requestAckMs: resolved.requestAckMs ?? defaultAckMs(plain, resolved.leaseMs),
    allowPrivateFetch: resolved.allowPrivateFetch ?? isLoopback(host),
    logRuns: resolved.logRuns ?? "debug",
    log: log === undefined ? silentLog : neverThrowing(log),
  };
}

/** Options that only one store has. */
const OWN_OPTIONS: Readonly<Record<StoreName, readonly (keyof GatewayOptions)[]>> = {
  postgres: ["databaseUrl", "dataDir", "keepData", "maxConnections", "resendMemoryBytes"],
  memory: [],
};

/** What was given although the store does not use it: a caller that names a database expects to find its data there. */
export function unusedByStore(options: GatewayOptions, store: StoreName): readonly (keyof GatewayOptions)[] {
  const others = STORES.filter((name) => name !== store).flatMap((name) => OWN_OPTIONS[name]);
  return others.filter((name) => options[name] !== undefined && options[name] !== "");
}

function checkStoreOptions(options: GatewayOptions, store: StoreName): void {
  const unused = unusedByStore(options, store);
  if (unused.length === 0) return;
  const names = unused.map((name) => `\`${name}\``).join(", ");
  throw invalid(`The ${store} store does not use ${names}: omit it, or \`store: "${store}"\`.`);
}

const MAX_PORT = 65_535;

const invalid = (message: string): HoldfastError => new HoldfastError("OPTION_INVALID", message);

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

/**
 * Where all who can call can open pages; undefined: no such address is known. `own` is that of a gateway without keys:
 * with keys, a proxy on this machine may have brought callers from elsewhere.
 */
export function addressForCallers(config: GatewayConfig, own: string | undefined): string | undefined {
  const { dashboard, publicUrl, host } = config;
  if (dashboard === "off") return undefined;
  return publicUrl ?? (isLoopback(host) ? own : undefined);
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
