/**
 * The part of a gateway that knows no server and no database: dispatcher, sessions and heartbeat over a given store.
 * `server.ts` puts it on Postgres, the simulation on its own store and clock.
 */
import { type Clock, createUlidFactory, type Random, silentLog, sleep, type Timers } from "@holdfast/core";
import { EXTENDED_INTERVALS, PLAIN_INTERVALS, TIMEOUTS, WIRE_LIMITS } from "@holdfast/protocol";
import { environmentOf, type Store } from "@holdfast/store";
import type { CleanUps } from "./clean-ups.ts";
import { GATEWAY_LIMITS, type GatewayConfig } from "./config/config.ts";
import {
  DEFAULT_DISPATCHER_SETTINGS,
  Dispatcher,
  type DispatcherOptions,
  type KnownFunction,
} from "./dispatch/index.ts";
import { EVERYBODY, environmentFor, Keys } from "./http/keys.ts";

import { noticeLog } from "./notices/notice-log.ts";
import { isProbe } from "./probe.ts";
import { ConnectionList } from "./ws/connection-list.ts";
import { chooseWorker } from "./ws/routing.ts";
import { Sessions } from "./ws/sessions.ts";
import { shownApp } from "./ws/shown-app.ts";

export interface CorePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Makes the HTTP calls of `step.fetch`. */
  readonly call: DispatcherOptions["call"];
  /** Where spans go; without it none is made. */
  readonly spans?: DispatcherOptions["spans"];
}

/** A gateway without its servers and its database: dispatcher, keys and the sessions of sockets that were accepted. */
export interface GatewayCore {
  readonly id: string;
  readonly dispatcher: Dispatcher;
  readonly keys: Keys;
  readonly sessions: Sessions;
  /** This gateway's part of the list of connections. */
  readonly connections: ConnectionList;
  readonly newId: () => string;
  readonly isDraining: boolean;
  /** From now on workers are sent elsewhere. */
  beginDrain(): void;
  /** Tells workers to reconnect elsewhere, and accepts what they finish until they are gone, at most `drainMs`. */
  drain(): Promise<void>;
}

export function createCore(config: GatewayConfig, ports: CorePorts): GatewayCore {
  const { clock, random, store, timers } = ports;
  const newId = createUlidFactory(clock, random);
  const id = newId();
  const dispatcher = createDispatcher(config, ports, id);
  const keys = new Keys({
    signingKeys: config.signingKeys,
    eventKeys: config.eventKeys,
    tokenMs: GATEWAY_LIMITS.sessionTokenMs,
  });
  const connections = new ConnectionList({
    store,
    gatewayId: id,
    log: config.log,
    onGone: (functionIds) => dispatcher.onWorkerGone(functionIds),
  });
  store.onLoss(() => void connections.listAgain());
  const sessions = createSessions(config, ports, { dispatcher, keys, list: connections });
  let draining = false;
  return {
    id,
    dispatcher,
    keys,
    sessions,
    connections,
    newId,
    get isDraining() {
      return draining;
    },
    beginDrain: () => {
      draining = true;
    },
    drain: async () => {
      draining = true;
      dispatcher.endWaits();
      const end = new AbortController();
      const over = sleep(timers, config.drainMs, end.signal);
      const gone = sessions.drain(config.drainMs);
      const done = async (): Promise<void> => {
        await dispatcher.drain();
        await Promise.race([gone, quiet(dispatcher, timers, gone)]);
        await dispatcher.whenSettled();
      };
      // A database that hangs holds up all of it.
      await Promise.race([done(), over]);
      end.abort();
    },
  };
}

/** Begins to claim work. What ends with the core is added to the clean-ups first. */
export async function startCore({ dispatcher, connections }: GatewayCore, cleanUps: CleanUps): Promise<void> {
  cleanUps.add({ what: "releasing leases", leastMs: 500, run: () => dispatcher.stop() });
  cleanUps.add({ what: "taking workers off the list", leastMs: 200, run: () => connections.end() });
  await dispatcher.start();
}

/** In development workers come back within two seconds, and someone waits for what they no longer have. */
const DEV_RENEWED_MS = 5_000;

function renewedLeaseMs({ signingKeys, plain, leaseMs }: GatewayConfig): number {
  const wholeMs = leaseMs ?? (plain ? PLAIN_INTERVALS : EXTENDED_INTERVALS).leaseMs;
  return signingKeys.length > 0 ? wholeMs : Math.min(wholeMs, DEV_RENEWED_MS);
}

