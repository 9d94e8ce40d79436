/** Watches one app process: what its threads say to each other and to gateways, and whether they may. */
import { decodeGatewayFrame, decodeWorkerFrame, frameKind } from "../../../packages/protocol/src/index.ts";
import type { DebugState } from "../../../packages/sdk/src/connection/shared/debug-state.ts";
import type { AnyMessage } from "../../../packages/sdk/src/connection/shared/messages.ts";
import { GATEWAY_TIMES } from "./gateway.ts";
import {
  type Connection,
  GATEWAY_EXECUTOR_REQUEST,
  WORKER_PAUSE,
  WORKER_READY,
  WORKER_REQUEST_ACK,
} from "./network.ts";
import type { Oracle } from "./oracle.ts";
import { OutboxWatch } from "./outbox-watch.ts";
import type { Takes } from "./queues.ts";
import type { Actor } from "./scheduler.ts";

export interface ProcessLimits {
  readonly maxWorkerConcurrency: number;
  readonly outboxCount: number;
  readonly extensions: readonly string[];
  readonly takes: Pick<Takes, "partitions">;
}

/** What one app process and its threads say to each other and to gateways, and whether they may. */
export class ProcessWatch {
  readonly #oracle: Oracle;
  readonly #name: string;
  readonly #limits: ProcessLimits;
  /** Requests that main has, or that were posted to it. */
  readonly #posted = new Set<string>();
  readonly #open = { requests: new Set<string>(), checkpoints: new Set<string>() };
  readonly #outbox: OutboxWatch;
  /** Threads that know of the shutdown. */
  readonly #closing = new Set<Actor>();
  readonly #beats = new WeakMap<Connection, { readonly atMs: number; readonly frozenMs: number }>();
  /** Connections on which the thread has announced itself. */
  readonly #announced = new Map<Actor, Connection>();
  /** Leases that a gateway refused to extend. */
  readonly #refused = new Set<string>();
  /** Those that a thread took over from pool threads: they may have replied, and tell the thread so after that. */
  #adoptedIsolated: ReadonlySet<string> = new Set();
  /** Work that was given up at the end of a drain and is to be handed back. */
  readonly #toHandBack = new Map<string, Actor>();

  constructor(oracle: Oracle, name: string, limits: ProcessLimits) {
    this.#oracle = oracle;
    this.#name = name;
    this.#limits = limits;
    this.#outbox = new OutboxWatch(limits.outboxCount);
  }

