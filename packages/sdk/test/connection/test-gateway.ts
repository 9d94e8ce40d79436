import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import {
  type CheckpointOutcome,
  CONNECT_PATH,
  decodeSdkResponse,
  decodeStartRequest,
  decodeWorkerFrame,
  type ExecutorRequest,
  type Extension,
  encodeFlushResponse,
  encodeGatewayFrame,
  encodeJsonBytes,
  encodeStartResponse,
  FLUSH_PATH,
  type GatewayFrame,
  type SdkResponse,
  START_PATH,
  SUBPROTOCOL,
  type UnknownFrame,
  type WorkerConnect,
  type WorkerFrame,
} from "@holdfast/protocol";
import { type WebSocket, WebSocketServer } from "ws";
import { until } from "./until.ts";

export type Received = WorkerFrame | UnknownFrame;
type FrameOf<Kind extends WorkerFrame["kind"]> = Extract<WorkerFrame, { kind: Kind }>;

/** One connection, as the gateway sees it. */
export interface GatewayPeer {
  readonly number: number;
  readonly socket: WebSocket;
  readonly frames: Received[];
  readonly connect: WorkerConnect | undefined;
  readonly closed: { readonly code: number; readonly reason: string } | undefined;
  of<Kind extends WorkerFrame["kind"]>(kind: Kind): FrameOf<Kind>[];
  send(frame: GatewayFrame): void;
}

/** How the gateway behaves; may be changed at any time. */
export interface GatewayScript {
  extensions: readonly Extension[];
  heartbeat: string;
  lease: string;
  answerHeartbeats: boolean;
  ackReplies: boolean;
  ackCheckpoints: CheckpointOutcome | null;
  extendLeases: boolean;
  /** Status of start and flush calls by the key that came with them. */
  startStatus: (authorization: string | undefined) => number;
  flushStatus: (authorization: string | undefined) => number;
  startBody: Uint8Array | undefined;
  /** Instead of HELLO. */
  first: (peer: GatewayPeer) => void;
  /** What answers WORKER_CONNECT. */
  welcome: (peer: GatewayPeer) => void;
  holdStart: boolean;
  /** Answers a start call itself, in whatever way; the count is that of this call, from 1. */
  answerStart: ((response: ServerResponse, count: number) => void) | undefined;
  /** Answers a flush call itself; the request id is that of the reply that came. */
  answerFlush: ((response: ServerResponse, requestId: string, count: number) => void) | undefined;
  group: string;
  /** Sees every frame first; true = it is answered, or is not to be. */
  intercept: (peer: GatewayPeer, frame: Received) => boolean;
}

export interface TestGateway extends AsyncDisposable {
  readonly url: string;
  readonly script: GatewayScript;
  readonly peers: GatewayPeer[];
  readonly flushed: SdkResponse[];
  readonly starts: { readonly authorization: string | undefined; readonly excludeGateways: readonly string[] }[];
  readonly openSockets: number;
  /** The newest connection that is ready or paused, once there are `count`. */
  peer(count?: number): Promise<GatewayPeer>;
  dispatch(peer: GatewayPeer, request?: Partial<ExecutorRequest>): ExecutorRequest;
  close(): Promise<void>;
}

let requestCounter = 0;

