import { once } from "node:events";
import { createUlidFactory, systemClock, systemRandom } from "@holdfast/core";
import {
  decodeGatewayFrame,
  decodeStartResponse,
  EXTENSIONS,
  type ExecutorRequest,
  encodeJsonBytes,
  encodeStartRequest,
  encodeWorkerFrame,
  type GatewayFrame,
  PROTOBUF_CONTENT_TYPE,
  parseJsonBytes,
  type RunningStep,
  type SdkResponse,
  START_PATH,
  SUBPROTOCOL,
  type WorkerFrame,
} from "@holdfast/protocol";
import { WebSocket } from "ws";

export interface WorkerOptions {
  readonly url: string;
  readonly app?: string;
  readonly functions?: readonly WorkerFunction[];
  readonly appVersion?: string;
  readonly extensions?: readonly string[];
  readonly instanceId?: string;
  readonly maxWorkerConcurrency?: number;
  readonly queues?: readonly unknown[];
  readonly partitions?: readonly unknown[];
  /** For how long its process runs. */
  readonly uptimeMs?: number;
  /** Acknowledges requests by itself. Default true. */
  readonly acks?: boolean;
  /** Sent instead of WORKER_READY. */
  readonly pauses?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** Named in the start call and in the handshake. */
  readonly environment?: string;
}

export interface WorkerFunction {
  readonly id: string;
  readonly event: string;
  readonly retries?: number;
  /** Further keys of its configuration. */
  readonly config?: object;
}

export interface Payload {
  readonly version: number;
  readonly event: { readonly id: string; readonly name: string; readonly data: Record<string, unknown> };
  readonly events: readonly unknown[];
  readonly steps: Readonly<Record<string, unknown>>;
  readonly ctx: {
    readonly attempt: number;
    readonly max_attempts: number;
    readonly fn_id?: string;
    readonly qi_id: string;
    readonly stack: { readonly stack: readonly string[] };
    readonly disable_immediate_execution: boolean;
    readonly holdfast?: { readonly retries: Readonly<Record<string, { attempt: number; notBeforeMs: number }>> };
  };
}

export type Answer = Partial<SdkResponse> & { readonly value: unknown };

const newId = createUlidFactory(systemClock, systemRandom);

/** A peer that speaks frames and nothing else: what it is sent is kept, and waited for by a test. */
export class RawWorker {
  readonly frames: GatewayFrame[] = [];
  readonly socket: WebSocket;
  readonly instanceId: string;
  readonly #acks: boolean;
  #answer: ((request: ExecutorRequest, payload: Payload) => Answer | "later" | null) | null = null;
  #taken = 0;
  #wake: (() => void)[] = [];
  closed: { code: number; reason: string } | null = null;

