/** The options of `startGateway`, as types. `config.ts` checks them and fills in the defaults. */
import type { Log } from "@holdfast/core";
import type { VersionPolicy } from "@holdfast/engine";
import type { Extension } from "@holdfast/protocol";
import type { GatewayKey } from "./keys-config.ts";

/** What `--store` takes. */
export const STORES = ["postgres", "memory"] as const;
/** Where a gateway keeps what has to last. */
export type StoreName = (typeof STORES)[number];

/** What `--dashboard` takes. */
export const DASHBOARD_MODES = ["on", "read-only", "off"] as const;
/** Whether the gateway serves the dashboard, and whether that may change anything. */
export type DashboardMode = (typeof DASHBOARD_MODES)[number];

export const RUN_LOG_LEVELS = ["info", "debug", "off"] as const;
/** At which level what goes as it should is logged. */
export type RunLogLevel = (typeof RUN_LOG_LEVELS)[number];

/** Options of `startGateway`; durations are milliseconds. */
export interface GatewayOptions {
  /** Address to listen on. Default `127.0.0.1`; anything beyond this machine requires both keys. */
  readonly host?: string;
  /** HTTP and WebSocket. Default 8288; 0 = any free port. */
  readonly port?: number;
  /** A second port for the WebSocket, for workers that expect one. Default `port + 1`; 0 = any free port. */
  readonly connectPort?: number;
  /**
   * `memory`: nothing is started or connected to, so it is ready at once; everything is gone when the process ends, and
   * no other gateway can share it. Of the runs that have ended the newest 10,000 are kept. Default `postgres`.
   */
  readonly store?: StoreName;
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
   * How long runs are kept after they completed or were cancelled; events as long as a run of theirs, at least so long.
   * `off`: without end. Default 30 days.
   */
  readonly retentionCompletedMs?: number | "off";
  /** How long runs are kept after they failed; `off`: without end. Default 90 days. */
  readonly retentionFailedMs?: number | "off";
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
   * Host names that clients may use besides `localhost`, `host` and IP addresses, such as that of a proxy in front of
   * it. When omitted, a gateway that listens beyond this machine (which requires keys) accepts any name.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * The address by which people reach the gateway, such as `https://gateway.example.com` of a proxy in front of it: of
   * the pages that errors name and of links to the dashboard. It is one of `allowedHosts` as well. Default: without keys
   * on a loopback address its own, otherwise errors name no page.
   */
  readonly publicUrl?: string;
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
   * How many bytes of acknowledged writes are kept for 30 s, to be sent again to a database that has forgotten them, as
   * after a failover (docs/failover.md). 0 = none. Default 64 MiB.
   */
  readonly resendMemoryBytes?: number;
  /** Workers that may be connected at once. Each takes a file descriptor (`ulimit -n`). Default 10,000. */
  readonly maxWorkers?: number;
  /**
   * At which level events that come in and runs that end are logged; failed attempts are `warn`, failed runs `error`.
   * `off`: none of it. Default `debug`.
   */
  readonly logRuns?: RunLogLevel;
  /**
   * The page at `/` for people: `read-only` shows and changes nothing, `off` serves none. With keys, it asks for the
   * signing key. Default `on`.
   */
  readonly dashboard?: DashboardMode;
  /**
   * Time can be advanced with `skipTime` or `POST /v1/testing/skip-time`, so that sleeps of hours take milliseconds.
   * For tests, on a database of their own: skipped time stays skipped in that database. Default false.
   */
  readonly virtualTime?: boolean;
  /**
   * Faults may be asked for with `POST /v1/faults`: frames that are lost, connections that break, a database that
   * refuses (docs/faults-on-request.md). Only while the gateway listens on a loopback address. Default false, with `dev`
   * true.
   */
  readonly faults?: boolean;
  /**
   * Where traces of runs are sent, over OTLP/HTTP: a base URL such as `http://localhost:4318`. Needs
   * `@opentelemetry/api`, `sdk-trace`, `resources` and `exporter-trace-otlp-http`. Default: nowhere.
   */
  readonly otlpEndpoint?: string;
  /** How much of the traces that begin at this gateway is recorded, 0 to 1. Default 1. */
  readonly traceRatio?: number;
  readonly log?: Log;
}
