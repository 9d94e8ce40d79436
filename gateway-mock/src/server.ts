/** Starts and stops a whole gateway: database, store, dispatcher, HTTP and sockets, in this order, and backwards. */
import type { IncomingHttpHeaders, RequestListener, Server } from "node:http";
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import {
  HoldfastError,
  MAX_DURATION_MS,
  sleep,
  systemClock,
  systemRandom,
  systemTimers,
  type Timers,
  withTimeout,
} from "@holdfast/core";
import { CONNECT_PATH, WIRE_LIMITS } from "@holdfast/protocol";
import type { RetentionPolicy, Store } from "@holdfast/store";
import { getRequestListener } from "@hono/node-server";
import { CleanUps } from "./clean-ups.ts";
import { addressForCallers, GATEWAY_LIMITS, type GatewayConfig, isLoopback, resolveConfig } from "./config/config.ts";
import type { GatewayOptions } from "./config/gateway-options.ts";
import type { Dispatcher } from "./dispatch/index.ts";
import type { Conversations } from "./faults/conversations.ts";
import { createCore, startCore } from "./gateway-core.ts";
import { faultsOf, openConversations, storeWithFaults, whyNoFaults } from "./gateway-faults.ts";
import { startGraphTestSweeps } from "./gateway-graph-tests.ts";
import { type GatewayHeartbeatParts, startGatewayHeartbeat } from "./gateway-heartbeat.ts";
import { startOrphanSweeps } from "./gateway-orphans.ts";
import type { StartedParts } from "./gateway-overview.ts";
import { startGatewayRetention } from "./gateway-retention.ts";
import { startWaitingLog } from "./gateway-waiting.ts";
import { startWorkerMarks, type WorkerMarksParts } from "./gateway-worker-marks.ts";
import { httpApp } from "./http/app.ts";
import { type CallerRules, callerProblem, readHost } from "./http/callers.ts";
import { ConnectionLimit } from "./http/connection-limit.ts";
import { directListener } from "./http/direct-listener.ts";
import { directRoutes } from "./http/direct-routes.ts";
import { statusOf } from "./http/errors.ts";
import { closeServer, listen } from "./http/listen.ts";
import { errorDocsAt } from "./http/page/error-page.ts";
import { pageFiles } from "./http/page/files.ts";
import { PageSessions } from "./http/page/sessions.ts";
import type { HttpParts } from "./http/parts.ts";
import { LogReader } from "./live/log-reader.ts";
import { DELAY_RESOLUTION_MS, readProcess } from "./metrics/process-reading.ts";
import { openStore } from "./open-store.ts";
import { createCaller } from "./outgoing/caller.ts";
import { retentionPolicy } from "./retention-policy.ts";
import type { SpanExport } from "./telemetry/span-export.ts";
import { VERSION } from "./version.ts";
import { SocketServer, type SocketServerOptions, type UpgradeRefusal } from "./ws/server.ts";

/** A running gateway. */
export interface Gateway {
  readonly id: string;
  /** Base URL for HTTP; the WebSocket is at `/v0/connect` of it. */
  readonly url: string;
  readonly port: number;
  /** The WebSocket's second address. */
  readonly connectUrl: string;
  readonly connectPort: number;
  /**
   * An address of the dashboard that signs in the first browser that opens it, within 15 minutes; each call makes a new
   * one. Null without a dashboard.
   */
  dashboardLink(): string | null;
  /** Tells workers to reconnect elsewhere, and accepts what they finish until they are gone, at most `drainMs`. */
  drain(): Promise<void>;
  /**
   * Moves time on by `ms`, for everything that is stored: sleeps, waits, retries, schedules, deadlines. What is due
   * then is done at once. Leases of running work move along. Only with the option `virtualTime`.
   */
  skipTime(ms: number): Promise<void>;
  /**
   * Resolves when it cannot go on: its local Postgres has ended, and restarting it failed too often. To be closed then.
   */
  readonly failed: Promise<HoldfastError>;
  /**
   * Ends at once: sockets, leases (handed back), database. Safe to call twice. Over within 5 s, however the database
   * is: a local one that hangs is killed, and recovers what was stored at its next start.
   */
  close(): Promise<void>;
}

