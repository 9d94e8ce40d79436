import type { Duplex } from "node:stream";
import {
  type Clock,
  createDriver,
  type Log,
  messageOf,
  type TimerHandle,
  type Timers,
  unreachable,
} from "@holdfast/core";
import {
  decodeWorkerFrame,
  type Extension,
  encodeGatewayFrame,
  frameKind,
  type GatewayFrame,
  type WorkerConnect,
} from "@holdfast/protocol";
import type { WebSocket } from "ws";
import { type AgentSession, type AttachedAgent, versionName } from "../engine/index.ts";
import { type AppRecord, levelFor } from "../store/index.ts";
import type { ConnectionStatus, SessionInfo } from "./connection-list.ts";
import { type HelloRules, readHello, refusalOf } from "./hello.ts";
import { type IntervalOverrides, intervalsFor, wireIntervals } from "./intervals.ts";
import { capacityOf } from "./routing.ts";
import {
  delivers,
  initialSession,
  type RequestFrame,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
  type SessionTimer,
  stepSession,
} from "./session-machine.ts";

/** What a session takes of an accepted socket of `ws`, and of the stream below it. */
export type SessionSocket = Pick<
  WebSocket,
  "on" | "send" | "close" | "terminate" | "readyState" | "OPEN" | "bufferedAmount"
>;
export type SessionStream = Pick<Duplex, "cork" | "uncork"> & { on(event: "drain", listener: () => void): unknown };

/** What a session needs of the engine. */
export interface SessionEngine {
  register(apps: readonly AppRecord[]): Promise<void>;
  attach(session: AgentSession, open: boolean): AttachedAgent;
}

export interface SessionSettings {
  readonly hello: HelloRules;
  readonly intervals: IntervalOverrides;
  readonly strict: boolean;
  readonly missedHeartbeats: number;
  readonly helloMs: number;
  readonly readinessMs: number;
  readonly drainMs: number;
  /** Requests wait while more than this is on its way to the peer. */
  readonly roomBytes: number;
  /** A peer that does not read is dropped when this much waits for it. */
  readonly maxBufferedBytes: number;
}

export interface SessionParts {
  readonly engine: SessionEngine;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly settings: SessionSettings;
  /** Uses up the session token of an agent that is about to be accepted; false when it was used before. */
  redeem(connect: WorkerConnect): Promise<boolean>;
  onStatus(info: SessionInfo, status: ConnectionStatus): Promise<void>;
}

/** The shell of one socket: decodes, drives the machine, sends. */
export class Session {
  readonly #socket: SessionSocket;
  readonly #raw: SessionStream;
  readonly #parts: SessionParts;
  readonly #driver: ReturnType<typeof createDriver<SessionState, SessionEvent, SessionEffect>>;
  readonly #armed = new Map<SessionTimer, TimerHandle>();
  #agent: (AgentSession & { seenMs: number }) | null = null;
  #attached: AttachedAgent | null = null;
  #info: SessionInfo | null = null;
  #corked = false;
  /** Requests that wait for room. */
  #waiting: (() => GatewayFrame | null)[] = [];
  #heartbeatMs = 10_000;

