/**
 * Drives one socket by its session machine: bytes and timers in, frames and closes out. Frames about work go past the
 * machine to the dispatcher.
 */
import { createDriver, type Log, messageOf, type TimerHandle, unreachable } from "@holdfast/core";
import {
  decodeWorkerFrame,
  EVERY_QUEUE,
  EXTENSION_OF_FRAME,
  type Extension,
  frameKind,
  type WorkerConnect,
} from "@holdfast/protocol";
import { levelFor } from "@holdfast/store";
import { type AttachedWorker, versionName, type WorkerSession } from "../dispatch/index.ts";
import { Allowance } from "./allowance.ts";
import type { ConnectionStatus, SessionInfo } from "./connection-list.ts";
import { FrameWriter } from "./frame-writer.ts";
import { readHello, refusalOf } from "./hello.ts";
import { intervalsFor, wireIntervals } from "./intervals.ts";
import { LogLimit } from "./log-limit.ts";
import { RoundTrip } from "./round-trip.ts";
import { capacityOf } from "./routing.ts";
import { delivers, initialSession, stepSession } from "./session-machine.ts";
import type { SessionParts, SessionSocket, SessionStream } from "./session-parts.ts";
import type { RequestFrame, SessionEffect, SessionEvent, SessionState, SessionTimer } from "./session-types.ts";

/** What one peer may make the gateway write. */
export const LOG_LIMITS = { burst: 20, everyMs: 1_000, reportMs: 10_000, maxChars: 500 } as const;
/** A peer of another version may send frames that we cannot read; one that sends nothing else is none. */
const UNREADABLE_FRAMES = { burst: 5, everyMs: 10_000 } as const;

/** As `ws` says that a message is over its limit; it closes the socket with 1009. */
const isTooLarge = (error: Error): boolean => "code" in error && error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH";

/** The shell of one socket: decodes, drives the machine, sends. */
export class Session {
  readonly #socket: SessionSocket;
  readonly #writer: FrameWriter;
  readonly #parts: SessionParts;
  readonly #driver: ReturnType<typeof createDriver<SessionState, SessionEvent, SessionEffect>>;
  readonly #armed = new Map<SessionTimer, TimerHandle>();
  #worker: (WorkerSession & { seenMs: number }) | null = null;
  #attached: AttachedWorker | null = null;
  #info: SessionInfo | null = null;
  #saidStatus: ConnectionStatus = "CONNECTING";
  #isDrained = false;
  #heartbeatMs = 10_000;
  readonly #roundTrip: RoundTrip;
  readonly #ownLog: LogLimit;
  readonly #unreadable: Allowance;

