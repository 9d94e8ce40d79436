/**
 * The adversary `impostors`: a worker of another app that acts on requests that are not its own. Nothing that it
 * says may count.
 */
import { hashSigningKey } from "../../../gateway-mock/src/http/keys.ts";
import { ulidFromSeed } from "../../../packages/core/src/index.ts";
import {
  decodeGatewayFrame,
  decodeStartResponse,
  EXTENSIONS,
  type ExecutorRequest,
  encodeJsonBytes,
  encodeSdkResponse,
  encodeWorkerFrame,
  FLUSH_PATH,
  frameKind,
  START_PATH,
  type WorkerConnect,
  type WorkerFrame,
} from "../../../packages/protocol/src/index.ts";
import { FORGED_OP, frameOf, KINDS, replyTo } from "./forged-frames.ts";
import { type GatewayNode, SIGNING_KEY } from "./gateway.ts";
import { type Connection, type Direction, GATEWAY_EXECUTOR_REQUEST, type Network } from "./network.ts";
import type { Oracle } from "./oracle.ts";
import { createDice, type Dice } from "./random.ts";
import { Actor } from "./scheduler.ts";
import type { SimWebSocket } from "./web-socket.ts";

export interface ImpostorWorld {
  readonly network: Network;
  readonly oracle: Oracle;
  readonly liveGateways: readonly GatewayNode[];
  /** Nothing goes wrong any more. */
  readonly isCalm: boolean;
}

/** As whom it connects: another app, or an app of this name in another environment. */
const APPS = [
  { app: "strange", environment: undefined },
  { app: "sim", environment: "elsewhere" },
] as const;

/** Of the requests that it sees, and of the sessions; no more than this, so that long schedules are not made of it. */
const RATE = 0.5;
const MOST = 10;
const WITHIN_MS = 1_500;
const GATEWAY_CONNECTION_READY = 2;
const WORKER_CONNECT = 1;

interface Session {
  /** Null while a token for it is asked for. */
  socket: SimWebSocket | null;
  isReady: boolean;
  /** To be sent when it is. */
  readonly waiting: Uint8Array[];
}

/**
 * A worker of another app that has a key of its own, reads what everybody is sent, and acts on requests that are not its. Over its
 * sessions it knows everything about a request, even its lease; by HTTP, where a lease shows whose a report is, the lease only for
 * use in another environment. It also opens sessions with tokens that others have used.
 */
export class Impostor {
  readonly #world: ImpostorWorld;
  readonly #dice: Dice;
  readonly #actor: Actor;
  readonly #as: (typeof APPS)[number];
  readonly #sessions = new Map<string, Session>();
  /** How connections were asked for. */
  readonly #hellos = new WeakMap<Connection, Uint8Array>();
  #lastLease = "";
  #count = 0;

  constructor(world: ImpostorWorld, seed: number) {
    this.#world = world;
    this.#dice = createDice(seed);
    this.#actor = new Actor(world.network.scheduler, "stranger", this.#dice.fork());
    this.#as = this.#dice.pick(APPS);
  }

