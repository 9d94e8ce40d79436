/**
 * The link machine's hands: opens and closes sockets, makes the start call, sets timers, and feeds back what came of
 * it. Frames about requests go past the machine, straight to the thread.
 */
import {
  type Clock,
  createDriver,
  type Driver,
  HoldfastError,
  type Log,
  messageOf,
  type PlainError,
  type Random,
  type TimerHandle,
  type Timers,
  type TraceEntry,
  toPlainError,
  unreachable,
} from "@holdfast/core";
import {
  allocatePooled,
  decodeGatewayFrame,
  encodeWorkerFrame,
  type GatewayFrame,
  type UnknownFrame,
  type WorkerFrame,
} from "@holdfast/protocol";
import { isLinkFrame } from "../machines/frame-subjects.ts";
import { createLinkStep, LINK_START } from "../machines/link-machine.ts";
import type { LinkEffect, LinkEvent, LinkState } from "../machines/link-types.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import type { GatewayHttp } from "./gateway-http.ts";
import { type GatewaySocket, type OpenWebSocket, openGatewaySocket } from "./gateway-socket.ts";
import { createHeartbeatLog, type HeartbeatLog } from "./heartbeat-log.ts";
import { LinkClock } from "./link-clock.ts";
import { reconnectDelayMs } from "./reconnect-delay.ts";
import type { Emit, LinkNews } from "./thread-effect.ts";
import { workerConnectFrame } from "./worker-connect.ts";

export interface LinkDriverDeps {
  readonly config: SerializableConfig;
  readonly http: GatewayHttp;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
  readonly openWebSocket: OpenWebSocket;
  /** Called whenever something was sent: the end of the turn must release it. */
  readonly scheduleFlush: () => void;
  /** Whether there is work whose lease has to be extended, or a reply that has not been acknowledged. */
  readonly hasWork: () => boolean;
}

export class LinkDriver {
  readonly heartbeat: HeartbeatLog;
  readonly #deps: LinkDriverDeps;
  readonly #emit: Emit<LinkNews>;
  readonly #driver: Driver<LinkState, LinkEvent>;
  readonly #clock: LinkClock;
  readonly #sockets = new Map<number, GatewaySocket>();
  readonly #starts = new Map<number, AbortController>();
  #active: { readonly generation: number; readonly socket: GatewaySocket } | undefined;
  #lastError: PlainError | null = null;
  /** Why the gateway will not have this worker. */
  #refusal: PlainError | null = null;
  #onAllClosed: (() => void) | undefined;
  #destroyTimer: TimerHandle | undefined;

