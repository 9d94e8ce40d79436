/** What the README says of each option of `new Holdfast()`. Apart from the table, so that no app carries it. */
import type { ClientOptions } from "./client-options.ts";

export const CLIENT_OPTION_DOCS: { readonly [Name in keyof Required<ClientOptions>]: string } = {
  id: "the app's id; required",
  appVersion: "version of this deployment; handlers of the runs that it starts get it as `version`",
  isDev: "a gateway on this machine, keys optional; the variable may also hold the gateway's address",
  baseUrl:
    "where the gateway is; required outside development, where it is `http://localhost:8288`. No other address is ever assumed",
  signingKey:
    "for connecting, and for all calls except sending events: at least 32 hex digits (`openssl rand -hex 32`), with or without a prefix; only its hash is kept; required outside development",
  signingKeyFallback: "used when the gateway rejects `signingKey`",
  eventKey: "for sending events; required outside development",
  env: "environment of the app, its events and its runs, such as `preview`, isolated from all others; default `default`",
  logger: "console-shaped or pino-shaped; default the console",
  logLevel:
    "the lowest level at which Holdfast itself logs: `debug`, `info`, `warn`, `error`, `off`; does not affect what handlers log",
  schemas: "Standard Schemas of event data, by event name",
  fetch: "used for all HTTP calls of the client; default the global `fetch`",
};