/** What closing may take, with a database that does not answer and with one that does. */
const CLOSE_MS = 4_500;
const CALM_CLOSE_MS = 30_000;
const PING_MS = 1_000;
/** What answers to callers that wait may take when a gateway closes, and what their way through the sockets may. */
const ANSWER_MS = 1_000;
const FLUSH_MS = 50;
const SYSTEM = { clock: systemClock, timers: systemTimers };

/**
 * The library would end connections whose refused body takes longer than half a second; `endEndlessBodies` decides. And it
 * would put classes of its own in place of the process's `Request` and `Response`: a test's own, where one starts a gateway.
 * `hostname` lets requests without a `Host` reach the guard, which says what is wrong with them.
 */
const LISTENER = { autoCleanupIncoming: false, overrideGlobalObjects: false, hostname: "localhost" } as const;

/**
 * Starts a gateway.
 * @throws HoldfastError `OPTION_INVALID`, `HOST_NOT_LOOPBACK`, `PORT_BUSY`, `DATABASE_*`, `DATA_DIR_UNUSABLE`, `POSTGRES_START_FAILED`
 */
export function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  return startGatewayOn(REAL_PORTS, options);
}

/** What a gateway stands on. Tests put things in between. */
export interface GatewayPorts {
  readonly timers: Timers;
  /** The store that the engine has, made of the real one. */
  readonly storeFor: (store: Store) => Store;
  /** How often is looked why runs wait; default: as `logRuns` has it. */
  readonly lookEveryMs?: number;
  /** Is given what the started gateway is made of, to look at it. */
  readonly onStarted?: (parts: StartedParts) => void;
  /** Aborted while the gateway starts: what is being made of a local Postgres is removed, and the start fails. */
  readonly signal?: AbortSignal;
}

export const REAL_PORTS: GatewayPorts = { timers: systemTimers, storeFor: (store) => store };

export async function startGatewayOn(ports: GatewayPorts, options: GatewayOptions): Promise<Gateway> {
  const config = resolveConfig(options);
  const cleanUps = new CleanUps();
  try {
    return await start(config, ports, cleanUps);
  } catch (error) {
    await cleanUps.run(CLOSE_MS, { ...SYSTEM, log: config.log });
    throw error;
  }
}

async function start(config: GatewayConfig, ports: GatewayPorts, cleanUps: CleanUps): Promise<Gateway> {
  const { log } = config;
  const { timers } = ports;
  // Ports first: a busy one is reported at once, before a database is started.
  const [http, second] = await listenOnBoth(config, cleanUps);
  const { store, lost } = await openStore(config, cleanUps, ports.signal);

  const tracing = await openSpans(config, cleanUps);
  const faults = faultsOf(config, { clock: systemClock, timers, log });
  const core = createCore(config, {
    ...tracing,
    store: storeWithFaults(ports.storeFor(store), faults, timers),
    clock: systemClock,
    timers,
    random: systemRandom,
    call: openCaller(config, cleanUps).call,
  });
  const { dispatcher, keys, sessions, id: gatewayId, newId } = core;
  const url = `http://${hostInUrl(config.host)}:${http.port}`;
  await startCore(core, cleanUps);

  const delay = measuredDelay();
  const connections = new ConnectionLimit(GATEWAY_LIMITS.maxHttpConnections);
  const callers = callerRules(config, [http.port, second.port]);
  const skipTime = async (ms: number): Promise<void> => dispatcher.onTimeMoved(await store.skipTime(checkSkip(ms)));
  const skipsTime = config.virtualTime ? skipTime : undefined;
  const conversations = openConversations(faults, dispatcher, { clock: systemClock, timers }, skipsTime);
  const sockets = socketServer(config, sessions, refusalBy(callers), conversations);
  const live = new LogReader({ store, clock: systemClock, timers, log });
  const httpParts: HttpParts = {
    dispatcher,
    store,
    live,
    timers,
    keys,
    callers,
    page: pageOf(config, keys, callers),
    errorDocs: errorDocsAt(addressForCallers(config, keys.enforced ? undefined : url)),
    clock: systemClock,
    log,
    version: VERSION,
    gatewayId,
    newId,
    isDraining: () => core.isDraining,
    framesReceived: () => sessions.framesReceived,
    excuse: (socket) => connections.excuse(socket),
    spans: () => tracing.spans?.counts() ?? null,
    process: () => processOf({ delay, sessions, sockets, live, connections }),
    retention: () => policyOf(config, dispatcher),
    faults: faults ?? whyNoFaults(config),
    conversations,
    ...(config.virtualTime ? { skipTime } : {}),
  };
  serve([http.server, second.server], requestListener(httpParts), connections, sockets);
  const ends = startSweeps({ ...httpParts, list: core.connections }, config, ports);
  const endServing = async (): Promise<void> => {
    for (const end of ends) end();
    await Promise.all([live.close(), answerWaits(dispatcher, timers)]);
    delay.disable();
    sockets.close();
    await Promise.all([closeServer(http.server), closeServer(second.server)]);
  };
  cleanUps.add({ what: "sockets", leastMs: 100, run: endServing });

  ports.onStarted?.({ store, dispatcher });
  let closing: Promise<void> | null = null;
  return {
    id: gatewayId,
    url,
    port: http.port,
    connectUrl: `ws://${hostInUrl(config.host)}:${second.port}${CONNECT_PATH}`,
    connectPort: second.port,
    failed: lost,
    dashboardLink: () => dashboardLink(config.publicUrl ?? url, httpParts.page),
    drain: () => live.close().then(() => core.drain()),
    skipTime,
    close: () => {
      core.beginDrain();
      closing ??= closeLimitMs(store).then((limitMs) => cleanUps.run(limitMs, { ...SYSTEM, log }));
      return closing;
    },
  };
}