  private constructor(socket: WebSocket, instanceId: string, acks: boolean) {
    this.socket = socket;
    this.instanceId = instanceId;
    this.#acks = acks;
    socket.on("message", (data) => {
      const frame = decodeGatewayFrame(data as Buffer);
      if (frame.kind === "UNKNOWN") throw new Error(`unknown frame ${frame.number}`);
      if (frame.kind === "GATEWAY_EXECUTOR_REQUEST" && this.#acks) this.ack(frame);
      if (frame.kind === "GATEWAY_EXECUTOR_REQUEST" && this.#answered(frame)) return;
      this.frames.push(frame);
      this.#notify();
    });
    socket.on("close", (code, reason) => {
      this.closed = { code, reason: reason.toString() };
      this.#notify();
    });
    socket.on("error", () => {});
  }

  /** Start call, upgrade and handshake up to CONNECTION_READY; then WORKER_READY. */
  static async connect(options: WorkerOptions): Promise<RawWorker> {
    const { worker, connectionId, token } = await RawWorker.open(options);
    await worker.frame("GATEWAY_HELLO");
    worker.send(helloFrame(options, connectionId, worker.instanceId, token));
    const isReady = (): boolean => worker.frames.some(({ kind }) => kind === "GATEWAY_CONNECTION_READY");
    while (!isReady() && !worker.closed) await worker.#news(1000);
    // The machine was so busy that the gateway did not wait for it: it comes again, as workers do.
    if (worker.closed?.reason === "connect_worker_hello_timeout") return RawWorker.connect(options);
    await worker.frame("GATEWAY_CONNECTION_READY");
    worker.send({ kind: options.pauses ? "WORKER_PAUSE" : "WORKER_READY" });
    return worker;
  }

  static async open(options: WorkerOptions): Promise<{ worker: RawWorker; connectionId: string; token: string }> {
    const response = await fetch(new URL(START_PATH, options.url), {
      method: "POST",
      headers: {
        "Content-Type": PROTOBUF_CONTENT_TYPE,
        ...(options.environment === undefined ? {} : { "x-inngest-env": options.environment }),
        ...options.headers,
      },
      body: encodeStartRequest({ excludeGateways: [] }) as Uint8Array<ArrayBuffer>,
    });
    if (!response.ok) throw new Error(`start answered ${response.status}`);
    const start = decodeStartResponse(new Uint8Array(await response.arrayBuffer()));
    const socket = new WebSocket(start.gatewayEndpoint, SUBPROTOCOL, { perMessageDeflate: false });
    const worker = new RawWorker(socket, options.instanceId ?? newId(), options.acks ?? true);
    await once(socket, "open");
    return { worker, connectionId: start.connectionId, token: start.sessionToken };
  }

  send(frame: WorkerFrame): void {
    this.socket.send(encodeWorkerFrame(frame));
  }

  ack(request: ExecutorRequest): void {
    this.send({ ...request, kind: "WORKER_REQUEST_ACK" });
  }

  /** The next frame of this kind that was not taken yet. */
  async frame<Kind extends GatewayFrame["kind"]>(
    kind: Kind,
    matches: (frame: Extract<GatewayFrame, { kind: Kind }>) => boolean = () => true,
    limitMs = 100_000,
  ): Promise<Extract<GatewayFrame, { kind: Kind }>> {
    const deadline = Date.now() + limitMs;
    for (;;) {
      const index = this.frames.findIndex(
        (one) => one.kind === kind && matches(one as Extract<GatewayFrame, { kind: Kind }>),
      );
      if (index >= 0) return this.frames.splice(index, 1)[0] as Extract<GatewayFrame, { kind: Kind }>;
      if (this.closed) throw new Error(`no ${kind}: the socket closed (${this.closed.code} ${this.closed.reason})`);
      if (Date.now() > deadline)
        throw new Error(`no ${kind} within ${limitMs} ms; have ${this.frames.map((one) => one.kind)}`);
      await this.#news(deadline - Date.now());
    }
  }

  async request(stepId?: string): Promise<{ request: ExecutorRequest; payload: Payload }> {
    const request = await this.frame(
      "GATEWAY_EXECUTOR_REQUEST",
      (one) => stepId === undefined || one.stepId === stepId,
    );
    this.#taken += 1;
    return { request, payload: parseJsonBytes(request.requestPayload, "payload") as Payload };
  }

  /** From now on requests are answered at once, by what `make` returns; "later" = by `make` itself, null = kept, as without. */
  answer(make: (request: ExecutorRequest, payload: Payload) => Answer | "later" | null): void {
    this.#answer = make;
  }

  #answered(request: ExecutorRequest): boolean {
    const answer = this.#answer?.(request, parseJsonBytes(request.requestPayload, "payload") as Payload);
    if (!answer) return false;
    this.#taken += 1;
    if (answer !== "later") this.reply(request, answer);
    return true;
  }

  get taken(): number {
    return this.#taken;
  }

  reply(request: ExecutorRequest, response: Partial<SdkResponse> & { readonly value: unknown }): void {
    this.send({ kind: "WORKER_REPLY", ...replyOf(request, response) });
  }

  checkpoint(request: ExecutorRequest, sequence: number, ops: unknown): void {
    const { requestId, runId, leaseId } = request;
    this.send({ kind: "WORKER_CHECKPOINT", requestId, runId, leaseId, sequence, ops: encodeJsonBytes(ops) });
  }

  async replied(request: ExecutorRequest, response: Partial<SdkResponse> & { readonly value: unknown }): Promise<void> {
    this.reply(request, response);
    await this.frame("WORKER_REPLY_ACK", (one) => one.requestId === request.requestId);
  }

  async extend(request: ExecutorRequest, runningSteps: readonly RunningStep[] = []): Promise<string | undefined> {
    this.send({ ...request, kind: "WORKER_REQUEST_EXTEND_LEASE", runningSteps });
    const answer = await this.frame("WORKER_REQUEST_EXTEND_LEASE_ACK", (one) => one.requestId === request.requestId);
    return answer.newLeaseId;
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.socket.close(1000, "WORKER_SHUTDOWN");
    await this.gone();
  }

  /** Cuts the TCP connection. */
  cut(): void {
    this.socket.terminate();
  }

  async gone(limitMs = 100_000): Promise<{ code: number; reason: string }> {
    const deadline = Date.now() + limitMs;
    while (!this.closed) {
      if (Date.now() > deadline) throw new Error("the socket is still open");
      await this.#news(deadline - Date.now());
    }
    return this.closed;
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  #news(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(1, Math.min(limitMs, 1000)));
      this.#wake.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

export function helloFrame(options: WorkerOptions, connectionId: string, instanceId: string, token = ""): WorkerFrame {
  const app = options.app ?? "shop";
  const functions = (options.functions ?? [{ id: "order", event: "shop/order" }]).map(
    ({ id, event, retries, config }) => ({
      id: `${app}-${id}`,
      name: id,
      triggers: event === "" ? [] : [{ event }],
      steps: {
        step: {
          id: "step",
          name: "step",
          runtime: { type: "ws", url: `wss://connect/?fnId=${app}-${id}&stepId=step` },
          ...(retries === undefined ? {} : { retries: { attempts: retries } }),
        },
      },
      ...config,
    }),
  );
  const { extensions = EXTENSIONS, queues, partitions, uptimeMs } = options;
  const capabilities = {
    trust_probe: "v1",
    connect: "v1",
    ...(extensions.length > 0 ? { holdfast: { v: 1, extensions, queues, partitions, uptimeMs } } : {}),
  };
  return {
    kind: "WORKER_CONNECT",
    connectionId,
    instanceId,
    sessionToken: token,
    syncToken: "",
    capabilities: encodeJsonBytes(capabilities),
    apps: [
      {
        appName: app,
        functions: encodeJsonBytes(functions),
        ...(options.appVersion === undefined ? {} : { appVersion: options.appVersion }),
      },
    ],
    workerManualReadinessAck: true,
    cpuCores: 2,
    memBytes: 1024,
    os: "linux",
    ...(options.environment === undefined ? {} : { environment: options.environment }),
    framework: "connect",
    sdkVersion: "v0.1.0",
    sdkLanguage: "typescript",
    startedAtMs: Date.now(),
    ...(options.maxWorkerConcurrency === undefined ? {} : { maxWorkerConcurrency: options.maxWorkerConcurrency }),
  };
}

export function replyOf(
  request: ExecutorRequest,
  response: Partial<SdkResponse> & { readonly value: unknown },
): SdkResponse {
  const { value, ...given } = response;
  const { requestId, accountId, envId, appId, systemTraceCtx, userTraceCtx, runId } = request;
  return {
    requestId,
    accountId,
    envId,
    appId,
    status: "NOT_COMPLETED",
    body: encodeJsonBytes(value),
    noRetry: false,
    sdkVersion: "holdfast:v0.1.0",
    requestVersion: 2,
    systemTraceCtx,
    userTraceCtx,
    runId,
    ...given,
  };
}
