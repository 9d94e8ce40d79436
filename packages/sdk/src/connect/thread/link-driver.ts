import {
  backoffDelayMs,
  type Clock,
  createDriver,
  HoldfastError,
  type Log,
  messageOf,
  type PlainError,
  type Random,
  type TimerHandle,
  type Timers,
  type Transition,
  toPlainError,
  unreachable,
} from "@holdfast/core";
import {
  type ConnectionReady,
  decodeGatewayFrame,
  encodeWorkerFrame,
  type GatewayFrame,
  type StartResponse,
  type WorkerFrame,
} from "@holdfast/protocol";
import { createLinkStep, LINK_START } from "../core/link-machine.ts";
import type { LinkEffect, LinkEvent, LinkState, LinkTimer } from "../core/link-types.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import type { GatewayHttp } from "./gateway-http.ts";
import { type GatewaySocket, openGatewaySocket } from "./gateway-socket.ts";
import { createHeartbeatLog, type HeartbeatFacts } from "./heartbeat-log.ts";
import { workerConnectFrame } from "./worker-connect.ts";

export interface LinkListener {
  onUp(ready: ConnectionReady, start: StartResponse): void;
  onDown(): void;
  /** A frame about work, from the active connection; `bytes` is a view that is only good during the call. */
  onFrame(frame: GatewayFrame, bytes: Uint8Array): void;
  onStateChanged(): void;
  onRefused(error: HoldfastError): void;
}

export interface LinkDriverDeps {
  readonly config: SerializableConfig;
  readonly http: GatewayHttp;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly listener: LinkListener;
  /** Called whenever something was sent: the end of the turn must release it. */
  readonly touch: () => void;
}

/** Runs the link machine against real sockets, calls and timers. */
export interface LinkDriver {
  connect(resumed: boolean): void;
  beginShutdown(): void;
  /** Ends everything; resolves when the last socket is closed. */
  finish(): Promise<void>;
  /** Sends over the active connection; false when there is none. */
  send(bytes: Uint8Array): boolean;
  release(): void;
  readonly state: LinkState;
  readonly heartbeat: HeartbeatFacts;
  readonly lastError: PlainError | null;
  trace(): readonly Transition[];
}

