/**
 * A TCP proxy between workers and a gateway that understands the protocol: tests watch frames, and make the network
 * slow, broken or half open.
 */
import { createServer, type Server, type Socket } from "node:net";
import { HoldfastError, systemClock, systemTimers } from "@holdfast/core";
import { defaultTimeoutMs } from "../default-timeout.ts";
import { register } from "../registry.ts";
import { ProxiedConnection } from "./connection.ts";
import type { AnyFrame, Direction, FramePredicate, TappedFrame, TappedRequest } from "./frames.ts";
import type { Address } from "./start-response.ts";
import { TapRecord } from "./tap-record.ts";

export interface ProxyOptions {
  /** The gateway: its address, or its base URL (`http://127.0.0.1:8288`). */
  readonly target: string | { readonly host?: string; readonly port: number };
  /** Port on 127.0.0.1. Default 0: any free one, kept over `stop()` and `start()`. */
  readonly port?: number;
  /**
   * Whether the WebSocket endpoint that the gateway names in start responses is replaced by the proxy's, so that the
   * worker's socket comes through here too. Default true.
   */
  readonly rewriteEndpoint?: boolean;
}

export interface DropOptions {
  /** Default: both. */
  readonly direction?: Direction;
  /** How many frames, then the rule ends. Default: all. */
  readonly count?: number;
}

export interface WaitForFrameOptions {
  /** Default 30 000, or what `HOLDFAST_TEST_TIMEOUT_MS` says. */
  readonly timeoutMs?: number;
  /** Only frames from this index of `frames` on. Default 0: also those seen already. */
  readonly since?: number;
  /** For the failure text: "a reply for run 7". */
  readonly what?: string;
}