function createDispatcher(config: GatewayConfig, given: CorePorts, gatewayId: string): Dispatcher {
  const { spans, ...ports } = given;
  const { log, logRuns } = config;
  const { clock, timers } = ports;
  const listeners = (eventName: string): string[] => listenedTo(dispatcher.functions.all(), environmentOf(eventName));
  const isQuiet = logRuns === "off" || log === silentLog;
  const onNotice = isQuiet ? null : noticeLog({ log, clock, timers, routine: logRuns, listeners });
  const dispatcher = new Dispatcher({
    ...ports,
    ...(spans ? { spans } : {}),
    log: config.log,
    ...(onNotice ? { onNotice } : {}),
    chooseWorker: (candidates, nowMs) => chooseWorker(candidates, { nowMs }),
    settings: {
      ...DEFAULT_DISPATCHER_SETTINGS,
      gatewayId,
      retry: { ...DEFAULT_DISPATCHER_SETTINGS.retry, baseMs: config.retryBaseMs },
      maxSteps: WIRE_LIMITS.maxStepsPerRun,
      requestAckMs: config.requestAckMs,
      reconnectGraceMs: config.reconnectGraceMs,
      versionPolicy: config.versionPolicy,
      plain: config.plain,
      renewedLeaseMs: renewedLeaseMs(config),
      // On a machine for development the process that was started last is the one that is meant.
      ...(config.signingKeys.length === 0 ? { awayMs: 0 } : {}),
    },
  });
  return dispatcher;
}

/** The names of events that functions of an environment are triggered by. */
function listenedTo(functions: Iterable<KnownFunction>, environment: string): string[] {
  const here = [...functions].filter((fn) => fn.environment === environment && fn.active && !isProbe(fn));
  const names = here.flatMap(({ settings }) =>
    settings.triggers.flatMap((one) => (one.type === "event" ? [one.pattern] : [])),
  );
  return [...new Set(names)];
}

function createSessions(
  config: GatewayConfig,
  { store, clock, timers }: CorePorts,
  { dispatcher, keys, list }: { dispatcher: Dispatcher; keys: Keys; list: ConnectionList },
): Sessions {
  const { log } = config;
  return new Sessions({
    dispatcher,
    clock,
    timers,
    log,
    settings: {
      hello: {
        extensions: config.extensions,
        strict: config.plain,
        maxApps: config.plain ? WIRE_LIMITS.plainAppsPerConnection : WIRE_LIMITS.maxAppsPerConnection,
        maxFunctions: GATEWAY_LIMITS.maxFunctionsPerApp,
        environmentOf: ({ sessionToken, connectionId, environment }) => {
          if (!keys.enforced) return environmentFor(EVERYBODY, environment);
          const granted = keys.tokenEnvironment(sessionToken, connectionId, clock.nowMs());
          if (granted === undefined) return null;
          return environmentFor({ keyName: "the session's", environment: granted }, environment);
        },
      },
      intervals: { heartbeatMs: config.heartbeatMs, leaseMs: config.leaseMs },
      strict: config.plain,
      missedHeartbeats: TIMEOUTS.gatewayMissedHeartbeats,
      helloMs: TIMEOUTS.helloMs,
      readinessMs: TIMEOUTS.openMs,
      drainMs: config.drainMs,
      roomBytes: GATEWAY_LIMITS.roomBytes,
      maxBufferedBytes: GATEWAY_LIMITS.maxBufferedBytes,
    },
    redeem: async ({ connectionId }) =>
      !keys.enforced || (await store.useToken(connectionId, GATEWAY_LIMITS.sessionTokenMs)),
    onStatus: (info, status, sessionLog) => {
      const level = status === "CONNECTING" ? "debug" : "info";
      sessionLog(level, `${info.appIds.map(shownApp).join(", ")} (${info.instanceId}): ${status.toLowerCase()}`);
      return list.set(info, status);
    },
  });
}

/**
 * Resolves when nothing has been in flight for a second: workers that have somewhere else to go are there by then, and
 * the others lose nothing with their socket.
 */
async function quiet(dispatcher: Dispatcher, timers: Timers, gone: Promise<void>): Promise<void> {
  let over = false;
  void gone.then(() => {
    over = true;
  });
  for (let idleChecks = 0; idleChecks < 10 && !over; ) {
    await sleep(timers, 100);
    idleChecks = dispatcher.status().inFlight === 0 ? idleChecks + 1 : 0;
  }
}