  constructor(socket: SessionSocket, raw: SessionStream, parts: SessionParts) {
    this.#socket = socket;
    this.#writer = new FrameWriter(socket, raw, parts.settings, {
      onRoom: () => this.#attached?.hasRoom(),
      onFull: () => this.#log("warn", "A worker does not read from its socket; dropping the socket.", this.#about()),
    });
    this.#parts = parts;
    this.#roundTrip = new RoundTrip(socket, () => this.#writer.ping(), parts.clock);
    this.#ownLog = new LogLimit(parts, { ...LOG_LIMITS, subject: "this connection" });
    this.#unreadable = new Allowance(UNREADABLE_FRAMES, parts.clock.monotonicMs());
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
      const isShutdown = code === 1000 && reason.toString() === "WORKER_SHUTDOWN";
      this.#driver.send({ type: "socket-closed", how: isShutdown ? "shutdown" : "broken" });
    });
    socket.on("error", (error) => {
      if (isTooLarge(error)) this.#attached?.sentTooLarge();
      else this.#log("debug", `A socket failed: ${messageOf(error)}`);
    });
    this.#driver.send({ type: "accept" });
  }

  /** The gateway is closing: the worker is told to connect elsewhere. */
  drain(): void {
    this.#driver.send({ type: "drain" });
  }

  /** Before it is accepted: it costs too much, or others are to have its place. */
  evict(why: "too-large" | "crowded"): void {
    this.#driver.send({ type: "evicted", why });
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #message(data: Buffer, isBinary: boolean): void {
    // What was under way when we closed, or whatever a peer sends instead of closing too.
    if (this.#driver.state.phase === "closed") return;
    if (!isBinary) {
      this.#driver.send({ type: "malformed", what: "envelope" });
      return;
    }
    const atMs = this.#parts.clock.monotonicMs();
    try {
      const frame = decodeWorkerFrame(data, { lend: "all" });
      this.#parts.onFrame(frame.kind);
      if (this.#worker) this.#worker.seenMs = atMs;
      if (frame.kind === "WORKER_HEARTBEAT" && this.#worker && !this.#parts.settings.strict) this.#roundTrip.measure();
      if (!this.#parts.settings.strict && delivers(this.#driver.state, frame)) this.#deliver(frame);
      else this.#driver.send({ type: "frame", frame });
    } catch (error) {
      const kind = frameKind(data);
      this.#log("warn", `A worker sent a malformed frame: ${messageOf(error)}`, this.#about());
      if (kind === undefined) return this.#driver.send({ type: "malformed", what: "envelope" });
      const what = this.#unreadable.take(atMs) ? "payload" : "payload-again";
      this.#driver.send({ type: "malformed", what, kind });
    }
  }

  #run(effect: SessionEffect): void {
    switch (effect.do) {
      case "send":
        return this.#writer.send(effect.frame);
      case "close":
        this.#log("info", `Closing a connection: ${effect.reason}`, this.#about());
        this.#writer.flush();
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
        else if (this.#worker) this.#attached = this.#parts.dispatcher.attach(this.#worker, true);
        return this.#status("READY");
      case "pause":
        this.#attached?.pause(effect.said === true);
        // A worker that is gone did not drain first: `gone` follows.
        if (this.#driver.state.phase !== "closed") this.#status("DRAINING");
        return;
      case "deliver":
        return this.#deliver(effect.frame);
      case "gone":
        for (const timer of this.#armed.values()) timer.cancel();
        this.#armed.clear();
        this.#writer.stop();
        this.#attached?.lost(effect.how);
        if (this.#info && effect.how === "shutdown") this.#info = { ...this.#info, left: true };
        this.#status("DISCONNECTED");
        return this.#ownLog.flush();
      case "warn":
        return this.#log("warn", `Connection: ${effect.message}.`, this.#about());
      default:
        return unreachable(effect);
    }
  }

  #deliver(frame: RequestFrame): void {
    if (!this.#worker) return;
    this.#attached ??= this.#parts.dispatcher.attach(this.#worker, false);
    this.#attached.receive(frame);
  }

  async #register(connect: WorkerConnect): Promise<void> {
    const { settings, dispatcher, clock } = this.#parts;
    const log = this.#log;
    const result = readHello(connect, settings.hello);
    if (!result.ok) {
      log("warn", `Rejecting a connection: ${result.why.replace(/\.$/, "")}.`, { instanceId: connect.instanceId });
      this.#driver.send({ type: "refused", refusal: result.refusal });
      return;
    }
    const { extensions, uptimeMs, ...registered } = result.hello;
    const { apps, functionIds, queues, partitions } = registered;
    const intervals = intervalsFor(extensions, settings.intervals, settings.strict);
    try {
      if (!(await this.#parts.redeem(connect))) {
        log("warn", "Rejecting a connection: its session token was already used.", { instanceId: connect.instanceId });
        this.#driver.send({ type: "refused", refusal: { code: "connect_authentication_failed", closeCode: 1008 } });
        return;
      }
      await dispatcher.register(apps, uptimeMs === null ? undefined : clock.monotonicMs() - uptimeMs);
    } catch (error) {
      const { instanceId } = connect;
      log(levelFor(error, "error"), `The functions of a connection could not be stored: ${messageOf(error)}`, {
        instanceId,
      });
      this.#driver.send({ type: "refused", refusal: refusalOf(error) });
      return;
    }
    const seenMs = clock.monotonicMs();
    this.#heartbeatMs = intervals.heartbeatMs;
    this.#worker = this.#workerOf(connect, registered, extensions, { ...intervals, seenMs });
    const { connectionId, instanceId } = connect;
    const versions = apps.map(({ id, version }) => versionName(id, version));
    const appIds = apps.map(({ id }) => id);
    this.#info = {
      connectionId,
      instanceId,
      appIds,
      versions,
      functionIds,
      queues: [...(queues ?? [EVERY_QUEUE])],
      partitions,
      capacity: this.#worker.capacity,
      connectedMs: clock.nowMs(),
    };
    // Before connect() resolves, so that a gateway that accepts an event after it knows that this version is there.
    await this.#parts.onStatus(this.#info, "CONNECTING", this.#log);
    this.#driver.send({
      type: "accepted",
      accepted: {
        ...wireIntervals(intervals),
        extensions,
        manualReadiness: connect.workerManualReadinessAck,
      },
    });
    this.#parts.onAccepted();
  }

  #workerOf(
    connect: WorkerConnect,
    registered: Pick<WorkerSession, "environment" | "functionIds" | "apps" | "queues" | "partitions">,
    extensions: readonly Extension[],
    times: { heartbeatMs: number; leaseMs: number; extendLeaseMs: number; seenMs: number },
  ): WorkerSession & { seenMs: number } {
    const writer = this.#writer;
    const roundTrip = this.#roundTrip;
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
      get roundTripMs() {
        return roundTrip.ms;
      },
      get congested() {
        return writer.isCongested;
      },
      log: this.#log,
      setDrained: (isDrained) => this.#setDrained(isDrained),
      send: (frame) => {
        const extension = EXTENSION_OF_FRAME[frame.kind];
        if (extension === null || extensions.includes(extension)) writer.send(frame);
      },
      flush: () => writer.flush(),
      sendWhenRoom: (make) => writer.sendWhenRoom(make),
    };
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
    this.#saidStatus = status;
    const shown = status === "READY" && this.#isDrained ? "DRAINING" : status;
    if (this.#info) void this.#parts.onStatus(this.#info, shown, this.#log);
  }

  /** What is listed of a worker that is drained is that it takes no work, whatever it says itself. */
  #setDrained(isDrained: boolean): void {
    this.#isDrained = isDrained;
    if (this.#saidStatus === "READY") this.#status("READY");
  }

  readonly #log: Log = (level, message, data) =>
    (this.#info ? this.#ownLog.log : this.#parts.pendingLog)(level, message, data);

  #about(): Record<string, unknown> {
    const { connectionId, instanceId } = this.#info ?? {};
    return { phase: this.#driver.state.phase, connectionId, instanceId };
  }
}
