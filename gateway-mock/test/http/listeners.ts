import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createUlidFactory } from "@holdfast/core";
import { createMemoryDatabase } from "@holdfast/store";
import { fakeClock } from "@holdfast/testing";
import { getRequestListener } from "@hono/node-server";
import { resolveConfig } from "../../src/config/config.ts";
import type { GatewayOptions } from "../../src/config/gateway-options.ts";
import { Conversations } from "../../src/faults/conversations.ts";
import { createCore } from "../../src/gateway-core.ts";
import { httpApp } from "../../src/http/app.ts";
import { directListener } from "../../src/http/direct-listener.ts";
import { directRoutes } from "../../src/http/direct-routes.ts";
import type { HttpParts } from "../../src/http/parts.ts";
import { LogReader } from "../../src/live/log-reader.ts";
import { readProcess } from "../../src/metrics/process-reading.ts";
import { retentionPolicy } from "../../src/retention-policy.ts";

/** A gateway without sockets, whose ids and times are the same each time it is made. */
export interface Listening {
  readonly port: number;
  readonly logged: readonly string[];
  /** Requests that came to the router. */
  readonly routed: () => number;
  readonly eventsReceived: () => number;
  drain(): void;
  close(): Promise<void>;
}

/** With the direct listener in front of the router, or the router alone. */
export async function listening(front: "direct" | "router", options: GatewayOptions = {}): Promise<Listening> {
  const config = resolveConfig(options);
  const clock = fakeClock();
  // However often the dispatcher has drawn, the next draw is the same.
  const random = (): number => 0.5;
  const logged: string[] = [];
  const log: HttpParts["log"] = (level, message) => void logged.push(`${level} ${message}`);
  const store = createMemoryDatabase({
    clock,
    soon: setImmediate,
    newUuid: () => "00000000-0000-4000-8000-000000000000",
    secret: "ab".repeat(32),
  }).open();
  const call = () => Promise.reject(new Error("nothing is called here"));
  const core = createCore({ ...config, log }, { store, clock, timers: clock, random, call });
  await core.dispatcher.start();
  const parts: HttpParts = {
    dispatcher: core.dispatcher,
    keys: core.keys,
    newId: createUlidFactory(clock, random),
    store,
    page: null,
    live: new LogReader({ store, clock, timers: clock, log }),
    timers: clock,
    errorDocs: () => undefined,
    callers: { checksHost: true, hosts: [], origins: config.allowedOrigins, ports: [] },
    clock,
    log,
    version: "0",
    gatewayId: core.id,
    faults: "A gateway of tests.",
    conversations: new Conversations({ clock, timers: clock, faults: null, find: () => undefined, expire: () => {} }),
    isDraining: () => core.isDraining,
    framesReceived: () => new Map(),
    spans: () => null,
    process: () => readProcess(monitorEventLoopDelay(), 0),
    retention: async () => retentionPolicy(config, core.dispatcher.functions.all()),
  };
  const routes = directRoutes(parts);
  const router = getRequestListener(httpApp(parts, routes).fetch, { autoCleanupIncoming: false });
  let routed = 0;
  const counted: RequestListener = (incoming, outgoing) => {
    routed += 1;
    void router(incoming, outgoing);
  };
  const server = createServer({ keepAliveTimeout: 10_000, maxHeaderSize: 16 * 1024 });
  server.maxHeadersCount = 100;
  server.on("request", front === "direct" ? directListener(routes, parts, counted) : counted);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    logged,
    routed: () => routed,
    eventsReceived: () => core.dispatcher.status().eventsReceived,
    drain: () => core.beginDrain(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      await core.dispatcher.stop();
      await store.close();
    },
  };
}

/** Writes these bytes, and reads what comes back until the peer has ended the connection. */
export async function exchange(port: number, bytes: Buffer): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const pieces: Buffer[] = [];
  socket.on("data", (piece) => pieces.push(piece));
  socket.on("error", () => {});
  socket.write(bytes);
  await once(socket, "close");
  return Buffer.concat(pieces).toString("latin1");
}