  /** A frame between others. */
  sees(direction: Direction, bytes: Uint8Array, connection: Connection): void {
    if (connection.worker.actor === this.#actor || !this.#actor.alive) return;
    if (direction === "up") {
      if (frameKind(bytes) === WORKER_CONNECT) this.#hellos.set(connection, bytes);
    } else if (frameKind(bytes) === GATEWAY_EXECUTOR_REQUEST) {
      const frame = decodeGatewayFrame(bytes);
      if (frame.kind === "GATEWAY_EXECUTOR_REQUEST") this.#meddle(frame);
    } else if (frameKind(bytes) === GATEWAY_CONNECTION_READY) {
      const hello = this.#hellos.get(connection);
      if (hello) this.#later((gateway) => this.#repeat(hello, gateway));
    }
  }

  end(): void {
    this.#actor.die();
  }

  #meddle(request: ExecutorRequest): void {
    const otherLease = this.#lastLease;
    this.#lastLease = request.leaseId;
    this.#later((gateway) => {
      const kind = this.#dice.pick(KINDS);
      const { scheduler } = this.#world.network;
      scheduler.trace.note(scheduler.nowMs, "stranger", kind, `${request.requestId} at ${gateway.name}`);
      const madeUp = ulidFromSeed(
        Math.floor(1_700_000_000_000 + scheduler.nowMs + this.#dice.within(0, 8_000)),
        Uint8Array.from({ length: 10 }, () => this.#dice.between(0, 255)),
        0,
      );
      switch (kind) {
        case "flush":
          return this.#flush(request, gateway);
        case "checkpoint by HTTP":
          return this.#checkpoint(request, gateway, this.#dice.pick(["", otherLease, madeUp]));
        default:
          // As one would who has it.
          if (this.#dice.chance(0.5)) this.#say(gateway, frameOf("acknowledge", request, ""));
          return this.#say(gateway, frameOf(kind, request, this.#dice.pick([request.leaseId, otherLease, madeUp, ""])));
      }
    });
  }

  #later(act: (gateway: GatewayNode) => void): void {
    const { network } = this.#world;
    if (this.#count >= MOST || !this.#dice.chance(RATE)) return;
    this.#count += 1;
    network.scheduler.after(this.#dice.within(0, WITHIN_MS), this.#actor, () => {
      const up = this.#world.liveGateways.filter(({ isUp }) => isUp);
      if (!this.#world.isCalm && up.length > 0) act(this.#dice.pick(up));
    });
  }

  #say(gateway: GatewayNode, frame: WorkerFrame): void {
    const bytes = encodeWorkerFrame(frame).slice();
    const session = this.#sessions.get(gateway.name);
    if (session?.isReady) session.socket?.send(bytes);
    else if (session) session.waiting.push(bytes);
    else this.#start(gateway, bytes);
  }