/** A proxy between a worker and a gateway that shows what they say and can misbehave on request. */
export interface WireProxy {
  readonly host: string;
  readonly port: number;
  /** Base URL for the worker: `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** WebSocket messages, in the order in which they came to the proxy. */
  readonly frames: readonly TappedFrame[];
  readonly requests: readonly TappedRequest[];
  /** Open connections, and how many of them are WebSockets. */
  readonly connections: { readonly all: number; readonly webSockets: number };
  /** Frames of one kind, or those that match. */
  framesOf(kind: AnyFrame["kind"] | FramePredicate): TappedFrame[];
  /** The first frame of that kind or that matches; rejects with a list of what came instead. */
  waitForFrame(what: AnyFrame["kind"] | FramePredicate, options?: WaitForFrameOptions): Promise<TappedFrame>;
  /** Throws matching frames away from now on; the result ends that. */
  dropFrames(what: AnyFrame["kind"] | FramePredicate, options?: DropOptions): () => void;
  /** Passes matching frames on twice, one right after the other, from now on; the result ends that. */
  duplicateFrames(what: AnyFrame["kind"] | FramePredicate, options?: DropOptions): () => void;
  /** Everything takes this long from now on; order is kept. 0 ends it. */
  delay(delayMs: number, direction?: Direction): void;
  /** Resets every connection (or only WebSockets); new ones are welcome. */
  cut(which?: "all" | "web-sockets"): void;
  /** The connections that are open now pass nothing on any more and stay open; new ones work. */
  halfOpen(): void;
  /** Ends `halfOpen`: what was kept back is delivered. */
  heal(): void;
  /** Forgets what was seen. */
  clear(): void;
  /** Resets every connection and listens no more. */
  stop(): Promise<void>;
  /** Listens again, on the same port. */
  start(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const HOST = "127.0.0.1";

/**
 * Starts a transparent proxy: bytes pass unchanged (but for the endpoint in start responses), HTTP and WebSocket alike.
 * @throws HoldfastError `PORT_BUSY`, `OPTION_INVALID`
 */
export async function startProxy(options: ProxyOptions): Promise<WireProxy> {
  const proxy = new LocalProxy(options);
  await proxy.start();
  return proxy;
}

class LocalProxy implements WireProxy {
  readonly host = HOST;
  readonly #record = new TapRecord(systemClock, systemTimers);
  readonly #open = new Set<ProxiedConnection>();
  readonly #target: Address;
  readonly #rewrite: boolean;
  readonly #delays: { [direction in Direction]: number } = { "to-gateway": 0, "to-worker": 0 };
  #endpoint: Address | undefined;
  #port: number;
  #server: Server | undefined;
  #unregister: () => void = () => {};
  #lastId = 0;

  constructor(options: ProxyOptions) {
    this.#target = addressOf(options.target);
    this.#rewrite = options.rewriteEndpoint ?? true;
    this.#port = options.port ?? 0;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://${this.host}:${this.#port}`;
  }

  get frames(): readonly TappedFrame[] {
    return this.#record.frames;
  }

  get requests(): readonly TappedRequest[] {
    return this.#record.requests;
  }

  get connections(): { all: number; webSockets: number } {
    return { all: this.#open.size, webSockets: [...this.#open].filter((each) => each.isWebSocket).length };
  }

  framesOf(what: AnyFrame["kind"] | FramePredicate): TappedFrame[] {
    return this.#record.frames.filter(predicateOf(what));
  }

  waitForFrame(what: AnyFrame["kind"] | FramePredicate, options: WaitForFrameOptions = {}): Promise<TappedFrame> {
    const words = options.what ?? (typeof what === "string" ? what : "the one that was waited for");
    const { timeoutMs = defaultTimeoutMs(), since = 0 } = options;
    return this.#record.waitFor(predicateOf(what), words, timeoutMs, since);
  }

  dropFrames(what: AnyFrame["kind"] | FramePredicate, options: DropOptions = {}): () => void {
    return this.#record.addRule(predicateOf(what), "dropped", options);
  }

  duplicateFrames(what: AnyFrame["kind"] | FramePredicate, options: DropOptions = {}): () => void {
    return this.#record.addRule(predicateOf(what), "duplicated", options);
  }

  delay(delayMs: number, direction?: Direction): void {
    for (const each of ["to-gateway", "to-worker"] as const) {
      if ((direction ?? each) === each) this.#delays[each] = delayMs;
    }
  }

  cut(which: "all" | "web-sockets" = "all"): void {
    for (const each of [...this.#open]) if (which === "all" || each.isWebSocket) each.cut();
  }

  halfOpen(): void {
    for (const each of this.#open) each.hold();
  }

  heal(): void {
    for (const each of this.#open) each.release();
  }

  clear(): void {
    this.#record.clear();
  }

  async start(): Promise<void> {
    if (this.#server) return;
    const server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
    await listen(server, this.#port);
    this.#server = server;
    this.#port = (server.address() as { port: number }).port;
    this.#unregister = register("proxy", () => `proxy on port ${this.#port}`);
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.cut();
    await closed;
    this.#unregister();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** A gateway may name the address at which it was asked, and that was ours. */
  #isOwn({ host, port }: Address): boolean {
    return port === this.#port && (host === this.host || host === "localhost");
  }

  #accept(client: Socket): void {
    const connection: ProxiedConnection = new ProxiedConnection({
      id: ++this.#lastId,
      client,
      record: this.#record,
      clock: systemClock,
      timers: systemTimers,
      delayMs: (direction) => this.#delays[direction],
      route: (upgrade) => (upgrade ? (this.#endpoint ?? this.#target) : this.#target),
      rewriteTo: () => (this.#rewrite ? { host: this.host, port: this.#port } : undefined),
      onEndpoint: (endpoint) => {
        this.#endpoint = this.#isOwn(endpoint) ? undefined : endpoint;
      },
      onClosed: () => this.#open.delete(connection),
    });
    this.#open.add(connection);
  }
}

const predicateOf = (what: AnyFrame["kind"] | FramePredicate): FramePredicate =>
  typeof what === "string" ? ({ frame }) => frame?.kind === what : what;

function addressOf(target: ProxyOptions["target"]): Address {
  if (typeof target !== "string") return { host: target.host ?? HOST, port: target.port };
  const url = URL.canParse(target) ? new URL(target) : undefined;
  if (!url || !/^(http|ws):$/.test(url.protocol)) {
    throw new HoldfastError("OPTION_INVALID", `target: "${target}" is not an http:// or ws:// URL.`);
  }
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || 80) };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) =>
      reject(
        cause.code === "EADDRINUSE"
          ? new HoldfastError(
              "PORT_BUSY",
              `Port ${port} on ${HOST}, wanted for the proxy, is in use by another program.`,
            )
          : cause,
      ),
    );
    server.listen({ host: HOST, port }, resolve);
  });
}