function socketServer(
  { maxWorkers: maxSockets, plain }: GatewayConfig,
  sessions: SocketServerOptions["sessions"],
  refusal: SocketServerOptions["refusal"],
  conversations: Conversations,
): SocketServer {
  const { pending } = GATEWAY_LIMITS;
  return new SocketServer({
    sessions,
    maxSockets,
    maxMessageBytes: plain ? WIRE_LIMITS.maxFrameBytes : WIRE_LIMITS.maxReadBytes,
    pending,
    refusal,
    tap: (socket, raw) => conversations.tap(socket, raw),
  });
}

function processOf(parts: {
  readonly delay: IntervalHistogram;
  readonly sessions: { readonly size: number };
  readonly sockets: SocketServer;
  readonly live: LogReader;
  readonly connections: ConnectionLimit;
}) {
  const { delay, sessions, sockets, live, connections } = parts;
  return {
    ...readProcess(delay, sessions.size),
    pendingSockets: sockets.pending(),
    watchers: live.watchers,
    http: connections.status(),
  };
}

function pageOf({ dashboard }: GatewayConfig, keys: HttpParts["keys"], callers: CallerRules): HttpParts["page"] {
  if (dashboard === "off") return null;
  return { mode: dashboard, callers, sessions: new PageSessions(keys, systemClock), files: pageFiles() };
}

/** Behind `#`: it is in no request line, and what only looks at a link does not use it up. */
const dashboardLink = (url: string, page: HttpParts["page"]): string | null =>
  page && `${url}/#link=${page.sessions.newLink()}`;

function measuredDelay(): IntervalHistogram {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  return delay;
}

async function listenOnBoth(config: GatewayConfig, cleanUps: CleanUps) {
  const http = await listen(config.host, config.port, "--port");
  cleanUps.add({ what: "closing the port", leastMs: 100, run: () => closeServer(http.server) });
  const second = await listen(config.host, config.connectPort, "--connect-port");
  cleanUps.add({ what: "closing the second port", leastMs: 100, run: () => closeServer(second.server) });
  return [http, second] as const;
}

function openCaller({ allowPrivateFetch: allowInner }: GatewayConfig, cleanUps: CleanUps) {
  const caller = createCaller({ allowInner });
  cleanUps.add({ what: "ending HTTP calls of steps", leastMs: 100, run: () => caller.close() });
  return caller;
}

