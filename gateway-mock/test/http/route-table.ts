import { request } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { systemClock, systemRandom, systemTimers } from "@holdfast/core";
import { createMemoryDatabase, type Store } from "@holdfast/store";
import type { Hono } from "hono";
import { type GatewayConfig, resolveConfig } from "../../src/config/config.ts";
import type { GatewayOptions } from "../../src/config/gateway-options.ts";
import { Conversations } from "../../src/faults/conversations.ts";
import { type CorePorts, createCore } from "../../src/gateway-core.ts";
import { httpApp } from "../../src/http/app.ts";
import type { Keys } from "../../src/http/keys.ts";
import { pageFiles } from "../../src/http/page/files.ts";
import { PageSessions } from "../../src/http/page/sessions.ts";
import type { HttpParts } from "../../src/http/parts.ts";
import { LogReader } from "../../src/live/log-reader.ts";
import { readProcess } from "../../src/metrics/process-reading.ts";
import { retentionPolicy } from "../../src/retention-policy.ts";

export interface Route {
  readonly name: string;
  readonly method: string;
  /** With `x` for each parameter. */
  readonly path: string;
}

/** The routes of a gateway with every option that adds some. Nothing behind them is started. */
export function routeTable(
  store: Store = emptyStore(),
  options: GatewayOptions = {},
  plant?: (app: Hono) => void,
): { app: Hono; routes: Route[] } {
  const config = resolveConfig(options);
  const call: CorePorts["call"] = () => Promise.reject(new Error("nothing is called here"));
  const ports = { store, clock: systemClock, timers: systemTimers, random: systemRandom, call };
  const { dispatcher, keys, newId, id } = createCore(config, ports);
  const app = httpApp({
    dispatcher,
    keys,
    newId,
    store,
    live: new LogReader({ ...ports, log: config.log }),
    timers: systemTimers,
    callers: { checksHost: true, hosts: [], origins: config.allowedOrigins, ports: [] },
    page: pageOf(config, keys),
    errorDocs: () => undefined,
    clock: systemClock,
    log: config.log,
    version: "0",
    gatewayId: id,
    faults: "A gateway of tests.",
    conversations: new Conversations({ ...ports, faults: null, find: () => undefined, expire: () => {} }),
    isDraining: () => false,
    framesReceived: () => new Map(),
    spans: () => null,
    process: () => readProcess(monitorEventLoopDelay(), 0),
    retention: async () => retentionPolicy(config, dispatcher.functions.all()),
    skipTime: async () => {},
  });
  plant?.(app);
  const routes = app.routes
    .filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => ({ name: `${method} ${path}`, method, path: path.replaceAll(/:\w+/g, "x") }));
  // A route with a limit on its body is listed twice.
  return { app, routes: [...new Map(routes.map((route) => [route.name, route])).values()] };
}

/** For tests of the table alone. */
function emptyStore(): Store {
  const options = { clock: systemClock, soon: setImmediate, newUuid: () => "", secret: "", virtualTime: false };
  return createMemoryDatabase(options).open();
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly code: string | undefined;
}

/** A request with any headers, also those that `fetch` sets by itself. */
export function ask(
  base: string,
  { method, path }: Pick<Route, "method" | "path">,
  headers: Record<string, string> = {},
  body = "",
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, base), { method, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, code: codeIn(text) });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function codeIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { code?: string }).code;
  } catch {
    return undefined;
  }
}

function pageOf({ dashboard: mode, allowedOrigins }: GatewayConfig, keys: Keys): HttpParts["page"] {
  if (mode === "off") return null;
  const callers = { checksHost: true, hosts: [], origins: allowedOrigins, ports: [] };
  return { mode, callers, sessions: new PageSessions(keys, systemClock), files: pageFiles() };
}
