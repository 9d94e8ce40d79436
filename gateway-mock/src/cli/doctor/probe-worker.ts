/**
 * A worker of `doctor`'s own, over a real WebSocket: it registers one function, answers one request and leaves. It
 * speaks the base protocol, so that it works at any gateway.
 */
import { systemTimers, withTimeout } from "@holdfast/core";
import {
  decodeGatewayFrame,
  decodeStartResponse,
  type ExecutorRequest,
  encodeJsonBytes,
  encodeStartRequest,
  encodeWorkerFrame,
  type GatewayFrame,
  PROTOBUF_CONTENT_TYPE,
  START_PATH,
  SUBPROTOCOL,
  type WorkerFrame,
} from "@holdfast/protocol";
import { WebSocket } from "ws";
import { PROBE_APP as APP, PROBE_FUNCTION as FUNCTION, PROBE_EVENT } from "../../probe.ts";
import { VERSION } from "../../version.ts";

const FRAME_MS = 10_000;

export interface ProbeOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly environment: string | undefined;
  readonly instanceId: string;
}

export interface ProbeWorker {
  /** Answers every request with `"ok"`; resolves once the answer to one is acknowledged as stored. */
  answered(): Promise<void>;
  close(): void;
}

/** The gateway was reached, and has not taken the worker in time: before it does, it writes to its database. */
export class NotRecorded extends Error {}

export async function connectProbe(options: ProbeOptions): Promise<ProbeWorker> {
  const { connectionId, sessionToken, gatewayEndpoint } = await startCall(options);
  const socket = new WebSocket(gatewayEndpoint, SUBPROTOCOL, { perMessageDeflate: false, handshakeTimeout: FRAME_MS });
  const frames = new Frames(socket, gatewayEndpoint);
  const send = (frame: WorkerFrame): void => socket.send(encodeWorkerFrame(frame));
  try {
    await frames.next("GATEWAY_HELLO");
    send(hello(options, connectionId, sessionToken));
    await frames.next("GATEWAY_CONNECTION_READY", (message) => new NotRecorded(message));
    send({ kind: "WORKER_READY" });
  } catch (error) {
    socket.terminate();
    throw error;
  }
  frames.onRequest((request) => {
    send({ ...request, kind: "WORKER_REQUEST_ACK" });
    send({ kind: "WORKER_REPLY", ...replyTo(request) });
  });
  return {
    answered: async () => void (await frames.next("WORKER_REPLY_ACK")),
    close: () => socket.close(1000, "WORKER_SHUTDOWN"),
  };
}

async function startCall({ url, headers }: ProbeOptions): Promise<ReturnType<typeof decodeStartResponse>> {
  const response = await fetch(`${url}${START_PATH}`, {
    method: "POST",
    headers: { ...headers, "Content-Type": PROTOBUF_CONTENT_TYPE },
    body: new Uint8Array(encodeStartRequest({ excludeGateways: [] })),
    signal: AbortSignal.timeout(FRAME_MS),
  });
  if (!response.ok) throw new Error(`the start call was answered with ${response.status}`);
  return decodeStartResponse(new Uint8Array(await response.arrayBuffer()));
}

function hello({ environment, instanceId }: ProbeOptions, connectionId: string, sessionToken: string): WorkerFrame {
  const step = {
    id: "step",
    name: "step",
    runtime: { type: "ws", url: `wss://connect/?fnId=${FUNCTION}&stepId=step` },
  };
  const functions = [{ id: FUNCTION, name: "probe", triggers: [{ event: PROBE_EVENT }], steps: { step } }];
  return {
    kind: "WORKER_CONNECT",
    connectionId,
    instanceId,
    sessionToken,
    syncToken: "",
    capabilities: encodeJsonBytes({ trust_probe: "v1", connect: "v1" }),
    apps: [{ appName: APP, functions: encodeJsonBytes(functions) }],
    workerManualReadinessAck: true,
    cpuCores: 1,
    memBytes: 1,
    os: process.platform,
    ...(environment === undefined ? {} : { environment }),
    framework: "connect",
    sdkVersion: `v${VERSION}`,
    sdkLanguage: "typescript",
    startedAtMs: Date.now(),
  };
}

function replyTo(request: ExecutorRequest): Omit<Extract<WorkerFrame, { kind: "WORKER_REPLY" }>, "kind"> {
  const { requestId, accountId, envId, appId, systemTraceCtx, userTraceCtx, runId } = request;
  return {
    requestId,
    accountId,
    envId,
    appId,
    status: "DONE",
    body: encodeJsonBytes("ok"),
    noRetry: false,
    sdkVersion: `holdfast:v${VERSION}`,
    requestVersion: 2,
    systemTraceCtx,
    userTraceCtx,
    runId,
  };
}

/** Frames as they come, for those that wait for one. */
class Frames {
  readonly #socket: WebSocket;
  readonly #frames: GatewayFrame[] = [];
  readonly #waiting = new Set<() => void>();
  #answer: ((request: ExecutorRequest) => void) | null = null;
  #closed: string | null = null;

  constructor(socket: WebSocket, endpoint: string) {
    this.#socket = socket;
    socket.on("message", (data: Buffer) => {
      const frame = decodeGatewayFrame(data);
      // Of a newer gateway: nothing that a probe waits for.
      if (frame.kind !== "UNKNOWN") this.#take(frame);
    });
    socket.on("error", (error) => this.#end(`no WebSocket at ${endpoint}: ${error.message}`));
    socket.on("close", (code, reason) => this.#end(`the WebSocket was closed (${code} ${reason})`));
  }

  onRequest(answer: (request: ExecutorRequest) => void): void {
    this.#answer = answer;
    for (const frame of this.#frames.splice(0)) this.#take(frame);
  }

  async next(kind: GatewayFrame["kind"], made = (message: string): Error => new Error(message)): Promise<void> {
    const late = (): Error => made(`no ${kind} came within ${FRAME_MS / 1_000} s`);
    await withTimeout(systemTimers, this.#arrival(kind), FRAME_MS, late);
  }

  async #arrival(kind: GatewayFrame["kind"]): Promise<void> {
    for (;;) {
      const index = this.#frames.findIndex((frame) => frame.kind === kind);
      if (index >= 0) return void this.#frames.splice(index, 1);
      if (this.#closed !== null) throw new Error(this.#closed);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #take(frame: GatewayFrame): void {
    if (frame.kind === "GATEWAY_EXECUTOR_REQUEST" && this.#answer) this.#answer(frame);
    else this.#frames.push(frame);
    // A refusal comes as a frame, and the socket is closed with it.
    if (frame.kind === "SYNC_FAILED") this.#end(`the gateway refused the worker: ${frame.message}`);
    this.#wake();
  }

  #end(why: string): void {
    this.#closed ??= why;
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.close();
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