  /** The thread hands a message to the port. */
  posted(thread: Actor, message: AnyMessage): void {
    if (message.type === "EXECUTION_REQUEST" || message.type === "ISOLATED_REQUEST")
      this.#posted.add(message.requestId);
    if (!this.#outbox.posted(message))
      this.#oracle.fail("S14", `${this.#name} takes on work while ${this.#outbox.count} reports wait.`);
    if (message.type !== "LEASE_LOST" || !this.#closing.has(thread) || this.#refused.has(message.requestId)) return;
    const connection = this.#announced.get(thread);
    if (connection?.worker.readyState === 1) this.#toHandBack.set(message.requestId, thread);
  }

  /** Requests that were given up at the end of the drain, and not handed back although a connection was there. */
  get notHandedBack(): readonly string[] {
    return [...this.#toHandBack.keys()];
  }

  /** What a thread was about to do when it was killed no one does. */
  killed(thread: Actor): void {
    for (const [requestId, owner] of this.#toHandBack) if (owner === thread) this.#toHandBack.delete(requestId);
  }

  /** Main hands a message to its thread. */
  sent(message: AnyMessage): void {
    switch (message.type) {
      case "EXECUTION_RESPONSE":
      case "EXECUTION_ERROR":
        this.#open.requests.delete(message.requestId);
        return;
      case "CHECKPOINT":
        this.#open.checkpoints.add(`${message.requestId} ${message.sequence}`);
        return;
      case "EXECUTION_DROPPED":
        return this.#forget(message.requestId);
      case "INIT": {
        // What ended while there was no thread is told to none: a new one knows only what it is given.
        const adopted = new Set(message.adopted.map(({ identity }) => identity.requestId));
        const isolated = message.adopted.filter((one) => one.isolated !== undefined);
        this.#adoptedIsolated = new Set(isolated.map(({ identity }) => identity.requestId));
        for (const requestId of [...this.#open.requests]) if (!adopted.has(requestId)) this.#forget(requestId);
        return;
      }
      default:
        return;
    }
  }

  /** A message arrives. */
  arrived(thread: Actor, message: AnyMessage): void {
    this.#outbox.arrived(message);
    switch (message.type) {
      case "CLOSE":
        this.#closing.add(thread);
        return;
      case "EXECUTION_REQUEST":
      case "ISOLATED_REQUEST":
        this.#open.requests.add(message.requestId);
        return;
      case "ISOLATED_ENDED":
        return this.#forget(message.requestId);
      case "CHECKPOINT_ACKED":
        this.#open.checkpoints.delete(`${message.requestId} ${message.sequence}`);
        return;
      case "LEASE_LOST":
        this.#forget(message.requestId);
        return;
      case "DEBUG_STATE":
        return this.#checkBounds(message.debug);
      case "REPLY_ACKED":
        this.#forget(message.requestId);
        this.#oracle.replyAcknowledged(message.requestId);
        return;
      default:
        return;
    }
  }

  /** A thread sends a frame. */
  sends(thread: Actor, bytes: Uint8Array, connection: Connection): void {
    switch (frameKind(bytes)) {
      case WORKER_READY:
        if (this.#closing.has(thread)) this.#oracle.fail("S11", `${this.#name}, thread ${thread.name}.`);
        this.#announced.set(thread, connection);
        if (!this.#mayResume && connection.announced?.wasPaused) this.#oracle.fail("S39", `${this.#name} resumes.`);
        return;
      case WORKER_PAUSE:
        this.#announced.set(thread, connection);
        if (!this.#mayResume && !this.#closing.has(thread)) this.#oracle.fail("S39", `${this.#name} pauses.`);
        return;
      case WORKER_HEARTBEAT:
        return this.#beat(thread, connection);
      case WORKER_REQUEST_EXTEND_LEASE: {
        const frame = decodeWorkerFrame(bytes);
        if (frame.kind === "WORKER_REQUEST_EXTEND_LEASE") this.#outbox.asks(frame.requestId);
        return;
      }
      case WORKER_REQUEST_NACK: {
        const frame = decodeWorkerFrame(bytes);
        if (frame.kind === "WORKER_REQUEST_NACK") this.#toHandBack.delete(frame.requestId);
        return;
      }
      case WORKER_REQUEST_ACK: {
        const frame = decodeWorkerFrame(bytes);
        if (frame.kind !== "WORKER_REQUEST_ACK" || this.#posted.has(frame.requestId)) return;
        this.#oracle.fail("S19", `${this.#name} acknowledged ${frame.requestId}, which main does not know.`);
        return;
      }
      default:
        return;
    }
  }

  /** A gateway sends a frame to one of the threads. */
  isSent(bytes: Uint8Array, connection: Connection): void {
    if (frameKind(bytes) === GATEWAY_EXECUTOR_REQUEST) this.#checkAnnounced(connection);
    if (frameKind(bytes) !== WORKER_REQUEST_EXTEND_LEASE_ACK) return;
    const frame = decodeGatewayFrame(bytes);
    if (frame.kind !== "WORKER_REQUEST_EXTEND_LEASE_ACK" || frame.newLeaseId !== undefined) return;
    this.#refused.add(frame.requestId);
  }

  #checkAnnounced({ announced, gateway }: Connection): void {
    const isReady = announced !== null && (this.#mayResume ? announced.as === "ready" : !announced.wasPaused);
    // Work for which a place was taken before the pause may be on its way from the database.
    const untilMs = (announced?.atMs ?? 0) + UNDER_WAY_MS;
    if (!isReady && (announced === null || gateway.actor.scheduler.nowMs > untilMs))
      this.#oracle.fail("S40", `${this.#name}: ${announced?.as ?? "nothing"} was said.`);
  }

  /** Whether WORKER_READY takes WORKER_PAUSE back. */
  get #mayResume(): boolean {
    return this.#limits.extensions.includes("stall");
  }

  #beat(thread: Actor, connection: Connection): void {
    const { nowMs } = thread.scheduler;
    const before = this.#beats.get(connection);
    this.#beats.set(connection, { atMs: nowMs, frozenMs: thread.frozenMs });
    if (!before) return;
    const gapMs = nowMs - before.atMs - (thread.frozenMs - before.frozenMs);
    if (gapMs > BEAT_MS + BEAT_SLACK_MS)
      this.#oracle.fail("S18", `${thread.name}: ${Math.round(gapMs)} ms between two.`);
  }

  #checkBounds({ outbox, inFlight, inFlightCount }: DebugState): void {
    const { maxWorkerConcurrency, outboxCount, extensions, takes } = this.#limits;
    const running = inFlight
      .filter(({ state, requestId }) => state === "running" && !this.#adoptedIsolated.has(requestId))
      .map(({ functionSlug }) => functionSlug);
    const partitions = extensions.includes("partitions") ? takes.partitions : [];
    const apart = new Set(partitions.flatMap(({ functions }) => functions));
    const main = running.filter((slug) => !apart.has(slug)).length;
    if (main > maxWorkerConcurrency) this.#oracle.fail("S14", `${this.#name} runs ${main} requests.`);
    for (const { functions, capacity } of partitions) {
      const count = running.filter((slug) => functions.includes(slug)).length;
      if (count > capacity) this.#oracle.fail("S14", `${this.#name} runs ${count} requests of ${functions.join()}.`);
    }
    const capacity = partitions.reduce((sum, one) => sum + one.capacity, maxWorkerConcurrency);
    // What runs when the outbox is full may still end, each with a checkpoint and a reply.
    const most = outboxCount + 2 * capacity;
    if (outbox.count > most)
      this.#oracle.fail("S14", `${this.#name}: ${outbox.count} letters, ${inFlightCount} requests.`);
  }

  /** What is still waited for. */
  get unanswered(): readonly string[] {
    return [...this.#open.requests, ...this.#open.checkpoints];
  }

  #forget(requestId: string): void {
    this.#open.requests.delete(requestId);
    for (const key of this.#open.checkpoints) {
      if (key.startsWith(`${requestId} `)) this.#open.checkpoints.delete(key);
    }
  }
}

/** Numbers of kinds, as on the wire. */
const WORKER_HEARTBEAT = 9;
const WORKER_REQUEST_EXTEND_LEASE = 12;
const WORKER_REQUEST_EXTEND_LEASE_ACK = 13;
const WORKER_REQUEST_NACK = 102;

const BEAT_MS = GATEWAY_TIMES.heartbeatMs;
const UNDER_WAY_MS = 10_000;
/** Timers may be late. */
const BEAT_SLACK_MS = 50;
