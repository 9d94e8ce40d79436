/**
 * The client of an app as plain data, for plain handlers in pool threads: they send events and read runs with the keys
 * that main has. Keys are in the clear here, so this goes to threads of the same process and nowhere else.
 */
import type { LoggerLike } from "@holdfast/core";
import { fetchRunState } from "../events/run-state.ts";
import { sendEvents } from "../events/send-events.ts";
import { sendPorts } from "../events/send-http.ts";
import { sendSignal } from "../events/send-signal.ts";
import { Secret } from "../options.ts";
import type { AppClient, ResolvedClientOptions } from "./app-client.ts";

const KEYS = ["eventKey", "signingKey", "signingKeyFallback"] as const;
type Key = (typeof KEYS)[number];

/** What can cross to another thread of an app's options: no logger, no schemas, no `fetch` of its own. */
export type ClientData = Omit<ResolvedClientOptions, Key | "logger"> & {
  readonly keys: { readonly [Name in Key]?: string };
};

export function clientDataOf({ options }: AppClient): ClientData {
  const { eventKey, signingKey, signingKeyFallback, logger, ...rest } = options;
  const given = { eventKey, signingKey, signingKeyFallback };
  const keys = KEYS.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name].reveal()]]));
  return { ...rest, keys: Object.fromEntries(keys) };
}

export function clientOf({ keys, ...rest }: ClientData, logger: LoggerLike): AppClient {
  const secrets = KEYS.flatMap((name) => (keys[name] === undefined ? [] : [[name, new Secret(keys[name])]]));
  const options: ResolvedClientOptions = { ...rest, ...Object.fromEntries(secrets), logger };
  const ports = sendPorts();
  return {
    options,
    schemas: undefined,
    sendEvents: (events) => sendEvents(options, undefined, events, ports),
    sendSignal: (signal) => sendSignal(options, signal, ports),
    fetchRunState: (runId, signal) => fetchRunState(options, runId, ports, signal),
  };
}