  constructor(socket: SessionSocket, raw: SessionStream, parts: SessionParts) {
    this.#socket = socket;
    this.#raw = raw;
    this.#parts = parts;
    const { missedHeartbeats, strict } = parts.settings;
    const limits = { missedHeartbeats, strict };
    this.#driver = createDriver<SessionState, SessionEvent, SessionEffect>({
      initial: initialSession,
      step: (state, event) => stepSession(limits, state, event),
      run: (effect) => this.#run(effect),
      nowMs: () => parts.clock.nowMs(),
      traceSize: 20,
    });
    socket.on("message", (data, isBinary) => this.#message(data as Buffer, isBinary));
    socket.on("close", (code, reason) => {
      const final = code === 1000 && reason.toString() === "WORKER_SHUTDOWN";
      this.#driver.send({ type: "socket-closed", final });
    });
    raw.on("drain", () => this.#sendWaiting());
    socket.on("error", (error) => parts.log("debug", `A socket failed: ${messageOf(error)}`));
    this.#driver.send({ type: "accept" });
  }

  /** The gateway goes away: the agent is told to connect elsewhere. */
  drain(): void {
    this.#driver.send({ type: "drain" });
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #message(data: Buffer, isBinary: boolean): void {
    if (!isBinary) {
      this.#driver.send({ type: "malformed", what: "envelope" });
      return;
    }
    const atMs = this.#parts.clock.monotonicMs();
    try {
      const frame = decodeWorkerFrame(data);
      if (this.#agent) this.#agent.seenMs = atMs;
      if (!this.#parts.settings.strict && delivers(this.#driver.state, frame)) this.#deliver(frame);
      else this.#driver.send({ type: "frame", frame });
    } catch (error) {
      const kind = frameKind(data);
      this.#parts.log("warn", `An agent sent a frame that cannot be read: ${messageOf(error)}`, this.#about());
      this.#driver.send(
        kind === undefined ? { type: "malformed", what: "envelope" } : { type: "malformed", what: "payload", kind },
      );
    }
  }

  #run(effect: SessionEffect): void {
    switch (effect.do) {
      case "send":
        return this.#send(effect.frame);
      case "close":
        this.#parts.log("info", `A connection is closed: ${effect.reason}`, this.#about());
        this.#flush();
        this.#socket.close(effect.code, effect.reason);
        return;
      case "terminate":
        return this.#socket.terminate();
      case "arm":
        return this.#arm(effect.timer);
      case "disarm":
        return this.#disarm(effect.timer);
      case "register":
        void this.#register(effect.connect);
        return;
      case "open":
        if (this.#attached) this.#attached.resume();
        else if (this.#agent) this.#attached = this.#parts.engine.attach(this.#agent, true);
        return this.#status("READY");
      case "pause":
        this.#attached?.pause(effect.said === true);
        return this.#status("DRAINING");
      case "deliver":
        return this.#deliver(effect.frame);
      case "gone":
        for (const timer of this.#armed.values()) timer.cancel();
        this.#armed.clear();
        this.#waiting = [];
        this.#attached?.lost(effect.final === true);
        return this.#status("DISCONNECTED");
      case "warn":
        return this.#parts.log("warn", `Connection: ${effect.message}.`, this.#about());
      default:
        return unreachable(effect);
    }
  }

  #deliver(frame: RequestFrame): void {
    if (!this.#agent) return;
    this.#attached ??= this.#parts.engine.attach(this.#agent, false);
    this.#attached.receive(frame);
  }

  async #register(connect: WorkerConnect): Promise<void> {
    const { settings, engine, clock, log } = this.#parts;
    const result = readHello(connect, settings.hello);
    if (!result.ok) {
      log("warn", `A connection is refused: ${result.why}.`, { instanceId: connect.instanceId });
      this.#driver.send({ type: "refused", refusal: result.refusal });
      return;
    }
    const { environment, apps, functionIds, extensions } = result.hello;
    const intervals = intervalsFor(extensions, settings.intervals);
    try {
      if (!(await this.#parts.redeem(connect))) {
        log("warn", "A connection is refused: its session token was used before.", { instanceId: connect.instanceId });
        this.#driver.send({ type: "refused", refusal: { code: "connect_authentication_failed", closeCode: 1008 } });
        return;
      }
      await engine.register(apps);
    } catch (error) {
      const { instanceId } = connect;
      log(levelFor(error, "error"), `The functions of a connection are not stored: ${messageOf(error)}`, {
        instanceId,
      });
      this.#driver.send({ type: "refused", refusal: refusalOf(error) });
      return;
    }
    const seenMs = clock.monotonicMs();
    this.#heartbeatMs = intervals.heartbeatMs;
    this.#agent = this.#agentOf(connect, { environment, functionIds, apps }, extensions, { ...intervals, seenMs });
    const { connectionId, instanceId } = connect;
    const versions = apps.map(({ id, version }) => versionName(id, version));
    const appIds = apps.map(({ id }) => id);
    this.#info = { connectionId, instanceId, appIds, versions, functionIds, connectedMs: clock.nowMs() };
    // Before connect() resolves, so that whoever takes an event after it knows that this version is there.
    await this.#parts.onStatus(this.#info, "CONNECTING");
    this.#driver.send({
      type: "accepted",
      accepted: {
        ...wireIntervals(intervals),
        extensions,
        manualReadiness: connect.workerManualReadinessAck,
      },
    });
  }

  #agentOf(
    connect: WorkerConnect,
    registered: Pick<AgentSession, "environment" | "functionIds" | "apps">,
    extensions: readonly Extension[],
    times: { heartbeatMs: number; leaseMs: number; extendLeaseMs: number; seenMs: number },
  ): AgentSession & { seenMs: number } {
    const isCongested = (): boolean => this.#waiting.length > 0;
    return {
      id: connect.connectionId,
      instanceId: connect.instanceId,
      ...registered,
      capacity: capacityOf(connect.maxWorkerConcurrency),
      isLimited: (connect.maxWorkerConcurrency ?? 0) > 0,
      extensions: new Set(extensions),
      heartbeatMs: times.heartbeatMs,
      leaseMs: times.leaseMs,
      extendLeaseMs: times.extendLeaseMs,
      seenMs: times.seenMs,
      get congested() {
        return isCongested();
      },
      send: (frame) => this.#send(frame),
      sendWhenRoom: (make) => {
        if (this.#waiting.length > 0 || !this.#hasRoom()) return void this.#waiting.push(make);
        const frame = make();
        if (frame) this.#send(frame);
      },
    };
  }

  /** A crowd of large requests must neither pile up in memory nor keep heartbeats and acknowledgements waiting. */
  #sendWaiting(): void {
    if (this.#waiting.length === 0) return;
    while (this.#waiting.length > 0 && this.#hasRoom()) {
      const frame = this.#waiting.shift()?.();
      if (frame) this.#send(frame);
    }
    if (this.#waiting.length === 0) this.#attached?.hasRoom();
  }

  #hasRoom(): boolean {
    return this.#socket.bufferedAmount <= this.#parts.settings.roomBytes;
  }

  /** Frames of one turn of the event loop leave in one write. */
  #send(frame: GatewayFrame): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > this.#parts.settings.maxBufferedBytes) {
      this.#parts.log("warn", "An agent does not read what it is sent; its socket is dropped.", this.#about());
      this.#socket.terminate();
      return;
    }
    if (!this.#corked) {
      this.#corked = true;
      this.#raw.cork();
      setImmediate(() => this.#flush());
    }
    this.#socket.send(encodeGatewayFrame(frame));
  }

  #flush(): void {
    if (!this.#corked) return;
    this.#corked = false;
    this.#raw.uncork();
  }

  #arm(timer: SessionTimer): void {
    this.#disarm(timer);
    const { settings, timers } = this.#parts;
    const delays = {
      hello: settings.helloMs,
      readiness: settings.strict ? settings.missedHeartbeats * this.#heartbeatMs : settings.readinessMs,
      silence: this.#heartbeatMs,
      drain: settings.drainMs,
    };
    const fire = (): void => {
      this.#armed.delete(timer);
      this.#driver.send({ type: "fired", timer });
    };
    this.#armed.set(timer, timers.set(delays[timer], fire, { unref: true }));
  }

  #disarm(timer: SessionTimer): void {
    this.#armed.get(timer)?.cancel();
    this.#armed.delete(timer);
  }

  #status(status: ConnectionStatus): void {
    if (this.#info) void this.#parts.onStatus(this.#info, status);
  }

  #about(): Record<string, unknown> {
    const { connectionId, instanceId } = this.#info ?? {};
    return { phase: this.#driver.state.phase, connectionId, instanceId };
  }
}
