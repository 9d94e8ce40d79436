import type { LoggerLike, LogLevelChoice } from "@holdfast/core";
import type { SchemaMap } from "../events/event-types.ts";
import type { FetchLike } from "../events/send-http.ts";

/** Options of `new Holdfast(...)`. Those with a variable fall back to it: `HOLDFAST_X` first, then `INNGEST_X`. */
export interface ClientOptions<Schemas extends SchemaMap = SchemaMap> {
  /** The app's id; the first part of the ids of its functions. */
  readonly id: string;
  /** The app's version. A run stays on the version that started it. `HOLDFAST_APP_VERSION`. */
  readonly appVersion?: string;
  /**
   * Development mode: a gateway on this machine (http://localhost:8288), keys optional. `HOLDFAST_DEV` also takes the
   * address of the gateway. Default false.
   */
  readonly isDev?: boolean;
  /** Where the gateway is, for its API and for events. `HOLDFAST_BASE_URL`, `..._API_BASE_URL`, `..._EVENT_API_BASE_URL`. */
  readonly baseUrl?: string;
  /** Key for sending events. `HOLDFAST_EVENT_KEY`. */
  readonly eventKey?: string;
  /**
   * Key with which this app connects: hex digits, at least 32 (`openssl rand -hex 32`), with or without a prefix such as
   * `signkey-prod-`. Only its hash is kept. `HOLDFAST_SIGNING_KEY`.
   */
  readonly signingKey?: string;
  /** Tried when the gateway refuses `signingKey`. `HOLDFAST_SIGNING_KEY_FALLBACK`. */
  readonly signingKeyFallback?: string;
  /**
   * Name of the environment that the app's functions, events and runs belong to: they meet nothing of another one.
   * `HOLDFAST_ENV`, then the branch variables of common hosts. Default: the environment `default`.
   */
  readonly env?: string;
  /** Console-shaped or pino-shaped. Default: the console. */
  readonly logger?: LoggerLike;
  /**
   * From which level on Holdfast itself logs: connections, attempts and runs that fail, a blocked main thread. It does
   * not concern what handlers log. `off` = nothing. Default `info`. `HOLDFAST_LOG_LEVEL`.
   */
  readonly logLevel?: LogLevelChoice;
  /** Standard Schemas of the data of events, by event name: checked when events are sent and when a function gets them. */
  readonly schemas?: Schemas;
  /** Used to send events. Default: the global `fetch`. */
  readonly fetch?: FetchLike;
}