/** With an endpoint; the packages that it needs are loaded then. */
async function openSpans(config: GatewayConfig, cleanUps: CleanUps): Promise<{ readonly spans?: SpanExport }> {
  const { otlpEndpoint: endpoint, traceRatio: ratio, log } = config;
  if (endpoint === undefined) return {};
  const { openSpanExport } = await import("./telemetry/span-export.ts");
  const spans = await openSpanExport({ endpoint, ratio, version: VERSION, log });
  cleanUps.add({ what: "sending spans", leastMs: 100, run: () => spans.close() });
  return { spans };
}

async function policyOf(config: GatewayConfig, { functions }: HttpParts["dispatcher"]): Promise<RetentionPolicy> {
  await functions.renewIfChanged();
  return retentionPolicy(config, functions.all());
}

/** Callers that wait for runs are answered before their connections are closed. */
async function answerWaits(dispatcher: Dispatcher, timers: Timers): Promise<void> {
  const before = dispatcher.status().waiting;
  dispatcher.endWaits();
  if (before === 0) return;
  for (let left = ANSWER_MS; left > 0 && dispatcher.status().waiting > 0; left -= 10) await sleep(timers, 10);
  // What is answered is on its way through the sockets.
  await sleep(timers, FLUSH_MS);
}

type SweepParts = HttpParts & Pick<WorkerMarksParts, "list"> & Pick<GatewayHeartbeatParts, "list">;

/** Signs of life, and what looks through the database now and then; returns what ends each. */
function startSweeps(parts: SweepParts, { logRuns }: GatewayConfig, { lookEveryMs }: GatewayPorts): (() => void)[] {
  const { conditions } = parts.dispatcher;
  const own = { ...parts, conditions, policy: parts.retention, random: systemRandom, logRuns, lookEveryMs };
  const all = [startGatewayHeartbeat, startWorkerMarks, startGatewayRetention, startOrphanSweeps, startWaitingLog];
  return [...all, startGraphTestSweeps].map((start) => start(own));
}

/** Direct routes in front, the router behind them. */
function requestListener(parts: HttpParts): RequestListener {
  const routes = directRoutes(parts);
  const router = getRequestListener(httpApp(parts, routes).fetch, LISTENER);
  return directListener(routes, parts, (incoming, outgoing) => void router(incoming, outgoing));
}

function serve(
  servers: readonly Server[],
  listener: RequestListener,
  connections: ConnectionLimit,
  sockets: SocketServer,
): void {
  for (const server of servers) {
    server.removeAllListeners("request");
    connections.watch(server);
    server.on("request", listener);
    sockets.listenOn(server);
  }
}

function callerRules(config: GatewayConfig, ports: readonly number[]): CallerRules {
  const { host, allowedHosts, allowedOrigins, publicUrl } = config;
  const own = [hostInUrl(host), ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])];
  return {
    checksHost: isLoopback(host) || allowedHosts.length > 0,
    hosts: [...own.flatMap((text) => readHost(text)?.hostname ?? []), ...allowedHosts],
    origins: allowedOrigins,
    ports,
  };
}

function refusalBy(rules: CallerRules): (headers: IncomingHttpHeaders) => UpgradeRefusal | undefined {
  return ({ host, origin, "sec-fetch-site": site }) => {
    const problem = callerProblem({ host, origin, fetchSite: typeof site === "string" ? site : undefined }, rules);
    return problem && { status: statusOf(problem), message: problem.message };
  };
}

function checkSkip(ms: number): number {
  if (Number.isFinite(ms) && ms >= 0 && ms <= MAX_DURATION_MS) return ms;
  throw new HoldfastError(
    "OPTION_INVALID",
    `Time can be advanced by 0 to ${MAX_DURATION_MS} milliseconds, not by ${ms}.`,
  );
}

/** While the database answers everything is given its time; when it does not there is no use in that. */
async function closeLimitMs(store: Store): Promise<number> {
  if (!store.health().ok) return CLOSE_MS;
  const answer = withTimeout(systemTimers, store.ping(), PING_MS, () => new Error("no answer"));
  return answer.then(
    () => CALM_CLOSE_MS,
    () => CLOSE_MS - PING_MS,
  );
}

function hostInUrl(host: string): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}