  /** A session of its own, as any worker with a key gets one. */
  #start(gateway: GatewayNode, first: Uint8Array): void {
    const { environment } = this.#as;
    const session: Session = { socket: null, isReady: false, waiting: [first] };
    this.#sessions.set(gateway.name, session);
    const gone = (): void => void this.#sessions.delete(gateway.name);
    this.#call(gateway, () => gateway.http(START_PATH, headersOf(environment), new Uint8Array(0))).then(
      ({ status, body }) => {
        if (status !== 200) return gone();
        const { connectionId, sessionToken } = decodeStartResponse(body);
        const socket = this.#connect(gateway, encodeWorkerFrame(this.#hello(connectionId, sessionToken)).slice());
        session.socket = socket;
        socket.on("message", (data: Buffer) => this.#hears(session, socket, data));
        socket.on("close", gone);
      },
      gone,
    );
  }

  #hears(session: Session, socket: SimWebSocket, data: Buffer): void {
    const { oracle } = this.#world;
    const frame = decodeGatewayFrame(data);
    if (frame.kind === "GATEWAY_CONNECTION_READY") {
      socket.send(encodeWorkerFrame({ kind: "WORKER_READY" }).slice());
      session.isReady = true;
      for (const bytes of session.waiting.splice(0)) socket.send(bytes);
    }
    if (frame.kind === "WORKER_REQUEST_EXTEND_LEASE_ACK" && frame.newLeaseId !== undefined)
      oracle.fail("S41", `It got a lease of ${frame.requestId}.`);
    if (frame.kind === "GATEWAY_CHECKPOINT_ACK" && frame.outcome === "stored")
      oracle.fail("S41", `It stored a checkpoint of ${frame.requestId}.`);
    if (frame.kind === "GATEWAY_EXECUTOR_REQUEST") oracle.fail("S41", `It was given ${frame.requestId}.`);
    // It is taken for the one who works on it.
    if (frame.kind === "GATEWAY_CANCEL") oracle.fail("S41", `It was told to stop ${frame.requestId}.`);
  }

  /** Says what someone said to open a session that is open by now. */
  #repeat(hello: Uint8Array, gateway: GatewayNode): void {
    const socket = this.#connect(gateway, hello);
    socket.on("message", (data: Buffer) => {
      if (frameKind(data) === GATEWAY_CONNECTION_READY)
        this.#world.oracle.fail("S42", `${gateway.name} took one again.`);
    });
  }

  #connect(gateway: GatewayNode, hello: Uint8Array): SimWebSocket {
    const socket = this.#world.network.connect(this.#actor, `ws://${gateway.name}/v0/connect`, 5_000);
    socket.on("message", (data: Buffer) => {
      if (decodeGatewayFrame(data).kind === "GATEWAY_HELLO") socket.send(hello);
    });
    socket.on("error", () => {});
    return socket;
  }

  #hello(connectionId: string, sessionToken: string): WorkerConnect {
    const { app, environment } = this.#as;
    const own = [{ id: `${app}-own`, name: "own", triggers: [{ event: "strange/own" }] }];
    return {
      kind: "WORKER_CONNECT",
      connectionId,
      instanceId: "stranger",
      sessionToken,
      syncToken: "",
      capabilities: encodeJsonBytes({
        connect: "v1",
        holdfast: { v: 1, extensions: [...EXTENSIONS] },
      }),
      apps: [{ appName: app, functions: encodeJsonBytes(own) }],
      workerManualReadinessAck: true,
      cpuCores: 1,
      memBytes: 1,
      os: "sim",
      ...(environment === undefined ? {} : { environment }),
      framework: "connect",
      sdkVersion: "stranger",
      sdkLanguage: "typescript",
      startedAtMs: 0,
    };
  }

  /** Under no app's id, or under one that is made up. */
  #flush(request: ExecutorRequest, gateway: GatewayNode): void {
    const appId = this.#dice.pick(["", "00000000-0000-8000-a000-000000000000"]);
    const body = encodeSdkResponse({ ...replyTo(request), appId }).slice();
    void this.#call(gateway, () => gateway.http(FLUSH_PATH, headersOf(undefined), body)).catch(() => {});
  }

  #checkpoint(request: ExecutorRequest, gateway: GatewayNode, lease: string): void {
    const { requestId, runId, leaseId } = request;
    const isElsewhere = this.#dice.chance(0.5);
    const item = `${requestId}~${isElsewhere ? leaseId : lease}`;
    const { httpReports: byHttp } = gateway.core.dispatcher;
    void this.#call(gateway, () => byHttp.checkpoint(item, runId, [FORGED_OP], isElsewhere ? "elsewhere" : "")).then(
      ({ outcome }) => {
        if (outcome === "stored") this.#world.oracle.fail("S41", `It stored a checkpoint of ${requestId} by HTTP.`);
      },
      () => {},
    );
  }

  /** In the gateway's own turn, and its answer in ours. */
  #call<T>(gateway: GatewayNode, act: () => Promise<T>): Promise<T> {
    const { scheduler, conditions } = this.#world.network;
    const delayMs = (): number => this.#dice.within(0.1, conditions.latencyMs);
    return new Promise((resolve, reject) => {
      scheduler.after(delayMs(), gateway.actor, () => {
        act().then(
          (value) => void scheduler.after(delayMs(), this.#actor, () => resolve(value)),
          (error: unknown) => void scheduler.after(delayMs(), this.#actor, () => reject(error)),
        );
      });
    });
  }
}

const headersOf = (environment: string | undefined): Readonly<Record<string, string>> => ({
  authorization: `Bearer ${hashSigningKey(SIGNING_KEY)}`,
  ...(environment === undefined ? {} : { "x-inngest-env": environment }),
});
