/**
 * Puts a connection thread together from its parts, in the order of their dependencies. A part that has news for one
 * made after it emits an effect (docs/decisions/0051).
 */
import type { Clock, Log, Random, Timers } from "@holdfast/core";
import type { ProcessState } from "@holdfast/protocol";
import { inspectorRole } from "../shared/inspector-role.ts";
import type { InitMessage } from "../shared/messages.ts";
import { sharedCounters } from "../shared/shared-counters.ts";
import { type Closing, createClosing } from "./closing.ts";
import { type CoalescingPort, createCoalescingPort } from "./coalescing-port.ts";
import { createDebugMirror, type DebugMirror, type DebugSources, snapshot } from "./debug-mirror.ts";
import { createGatewayHttp, type GatewayPost } from "./gateway-http.ts";
import type { OpenWebSocket } from "./gateway-socket.ts";
import { InFlightRequests } from "./in-flight-requests.ts";
import { IsolatedRequests } from "./isolated-requests.ts";
import { LinkDriver } from "./link-driver.ts";
import type { MainPort } from "./main-port.ts";
import { poolStateReader } from "./pool-state.ts";
import type { DrainPort } from "./pool-threads.ts";
import { createPortLogger, type PortLogger } from "./port-logger.ts";
import type { ListenToSignals } from "./process-signals.ts";
import { RequestManager } from "./request-manager.ts";
import { watchForShutdown } from "./shutdown-watch.ts";
import { type StallPorts, StallWatch } from "./stall-watch.ts";
import { StateReports } from "./state-reports.ts";
import { SuspensionDetector } from "./suspension-detector.ts";
import type { Emit, ThreadEffect } from "./thread-effect.ts";
import type { StateReading } from "./worker-state-frame.ts";

/** The thread's ports to everything but the main thread. */
export interface ThreadPorts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly post: GatewayPost;
  readonly openWebSocket: OpenWebSocket;
  readonly stalls: StallPorts;
  readonly listenToSignals: ListenToSignals;
  readonly drainPort: DrainPort;
  readonly readProcess: () => ProcessState;
  readonly exit: (code: number) => void;
}

export interface ThreadParts {
  readonly log: Log;
  readonly logger: PortLogger;
  readonly suspensions: SuspensionDetector;
  readonly stalls: StallWatch;
  readonly coalescing: CoalescingPort;
  readonly isolated: IsolatedRequests;
  readonly requests: RequestManager;
  readonly link: LinkDriver;
  readonly closing: Closing;
  readonly mirror: DebugMirror;
  readonly reports: StateReports;
  readonly endShutdownWatch: () => void;
}

/** So that reports of a process keep different numbers when its connection thread is replaced. */
const SEQUENCES_PER_THREAD = 1_000_000;

/**
 * Makes the parts of a connection thread: none knows one that is made after it. What is to happen there it emits, and the
 * thread carries it out. `scheduleFlush` makes sure that what was sent leaves.
 */
export function createThreadParts(
  init: InitMessage,
  port: MainPort,
  outside: ThreadPorts,
  scheduleFlush: () => void,
  emit: Emit<ThreadEffect>,
): ThreadParts {
  const { config, doubtNumber, crashes } = init;
  const counters = sharedCounters(init.counters);
  const logger = createPortLogger(port, counters);
  const { log } = logger;
  const ports = { ...outside, log };
  const { clock, timers } = outside;
  const http = createGatewayHttp(config, clock, timers, outside.post);
  counters.setDoubtNumber(doubtNumber);
  const suspensions = new SuspensionDetector({ clock, timers, counters }, emit);
  const inFlight = new InFlightRequests(clock, doubtNumber, init.config);
  const firstSequence = crashes * SEQUENCES_PER_THREAD;
  const role = inspectorRole(init.inspector.memory, init.inspector.thread);
  const stallPorts = { ...ports, ...outside.stalls, role };
  const onMain = { unfinished: () => inFlight.unfinished().filter(({ requestId }) => !isolated.has(requestId)) };
  const stalls = new StallWatch(
    { ...stallPorts, policy: config.stall, firstSequence, counters, inFlight: onMain },
    emit,
  );
  const coalescing = createCoalescingPort(port, () => stalls.lagMs);
  const { pool, counters: memory } = init;
  const isolated: IsolatedRequests = new IsolatedRequests(
    { ...ports, config, pool, counters: memory, port, coalescing, mainLagMs: () => stalls.lagMs, scheduleFlush },
    emit,
  );
  const requests = new RequestManager(
    { ...ports, config, http, port, coalescing, counters, doubtNumber, isolated, inFlight },
    emit,
  );
  const hasWork = (): boolean => inFlight.count > 0 || requests.undelivered().length > 0;
  const link = new LinkDriver({ ...ports, config, http, scheduleFlush, hasWork }, emit);
  const closing = createClosing({ ...ports, requests, link, http }, emit);
  const listen = outside.listenToSignals;
  const endShutdownWatch = watchForShutdown({ ...ports, ...init.shutdown, listen, closing });
  const sources: DebugSources = { link, requests, clock, crashes, stalls, logsDropped: () => logger.dropped };
  const mirror = createDebugMirror(sources, coalescing, timers, config.debugMs);
  const readPool = poolStateReader(init.pool?.cells ?? init.poolMemory, () => ({
    queued: isolated.waiting,
    oldestMs: ageOf(isolated.oldest, inFlight, clock),
  }));
  const reading = (process: ProcessState): StateReading => ({
    debug: snapshot(sources),
    pool: readPool(clock.monotonicMs()),
    process,
  });
  const send = (bytes: Uint8Array): void => void link.send(bytes);
  const { readProcess } = outside;
  const deps = { send, clock, timers, everyMs: config.debugMs };
  const reports = new StateReports({ ...deps, read: () => reading(readProcess()) });
  const made = { log, logger, suspensions, stalls, coalescing, isolated, requests, link, closing, mirror, reports };
  return { ...made, endShutdownWatch };
}

/** Null: it is not in flight. */
function ageOf(requestId: string | undefined, inFlight: InFlightRequests, clock: Clock): number | null {
  const request = requestId === undefined ? undefined : inFlight.get(requestId);
  return request === undefined ? null : clock.monotonicMs() - request.startedAtMs;
}
