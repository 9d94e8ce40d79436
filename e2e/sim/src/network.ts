/** The network between the processes: connections, delays, losses, and who sees the frames. */
import { decodeGatewayFrame, decodeWorkerFrame, frameKind } from "../../../packages/protocol/src/index.ts";
import type { Dice } from "./random.ts";
import type { Actor, Scheduler } from "./scheduler.ts";
import { type Packet, SimWebSocket, type Wire } from "./web-socket.ts";

/** How bad the network is; rates are per frame or per call. */
export interface NetworkConditions {
  /** Usual one-way delay, up to this. */
  latencyMs: number;
  /** A frame takes much longer; those behind it wait. */
  spikeRate: number;
  spikeMs: number;
  /** A frame comes twice. */
  duplicateRate: number;
  /** A frame is swallowed by something in between, the connection goes on. */
  dropRate: number;
  /** An HTTP call: refused, or carried out with its answer lost. */
  httpFailRate: number;
}

export const CALM: NetworkConditions = {
  latencyMs: 2,
  spikeRate: 0,
  spikeMs: 0,
  duplicateRate: 0,
  dropRate: 0,
  httpFailRate: 0,
};

export type Direction = "up" | "down";

/** Where workers connect to. */
export interface Endpoint {
  readonly actor: Actor;
  readonly accept: (socket: SimWebSocket) => void;
}

/** Sees every frame that is sent, as the sender sends it. */
export type FrameTap = (direction: Direction, sender: Actor, bytes: Uint8Array, connection: Connection) => void;

/** Hears of requests that were under way for long, the time that their receiver stalled not counted, without it being able to tell. */
export type LateTap = (bytes: Uint8Array) => void;

/** Hears of acknowledgements of requests, as they reach the gateway. */
export type AckTap = (bytes: Uint8Array) => void;

export const LATE_MS = 300;
/** What is later than this shows, where another request has come over the connection in time. */
export const SHOWS_MS = 1_000;

/** Numbers of kinds, as on the wire. */
export const WORKER_READY = 4;
export const WORKER_REQUEST_ACK = 5;
export const WORKER_PAUSE = 8;
export const GATEWAY_EXECUTOR_REQUEST = 3;

/** A TCP connection with a WebSocket on it. `up` is from the worker to the gateway. */
export class Connection {
  readonly worker: SimWebSocket;
  readonly gateway: SimWebSocket;
  alive = true;
  /** Nothing comes through any more, and nothing reports it. */
  silent = false;
  /** The last of WORKER_READY and WORKER_PAUSE that reached the gateway, and whether it was ever paused. */
  announced: { readonly as: "ready" | "pause"; readonly wasPaused: boolean; readonly atMs: number } | null = null;
  readonly #net: Network;
  /** A request came in time. */
  #hasMeasure = false;
  readonly #lastAtMs = { up: 0, down: 0 };

  constructor(net: Network, worker: SimWebSocket, gateway: SimWebSocket) {
    this.#net = net;
    this.worker = worker;
    this.gateway = gateway;
  }

  wire(direction: Direction): Wire {
    return {
      send: (packet) => this.#send(direction, packet),
      abort: () => this.#abort(direction),
    };
  }

  /** Breaks: what is under way is lost, and each end is told or has to find out by itself. */
  cut(tell: { readonly worker: boolean; readonly gateway: boolean }): void {
    if (!this.alive) return;
    this.alive = false;
    this.#net.forget(this);
    if (tell.worker) this.#break(this.worker);
    if (tell.gateway) this.#break(this.gateway);
  }

  /** What is sent from now on comes only after this. */
  stall(direction: Direction, forMs: number): void {
    const { scheduler } = this.#net;
    this.#lastAtMs[direction] = Math.max(this.#lastAtMs[direction], scheduler.nowMs + forMs);
  }