export function createLinkDriver(deps: LinkDriverDeps): LinkDriver {
  const { config, http, clock, timers, random, log, listener } = deps;
  const sockets = new Map<number, GatewaySocket>();
  const alarms = new Map<number, Map<LinkTimer, TimerHandle>>();
  const starts = new Map<number, AbortController>();
  const heartbeat = createHeartbeatLog(clock);
  let active: { readonly generation: number; readonly socket: GatewaySocket } | undefined;
  let lastError: PlainError | null = null;
  let allClosed: (() => void) | undefined;

  const driver = createDriver<LinkState, LinkEvent, LinkEffect>({
    initial: LINK_START,
    step: createLinkStep({ hasFallbackKey: config.hashedFallbackKey !== undefined }),
    run: (effect) => run(effect),
    nowMs: () => clock.nowMs(),
    onError: (error, effect) => {
      lastError = toPlainError(error);
      log("error", `The link could not ${effect.do}: ${messageOf(error)}`);
    },
  });
  const { send } = driver;

  const setTimer = (timer: LinkTimer, generation: number, delayMs: number, before?: () => void): void => {
    const ofGeneration = alarms.get(generation) ?? new Map<LinkTimer, TimerHandle>();
    alarms.set(generation, ofGeneration);
    const fire = (): void => {
      ofGeneration.delete(timer);
      before?.();
      send({ type: "TIMER", timer, generation });
    };
    ofGeneration.set(timer, timers.set(delayMs, fire));
  };

  /** Beats keep to the grid of their first one, so that a late timer does not make the next one late too. */
  const beat = (generation: number, intervalMs: number): void => {
    const firstMs = clock.monotonicMs();
    let beats = 0;
    const next = (): void => {
      beats += 1;
      const dueMs = firstMs + beats * intervalMs;
      setTimer("heartbeat", generation, Math.max(0, dueMs - clock.monotonicMs()), next);
    };
    heartbeat.started(intervalMs);
    next();
  };

  const cancelTimers = (generation: number): void => {
    for (const alarm of alarms.get(generation)?.values() ?? []) alarm.cancel();
    alarms.delete(generation);
  };

  const start = (effect: Extract<LinkEffect, { do: "START" }>): void => {
    const { generation } = effect;
    const abort = new AbortController();
    starts.set(generation, abort);
    void http.start(effect.key, effect.excludeGroups, abort.signal).then((result) => {
      starts.delete(generation);
      if (result.ok) send({ type: "START_OK", generation, start: result.start });
      else send({ type: "START_FAILED", generation, message: result.message, unauthorized: result.unauthorized });
    });
  };

  const onBytes = (generation: number, bytes: Uint8Array): void => {
    let frame: ReturnType<typeof decodeGatewayFrame>;
    try {
      frame = decodeGatewayFrame(bytes);
    } catch (error) {
      send({ type: "BAD_FRAME", generation, message: messageOf(error) });
      return;
    }
    // Work goes past the machine, which has nothing to say about it.
    if (active?.generation === generation && !isLinkFrame(frame.kind)) {
      if (frame.kind === "UNKNOWN") log("warn", `A frame of unknown kind ${frame.number} was passed over.`);
      else listener.onFrame(frame, bytes);
    } else {
      send({ type: "FRAME", generation, frame });
    }
  };

  const open = (generation: number, url: string): void => {
    const socket = openGatewaySocket(
      url,
      {
        onFrame: (bytes) => onBytes(generation, bytes),
        onBadFrame: (message) => send({ type: "BAD_FRAME", generation, message }),
        onClosed: (code, reason) => {
          sockets.delete(generation);
          if (active?.generation === generation) active = undefined;
          send({ type: "SOCKET_CLOSED", generation, code, reason });
          if (sockets.size === 0) allClosed?.();
        },
      },
      timers,
      config.openMs,
    );
    sockets.set(generation, socket);
  };

  const sendFrame = (generation: number, frame: WorkerFrame): void => {
    sockets.get(generation)?.send(encodeWorkerFrame(frame));
    deps.touch();
  };

  const leave = (generation: number): GatewaySocket | undefined => {
    if (active?.generation === generation) active = undefined;
    return sockets.get(generation);
  };

  const run = (effect: LinkEffect): void => {
    switch (effect.do) {
      case "START":
        return start(effect);
      case "ABORT_START":
        return starts.get(effect.generation)?.abort(new Error("Not needed any more."));
      case "OPEN":
        return open(effect.generation, effect.start.gatewayEndpoint);
      case "CLOSE_SOCKET":
        return leave(effect.generation)?.close(effect.code, effect.reason);
      case "DESTROY_SOCKET":
        return leave(effect.generation)?.destroy();
      case "SEND_CONNECT":
        return sendFrame(effect.generation, workerConnectFrame(config, effect.start));
      case "SEND":
        if (effect.kind === "WORKER_HEARTBEAT") heartbeat.sent();
        return sendFrame(effect.generation, { kind: effect.kind });
      case "WAIT":
        return setTimer("backoff", effect.generation, backoffDelayMs(config.reconnect, effect.failures, random));
      case "SET_TIMER":
        return setTimer(effect.timer, effect.generation, effect.timer === "open" ? config.openMs : config.minUptimeMs);
      case "START_HEARTBEAT":
        return beat(effect.generation, effect.intervalMs);
      case "CANCEL_TIMERS":
        return cancelTimers(effect.generation);
      case "LINK_UP": {
        const socket = sockets.get(effect.generation);
        active = socket && { generation: effect.generation, socket };
        return listener.onUp(effect.ready, effect.start);
      }
      case "LINK_DOWN":
        leave(effect.generation);
        return listener.onDown();
      case "HEARTBEAT_ANSWERED":
        return heartbeat.answered();
      case "REFUSED":
        return listener.onRefused(new HoldfastError(effect.code, effect.message));
      case "LOG":
        if (effect.code) lastError = toPlainError(new HoldfastError(effect.code, effect.message));
        return log(effect.level, effect.message, effect.code ? { code: effect.code } : undefined);
      case "STATE_CHANGED":
        return listener.onStateChanged();
      default:
        return unreachable(effect);
    }
  };

  return {
    connect: (resumed) => send({ type: "CONNECT", resumed }),
    beginShutdown: () => send({ type: "SHUTDOWN" }),
    finish: () =>
      new Promise((resolve) => {
        send({ type: "FINISH" });
        if (sockets.size === 0) resolve();
        else allClosed = resolve;
      }),
    send: (bytes) => {
      if (active === undefined) return false;
      active.socket.send(bytes);
      deps.touch();
      return true;
    },
    release: () => {
      for (const socket of sockets.values()) socket.release();
    },
    get state() {
      return driver.state;
    },
    heartbeat,
    get lastError() {
      return lastError;
    },
    trace: () => driver.trace(),
  };
}

function isLinkFrame(kind: string): boolean {
  return (
    kind === "GATEWAY_HELLO" ||
    kind === "GATEWAY_CONNECTION_READY" ||
    kind === "GATEWAY_HEARTBEAT" ||
    kind === "GATEWAY_CLOSING" ||
    kind === "SYNC_FAILED"
  );
}
