import type { LoggerLike, LogLevelChoice } from "@holdfast/core";
import type { SchemaMap } from "../events/event-types.ts";
import type { FetchLike } from "../events/send-http.ts";

/** Options of `new Holdfast(...)`. Those with a variable fall back to it: `HOLDFAST_X` first, then `INNGEST_X`. */
export interface ClientOptions<Schemas extends SchemaMap = SchemaMap> {
  /**
   * The app's id; the ids of its functions begin with it.
   * @example id: "shop"
   */
  readonly id: string;
  /**
   * The app's version. A run stays with the version that started it. `HOLDFAST_APP_VERSION`.
   * @example appVersion: process.env.GIT_COMMIT ?? "dev"
   */
  readonly appVersion?: string;
  /**
   * Development mode: a gateway on this machine (http://localhost:8288), keys optional. `HOLDFAST_DEV` also takes
   * the address of the gateway. Default false.
   * @example isDev: process.env.NODE_ENV !== "production"
   */
  readonly isDev?: boolean;
  /**
   * The gateway's address, for its API and for events. `HOLDFAST_BASE_URL`, `..._API_BASE_URL`,
   * `..._EVENT_API_BASE_URL`. Required outside development: without it, every call fails with `OPTION_MISSING` and
   * nothing is sent. For Inngest's service it is `https://api.inngest.com`.
   * @example baseUrl: "https://holdfast.internal"
   */
  readonly baseUrl?: string;
  /**
   * Key for sending events. `HOLDFAST_EVENT_KEY`.
   * @example eventKey: secrets.eventKey
   */
  readonly eventKey?: string;
  /**
   * Key for connecting, and for all calls of the gateway except sending events: at least 32 hex digits
   * (`openssl rand -hex 32`), with or without a prefix such as `signkey-prod-`. Only its hash is kept.
   * `HOLDFAST_SIGNING_KEY`.
   * @example signingKey: secrets.signingKey
   */
  readonly signingKey?: string;
  /**
   * Used when the gateway rejects `signingKey`. `HOLDFAST_SIGNING_KEY_FALLBACK`.
   * @example signingKeyFallback: secrets.lastSigningKey
   */
  readonly signingKeyFallback?: string;
  /**
   * Name of the environment that the app's functions, events and runs belong to, isolated from all other environments.
   * `HOLDFAST_ENV`, then the branch variables of common hosts. Default: the environment `default`.
   * @example env: "preview-17"
   */
  readonly env?: string;
  /**
   * Console-shaped or pino-shaped. Default: the console.
   * @example logger: pino()
   */
  readonly logger?: LoggerLike;
  /**
   * The lowest level at which Holdfast itself logs: connections, failed attempts and runs, a blocked main thread. It
   * does not affect what handlers log. `off` = nothing. Default `info`. `HOLDFAST_LOG_LEVEL`.
   * @example logLevel: "warn"
   */
  readonly logLevel?: LogLevelChoice;
  /**
   * Standard Schemas of event data, by event name: data is checked when events are sent and when a function receives
   * them.
   * @example schemas: { "shop/order.placed": staticSchema<{ card: string }>() }
   */
  readonly schemas?: Schemas;
  /**
   * Used for all HTTP calls of the client: events, signals, runs. Default: the global `fetch`.
   * @example fetch: (url, init) => fetch(url, { ...init, keepalive: true })
   */
  readonly fetch?: FetchLike;
}