export async function startTestGateway(changes: Partial<GatewayScript> = {}): Promise<TestGateway> {
  const peers: GatewayPeer[] = [];
  const flushed: SdkResponse[] = [];
  const starts: TestGateway["starts"] = [];
  const sockets = new Set<Socket>();
  let leases = 0;
  let flushes = 0;
  const script: GatewayScript = {
    extensions: ["checkpoint", "nack", "cancel"],
    // Where heartbeats are not what is tested, the connection must last, however long the machine stands still.
    heartbeat: "10s",
    lease: "200ms",
    answerHeartbeats: true,
    ackReplies: true,
    ackCheckpoints: "stored",
    extendLeases: true,
    startStatus: () => 200,
    flushStatus: () => 200,
    startBody: undefined,
    first: (peer) => peer.send({ kind: "GATEWAY_HELLO" }),
    welcome: (peer) => peer.send(readyFrame(script)),
    holdStart: false,
    answerStart: undefined,
    answerFlush: undefined,
    group: "test",
    intercept: () => false,
    ...changes,
  };

  const http: Server = createServer((request, response) => {
    void readBody(request).then((body) => answer(request, body, response));
  });
  http.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });

  const answer = (request: IncomingMessage, body: Buffer, response: ServerResponse): void => {
    const { authorization } = request.headers;
    if (request.url === START_PATH) {
      starts.push({ authorization, excludeGateways: decodeStartRequest(body).excludeGateways });
      if (script.holdStart) return;
      if (script.answerStart) return script.answerStart(response, starts.length);
      const status = script.startStatus(authorization);
      const gatewayEndpoint = `ws://127.0.0.1:${port()}${CONNECT_PATH}`;
      const connectionId = `01TESTCONNECTION${String(starts.length).padStart(10, "0")}`;
      const start = { connectionId, gatewayEndpoint, gatewayGroup: script.group, sessionToken: "s", syncToken: "y" };
      response
        .writeHead(status)
        .end(status === 200 ? (script.startBody ?? encodeStartResponse(start)) : '{"error":"Not so."}');
    } else if (request.url === FLUSH_PATH) {
      flushes += 1;
      const reply = decodeSdkResponse(body);
      if (script.answerFlush) return script.answerFlush(response, reply.requestId, flushes);
      const status = script.flushStatus(authorization);
      if (status === 200) flushed.push(reply);
      response.writeHead(status).end(status === 200 ? encodeFlushResponse({ requestId: reply.requestId }) : "no");
    } else {
      response.writeHead(404).end();
    }
  };

  const onFrame = (peer: GatewayPeer, frame: Received): void => {
    if (script.intercept(peer, frame)) return;
    switch (frame.kind) {
      case "WORKER_CONNECT":
        return script.welcome(peer);
      case "WORKER_HEARTBEAT":
        return script.answerHeartbeats ? peer.send({ kind: "GATEWAY_HEARTBEAT" }) : undefined;
      case "WORKER_REPLY":
        return script.ackReplies ? peer.send({ kind: "WORKER_REPLY_ACK", requestId: frame.requestId }) : undefined;
      case "WORKER_CHECKPOINT":
        if (script.ackCheckpoints === null) return;
        return peer.send({
          kind: "GATEWAY_CHECKPOINT_ACK",
          requestId: frame.requestId,
          sequence: frame.sequence,
          outcome: script.ackCheckpoints,
          message: "",
        });
      case "WORKER_REQUEST_EXTEND_LEASE": {
        leases += 1;
        const { requestId, accountId, envId, appId, functionSlug } = frame;
        const granted = script.extendLeases ? { newLeaseId: `lease-${leases}` } : {};
        return peer.send({
          kind: "WORKER_REQUEST_EXTEND_LEASE_ACK",
          requestId,
          accountId,
          envId,
          appId,
          functionSlug,
          ...granted,
        });
      }
      default:
        return;
    }
  };

  const server = new WebSocketServer({ server: http, path: CONNECT_PATH, handleProtocols: () => SUBPROTOCOL });
  server.on("connection", (socket) => {
    const frames: Received[] = [];
    let closed: GatewayPeer["closed"];
    const peer: GatewayPeer = {
      number: peers.length + 1,
      socket,
      frames,
      get connect() {
        return peer.of("WORKER_CONNECT")[0];
      },
      get closed() {
        return closed;
      },
      of: (kind) => frames.filter((frame): frame is FrameOf<typeof kind> => frame.kind === kind),
      send: (frame) => socket.send(encodeGatewayFrame(frame), { binary: true }),
    };
    peers.push(peer);
    socket.on("message", (data) => {
      const frame = decodeWorkerFrame(data as Buffer);
      frames.push(frame);
      onFrame(peer, frame);
    });
    socket.on("error", () => {});
    socket.on("close", (code, reason) => {
      closed = { code, reason: reason.toString() };
    });
    script.first(peer);
  });

  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const port = (): number => (http.address() as AddressInfo).port;

  const close = async (): Promise<void> => {
    for (const client of server.clients) client.terminate();
    for (const socket of sockets) socket.destroy();
    server.close();
    await new Promise((resolve) => http.close(resolve));
  };

  return {
    url: `http://127.0.0.1:${port()}/`,
    script,
    peers,
    flushed,
    starts,
    get openSockets() {
      return server.clients.size;
    },
    peer: (count = 1) =>
      until(() => {
        const ready = peers.filter((peer) => peer.of("WORKER_READY").length + peer.of("WORKER_PAUSE").length > 0);
        return ready.length >= count ? ready.at(-1) : undefined;
      }, `${count} connections`),
    dispatch: (peer, changes = {}) => {
      requestCounter += 1;
      const request: ExecutorRequest = {
        kind: "GATEWAY_EXECUTOR_REQUEST",
        requestId: `request-${requestCounter}`,
        accountId: "account",
        envId: "env",
        appId: "app-id",
        functionSlug: "app-fn",
        stepId: "step",
        systemTraceCtx: encodeJsonBytes({ trace: requestCounter }),
        userTraceCtx: encodeJsonBytes({}),
        runId: `run-${requestCounter}`,
        appName: "app",
        functionId: "function-id",
        requestPayload: encodeJsonBytes({ version: 2, number: requestCounter }),
        leaseId: `first-lease-${requestCounter}`,
        jobId: `job-${requestCounter}`,
        ...changes,
      };
      peer.send(request);
      return request;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

export function readyFrame(script: GatewayScript): GatewayFrame {
  return {
    kind: "GATEWAY_CONNECTION_READY",
    heartbeatInterval: script.heartbeat,
    extendLeaseInterval: script.lease,
    statusInterval: "0s",
    extensions: script.extensions,
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