  #break(end: SimWebSocket): void {
    const { scheduler, dice } = this.#net;
    scheduler.after(dice.within(0.1, 20), end.actor, () => end.broken());
  }

  #abort(direction: Direction): void {
    if (!this.alive || this.silent) return;
    const { scheduler } = this.#net;
    const peer = direction === "up" ? this.gateway : this.worker;
    // What was written before arrives before the end of the stream.
    scheduler.at(this.#arrivalMs(direction), peer.actor, () => {
      if (!this.alive || this.silent) return;
      this.alive = false;
      this.#net.forget(this);
      peer.broken();
    });
  }

  #send(direction: Direction, packet: Packet): void {
    const { dice, conditions, scheduler } = this.#net;
    const sender = direction === "up" ? this.worker : this.gateway;
    if (packet.type === "frame") this.#net.tap(direction, sender.actor, packet.bytes, this);
    const what = packet.type === "frame" ? String(frameKind(packet.bytes)) : `close ${packet.code}`;
    scheduler.trace.note(scheduler.nowMs, sender.actor.name, direction, what);
    if (scheduler.trace.lines) scheduler.trace.explain(explain(direction, packet));
    if (!this.alive || this.silent) return;
    if (packet.type === "frame" && dice.chance(conditions.dropRate)) return;
    this.#deliver(direction, packet);
    if (packet.type === "frame" && dice.chance(conditions.duplicateRate)) this.#deliver(direction, packet);
  }

  #deliver(direction: Direction, packet: Packet): void {
    const receiver = direction === "up" ? this.gateway : this.worker;
    const arrivalMs = this.#arrivalMs(direction);
    if (packet.type === "frame" && frameKind(packet.bytes) === GATEWAY_EXECUTOR_REQUEST) {
      const lateMs = arrivalMs - this.#net.scheduler.nowMs;
      if (lateMs <= LATE_MS) this.#hasMeasure = true;
      else if (!this.#hasMeasure || lateMs <= SHOWS_MS + LATE_MS) this.#net.late(packet.bytes);
    }
    this.#net.scheduler.at(arrivalMs, receiver.actor, () => {
      if (!this.alive || this.silent) return;
      if (direction === "up" && packet.type === "frame") this.#heard(packet.bytes);
      receiver.receive(packet);
    });
  }

  #heard(bytes: Uint8Array): void {
    const kind = frameKind(bytes);
    const wasPaused = this.announced?.wasPaused ?? false;
    const atMs = this.#net.scheduler.nowMs;
    if (kind === WORKER_REQUEST_ACK) this.#net.acked(bytes);
    if (kind === WORKER_READY) this.announced = { as: "ready", wasPaused, atMs };
    if (kind === WORKER_PAUSE) this.announced = { as: "pause", wasPaused: true, atMs };
  }

  #arrivalMs(direction: Direction): number {
    const { scheduler, dice, conditions } = this.#net;
    const spikeMs = dice.chance(conditions.spikeRate) ? dice.within(0, conditions.spikeMs) : 0;
    const atMs = scheduler.nowMs + dice.within(0.05, conditions.latencyMs) + spikeMs;
    this.#lastAtMs[direction] = Math.max(atMs, this.#lastAtMs[direction] + 0.001);
    return this.#lastAtMs[direction];
  }
}

/** Everything between the processes. */
export class Network {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  conditions: NetworkConditions;
  tap: FrameTap = () => {};
  late: LateTap = () => {};
  acked: AckTap = () => {};
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #connections = new Set<Connection>();

  constructor(scheduler: Scheduler, dice: Dice, conditions: NetworkConditions) {
    this.scheduler = scheduler;
    this.dice = dice;
    this.conditions = conditions;
  }

  get connections(): readonly Connection[] {
    return [...this.#connections];
  }

  listen(host: string, endpoint: Endpoint): void {
    this.#endpoints.set(host, endpoint);
    endpoint.actor.onDeath(() => this.unlisten(host, endpoint));
  }

  unlisten(host: string, endpoint: Endpoint): void {
    if (this.#endpoints.get(host) === endpoint) this.#endpoints.delete(host);
  }

  forget(connection: Connection): void {
    this.#connections.delete(connection);
  }

  /** What `new WebSocket(url)` does in a worker's thread. */
  connect(actor: Actor, url: string, handshakeTimeoutMs: number): SimWebSocket {
    const { scheduler, dice } = this;
    const worker = new SimWebSocket(actor);
    const { host } = new URL(url);
    if (!actor.acts()) return worker;
    scheduler.after(handshakeTimeoutMs, actor, () => {
      if (worker.readyState === 0) worker.fail("Opening handshake has timed out");
    });
    const oneWayMs = dice.within(0.1, 2 * this.conditions.latencyMs);
    scheduler.after(oneWayMs, null, () => {
      const endpoint = this.#endpoints.get(host);
      if (!endpoint) return scheduler.after(oneWayMs, actor, () => worker.fail(`connect ECONNREFUSED ${host}`));
      return scheduler.after(0, endpoint.actor, () => this.#accept(worker, endpoint, oneWayMs));
    });
    return worker;
  }

  #accept(worker: SimWebSocket, endpoint: Endpoint, oneWayMs: number): void {
    if (!worker.actor.alive || worker.readyState !== 0) return;
    const gateway = new SimWebSocket(endpoint.actor);
    const connection = new Connection(this, worker, gateway);
    this.#connections.add(connection);
    connection.stall("down", oneWayMs);
    this.scheduler.after(oneWayMs, worker.actor, () => {
      if (worker.readyState === 0) worker.opened(connection.wire("up"));
      else connection.wire("up").abort();
    });
    worker.actor.onDeath(() => connection.wire("up").abort());
    gateway.opened(connection.wire("down"));
    endpoint.accept(gateway);
  }
}

/** What a line of the trace says of a packet. */
function explain(direction: Direction, packet: Packet): string {
  if (packet.type === "close") return packet.reason;
  const frame = direction === "up" ? decodeWorkerFrame(packet.bytes) : decodeGatewayFrame(packet.bytes);
  const { requestId, sequence, outcome, leaseId, newLeaseId, reason }: Readonly<Record<string, unknown>> = { ...frame };
  return `${frame.kind} ${JSON.stringify({ requestId, sequence, outcome, leaseId, newLeaseId, reason })}`;
}