  constructor(deps: LinkDriverDeps, emit: Emit<LinkNews>) {
    this.#deps = deps;
    this.#emit = emit;
    this.heartbeat = createHeartbeatLog(deps.clock);
    this.#clock = new LinkClock(deps.timers, deps.clock, (timer, generation) =>
      this.#driver.send({ type: "TIMER", timer, generation }),
    );
    this.#driver = createDriver<LinkState, LinkEvent, LinkEffect>({
      initial: LINK_START,
      step: createLinkStep({
        hasFallbackKey: deps.config.hashedFallbackKey !== undefined,
        extensions: deps.config.extensions,
        required: deps.config.required,
        hasPartitions: deps.config.partitions.length > 0,
      }),
      run: (effect) => this.#run(effect),
      nowMs: () => deps.clock.nowMs(),
      onError: (error, effect) => {
        this.#lastError = toPlainError(error);
        deps.log("error", `The link could not ${effect.do}: ${messageOf(error)}`, { code: "INTERNAL" });
      },
    });
  }

  get state(): LinkState {
    return this.#driver.state;
  }

  get lastError(): PlainError | null {
    return this.#refusal ?? this.#lastError;
  }

  trace(): readonly TraceEntry[] {
    return this.#driver.trace();
  }

  connect(resumed: boolean): void {
    this.#driver.send({ type: "CONNECT", resumed });
  }

  beginShutdown(): void {
    this.#driver.send({ type: "SHUTDOWN" });
  }

  /** The main thread stalls, or is responsive again: no new work meanwhile. */
  setStalled(stalled: boolean): void {
    this.#driver.send({ type: "STALL", stalled });
  }

  /** Ends everything; resolves when the last socket is closed. Those whose peers take longer than `limitMs` are destroyed. */
  finish(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#driver.send({ type: "FINISH" });
      if (this.#sockets.size === 0) return resolve();
      this.#onAllClosed = () => {
        this.#destroyTimer?.cancel();
        resolve();
      };
      this.limitClosing(limitMs);
    });
  }

  /** While it finishes: peers get only this long from now on. */
  limitClosing(limitMs: number): void {
    if (this.#onAllClosed === undefined) return;
    this.#destroyTimer?.cancel();
    this.#destroyTimer = this.#deps.timers.set(limitMs, () => {
      for (const socket of [...this.#sockets.values()]) socket.destroy();
    });
  }

  /** Sends over the active connection; false when there is none. */
  send(bytes: Uint8Array): boolean {
    if (this.#active === undefined) return false;
    this.#active.socket.send(bytes);
    this.#deps.scheduleFlush();
    return true;
  }

  /** Lets what was sent in this turn go. */
  flushSends(): void {
    for (const socket of this.#sockets.values()) socket.flush();
  }

  #run(effect: LinkEffect): void {
    const { config, log } = this.#deps;
    switch (effect.do) {
      case "START":
        return this.#start(effect);
      case "ABORT_START":
        return this.#starts.get(effect.generation)?.abort(new Error("No longer needed."));
      case "OPEN":
        return this.#open(effect.generation, effect.start.gatewayEndpoint);
      case "CLOSE_SOCKET":
        return this.#detach(effect.generation)?.close(effect.code, effect.reason);
      case "DESTROY_SOCKET":
        return this.#detach(effect.generation)?.destroy();
      case "SEND_CONNECT":
        return this.#sendFrame(effect.generation, workerConnectFrame(config, effect.start));
      case "SEND":
        if (effect.kind === "WORKER_HEARTBEAT") this.heartbeat.onSent();
        return this.#sendFrame(effect.generation, { kind: effect.kind });
      case "WAIT":
        return this.#clock.set("backoff", effect.generation, this.#waitMs(effect));
      case "SET_TIMER": {
        const delayMs = effect.timer === "open" ? config.openMs : config.minUptimeMs;
        return this.#clock.set(effect.timer, effect.generation, delayMs);
      }
      case "START_HEARTBEAT":
        this.heartbeat.onStarted(effect.intervalMs);
        return this.#clock.startHeartbeats(effect.generation, effect.intervalMs);
      case "CANCEL_TIMERS":
        return this.#clock.cancel(effect.generation);
      case "LINK_UP": {
        const socket = this.#sockets.get(effect.generation);
        this.#active = socket && { generation: effect.generation, socket };
        return this.#emit({ do: "LINK_UP", ready: effect.ready, start: effect.start });
      }
      case "LINK_DOWN":
        this.#detach(effect.generation);
        return this.#emit({ do: "LINK_DOWN" });
      case "HEARTBEAT_ANSWERED":
        return this.heartbeat.onAnswered();
      case "REFUSED":
        this.#refusal = toPlainError(new HoldfastError(effect.code, effect.message));
        return this.#emit({ do: "LINK_REFUSED", error: this.#refusal });
      case "LOG":
        if (effect.code) this.#lastError = toPlainError(new HoldfastError(effect.code, effect.message));
        return log(effect.level, effect.message, effect.code ? { code: effect.code } : undefined);
      case "STATE_CHANGED":
        return this.#emit({ do: "LINK_STATE_CHANGED" });
      default:
        return unreachable(effect);
    }
  }

  #waitMs({ failures, atLeastMs = 0 }: Extract<LinkEffect, { do: "WAIT" }>): number {
    const { config, random, hasWork } = this.#deps;
    return reconnectDelayMs(config.reconnect, { failures, atLeastMs, hasWork: hasWork() }, random);
  }

  #start({ generation, key, excludeGroups }: Extract<LinkEffect, { do: "START" }>): void {
    const abort = new AbortController();
    this.#starts.set(generation, abort);
    void this.#deps.http.start(key, excludeGroups, abort.signal).then((result) => {
      this.#starts.delete(generation);
      const { ok } = result;
      if (ok) this.#driver.send({ type: "START_OK", generation, start: result.start });
      else {
        const { ok: _, ...failure } = result;
        this.#driver.send({ type: "START_FAILED", generation, ...failure });
      }
    });
  }

  #open(generation: number, url: string): void {
    const onClosed = (code: number, reason: string): void => {
      this.#sockets.delete(generation);
      if (this.#active?.generation === generation) this.#active = undefined;
      this.#driver.send({ type: "SOCKET_CLOSED", generation, code, reason });
      if (this.#sockets.size === 0) this.#onAllClosed?.();
    };
    const handlers = {
      onFrame: (bytes: Uint8Array) => this.#onBytes(generation, bytes),
      onBadFrame: (message: string) => this.#driver.send({ type: "BAD_FRAME", generation, message }),
      onClosed,
    };
    this.#sockets.set(generation, openGatewaySocket(url, handlers, this.#deps, this.#deps.config.openMs));
  }

  #onBytes(generation: number, bytes: Uint8Array): void {
    let frame: GatewayFrame | UnknownFrame;
    try {
      frame = decodeGatewayFrame(bytes, { lend: "all" });
    } catch (error) {
      return this.#driver.send({ type: "BAD_FRAME", generation, message: messageOf(error) });
    }
    // Work goes past the machine, which has nothing to say about it.
    if (this.#active?.generation !== generation) return this.#driver.send({ type: "FRAME", generation, frame });
    if (frame.kind === "UNKNOWN") {
      return this.#deps.log("warn", `Ignored a frame of unknown kind ${frame.number}.`);
    }
    if (isLinkFrame(frame)) return this.#driver.send({ type: "FRAME", generation, frame });
    this.#emit({ do: "WORK_FRAME", frame, bytes });
  }

  #sendFrame(generation: number, frame: WorkerFrame): void {
    this.#sockets.get(generation)?.send(encodeWorkerFrame(frame, allocatePooled));
    this.#deps.scheduleFlush();
  }

  #detach(generation: number): GatewaySocket | undefined {
    if (this.#active?.generation === generation) this.#active = undefined;
    return this.#sockets.get(generation);
  }
}
