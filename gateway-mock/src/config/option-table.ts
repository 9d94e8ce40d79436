/** Every option of the gateway, in the order of its help. */
import { VERSION_POLICIES } from "@holdfast/engine";
import { EXTENSIONS, TIMEOUTS } from "@holdfast/protocol";
import { readAllowedHosts, readAllowedOrigins } from "../http/callers.ts";
import { type GatewayOptions, RUN_LOG_LEVELS, STORES } from "./gateway-options.ts";
import type { GatewayKey } from "./keys-config.ts";
import { readKeysFile } from "./keys-file.ts";
import {
  DATABASE_URL,
  duration,
  integer,
  LOG,
  listOf,
  type OptionTable,
  oneOf,
  PERIOD,
  PORT,
  SWITCH,
  TEXT,
  textsAs,
  unchecked,
} from "./option-kinds.ts";

export const DEFAULT_PORT = 8288;

export const GATEWAY_OPTIONS = {
  port: {
    kind: PORT,
    flag: { name: "port", takes: "<n>" },
    variables: ["HOLDFAST_GATEWAY_PORT"],
    default: DEFAULT_PORT,
    doc: "HTTP and WebSocket port; 0 = any free port",
  },
  connectPort: {
    kind: PORT,
    flag: { name: "connect-port", takes: "<n>" },
    variables: ["HOLDFAST_GATEWAY_CONNECT_PORT"],
    doc: "second port for the WebSocket; 0 = any free port; default: port + 1",
  },
  host: {
    kind: TEXT,
    flag: { name: "host", takes: "<address>" },
    variables: ["HOLDFAST_GATEWAY_HOST"],
    default: "127.0.0.1",
    doc: "address to listen on; any that other machines can reach requires keys",
  },
  allowedHosts: {
    kind: textsAs(readAllowedHosts),
    flag: { name: "allowed-host", takes: "<name>", isRepeatable: true },
    variables: ["HOLDFAST_GATEWAY_ALLOWED_HOSTS"],
    default: [],
    doc: "host names that clients may use, besides localhost and IP addresses",
  },
  allowedOrigins: {
    kind: textsAs(readAllowedOrigins),
    flag: { name: "allowed-origin", takes: "<origin>", isRepeatable: true },
    variables: ["HOLDFAST_GATEWAY_ALLOWED_ORIGINS"],
    default: [],
    doc: "browser origins that may call, such as http://localhost:3000",
  },
  store: {
    kind: oneOf(STORES),
    flag: { name: "store", takes: "<store>" },
    variables: ["HOLDFAST_STORE"],
    default: "postgres",
    doc: "`postgres`, or `memory`: ready at once, one gateway only, everything is gone when it ends",
  },
  dataDir: {
    kind: TEXT,
    flag: { name: "data-dir", takes: "<path>" },
    variables: ["HOLDFAST_GATEWAY_DATA_DIR"],
    default: ".holdfast",
    doc: "where the embedded Postgres keeps its data",
  },
  keepData: {
    kind: SWITCH,
    flag: { name: "no-keep-data", sets: false },
    variables: ["HOLDFAST_GATEWAY_KEEP_DATA"],
    default: true,
    doc: "whether the data of the embedded Postgres is kept when the gateway ends; the flag removes it",
  },
  databaseUrl: {
    kind: DATABASE_URL,
    flag: { name: "database-url", takes: "<url>" },
    variables: ["HOLDFAST_DATABASE_URL", "DATABASE_URL"],
    doc: "Postgres server to use; default: an embedded one is started",
  },
  maxConnections: {
    kind: integer(3, 100),
    flag: { name: "max-connections", takes: "<n>" },
    variables: ["HOLDFAST_GATEWAY_MAX_CONNECTIONS"],
    default: 10,
    doc: "how many connections to Postgres are opened at most",
  },
  maxWorkers: {
    kind: integer(1, 1_000_000),
    flag: { name: "max-workers", takes: "<n>" },
    variables: ["HOLDFAST_GATEWAY_MAX_WORKERS"],
    default: 10_000,
    doc: "workers that may be connected at once; each takes a file descriptor",
  },
  signingKey: {
    kind: unchecked<string>(),
    flag: null,
    variables: ["HOLDFAST_SIGNING_KEY"],
    doc: "key that workers sign with: generate one with `openssl rand -hex 32`; default: nothing is checked",
  },
  signingKeyFallback: {
    kind: unchecked<string>(),
    flag: null,
    variables: ["HOLDFAST_SIGNING_KEY_FALLBACK"],
    doc: "second accepted signing key, for key rotation",
  },
  eventKey: {
    kind: unchecked<string>(),
    flag: null,
    variables: ["HOLDFAST_EVENT_KEY"],
    doc: "key that event senders must use; default: nothing is checked",
  },
  keys: {
    kind: unchecked<readonly GatewayKey[]>(readKeysFile),
    flag: { name: "keys", takes: "<file>" },
    variables: ["HOLDFAST_KEYS_FILE"],
    doc: 'additional keys; the file holds a JSON array of { "name", "kind": "signing" or "event", "key", "environment" }',
  },
  leaseMs: {
    kind: duration(200),
    flag: { name: "lease", takes: "<duration>" },
    variables: ["HOLDFAST_GATEWAY_LEASE"],
    doc: "how long a request is leased to a worker; default: 20s with extensions, otherwise 120s",
  },
  heartbeatMs: {
    kind: duration(50),
    flag: { name: "heartbeat", takes: "<duration>" },
    variables: ["HOLDFAST_GATEWAY_HEARTBEAT"],
    doc: "heartbeat interval of connections; default: 5s with extensions, otherwise 10s",
  },
  requestAckMs: {
    kind: duration(50),
    flag: { name: "request-ack", takes: "<duration>" },
    variables: ["HOLDFAST_GATEWAY_REQUEST_ACK"],
    doc: "how long a worker may take to acknowledge a request before it is reassigned; default: 5s, with `plain` 5s after the lease's end",
  },
  retryBaseMs: {
    kind: duration(0),
    flag: { name: "retry-base", takes: "<duration>" },
    variables: ["HOLDFAST_GATEWAY_RETRY_BASE"],
    default: 1_000,
    doc: "delay before the first retry of a step; doubles up to 60s",
  },
  reconnectGraceMs: {
    kind: duration(0),
    flag: { name: "reconnect-grace", takes: "<duration>" },
    variables: ["HOLDFAST_GATEWAY_RECONNECT_GRACE"],
    default: TIMEOUTS.reconnectGraceMs,
    doc: "how long a disconnected worker may take to reconnect and keep its work",
  },
  drainMs: {
    kind: duration(0),
    flag: { name: "drain", takes: "<duration>" },
    variables: ["HOLDFAST_GATEWAY_DRAIN"],
    default: TIMEOUTS.drainMs,
    doc: "how long a shutdown waits for workers to finish",
  },
  retentionCompletedMs: {
    kind: PERIOD,
    flag: { name: "retention-completed", takes: "<duration>" },
    variables: ["HOLDFAST_RETENTION_COMPLETED"],
    doc: "how long runs are kept after they completed or were cancelled, and events; `off` = without end; default: 30d, with `dev` 7d",
  },
  retentionFailedMs: {
    kind: PERIOD,
    flag: { name: "retention-failed", takes: "<duration>" },
    variables: ["HOLDFAST_RETENTION_FAILED"],
    doc: "how long runs are kept after they failed; `off` = without end; default: 90d, with `dev` 7d",
  },
  versionPolicy: {
    kind: oneOf(VERSION_POLICIES),
    flag: { name: "version-policy", takes: "<policy>" },
    variables: ["HOLDFAST_GATEWAY_VERSION_POLICY"],
    default: "prefer",
    doc: "which workers may continue a run started by another app version: `prefer`, `strict` or `any`",
  },
  allowPrivateFetch: {
    kind: SWITCH,
    flag: { name: "allow-private-fetch", sets: true },
    variables: ["HOLDFAST_GATEWAY_ALLOW_PRIVATE_FETCH"],
    doc: "whether `step.fetch` may call this machine and its private network; default: only while other machines cannot reach the gateway",
  },
  extensions: {
    kind: listOf(EXTENSIONS),
    flag: { name: "no-extensions", sets: [] },
    variables: ["HOLDFAST_GATEWAY_EXTENSIONS"],
    doc: "protocol extensions that workers are granted; default: all; none (`off` in the variable) = the base protocol only",
  },
  plain: {
    kind: SWITCH,
    flag: { name: "plain", sets: true },
    variables: ["HOLDFAST_GATEWAY_PLAIN"],
    default: false,
    doc: "base protocol only, as strict as the reference gateway: for testing apps that will run there",
  },
  virtualTime: {
    kind: SWITCH,
    flag: { name: "virtual-time", sets: true },
    variables: ["HOLDFAST_GATEWAY_VIRTUAL_TIME"],
    default: false,
    doc: "for tests: time can be advanced with POST /v1/testing/skip-time",
  },
  logRuns: {
    kind: oneOf(RUN_LOG_LEVELS),
    flag: { name: "log-runs", takes: "<level>" },
    variables: ["HOLDFAST_GATEWAY_LOG_RUNS"],
    doc: "at which level events that come and runs that end are logged, `info` or `debug`; failures are `warn` and `error`; `off` = neither; default: `debug`, with `dev` `info`",
  },
  log: { kind: LOG, flag: null, variables: [], doc: "receives what the gateway logs; default: nothing is logged" },
} as const satisfies OptionTable<GatewayOptions>;
