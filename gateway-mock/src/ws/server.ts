import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { CONNECT_PATH, SUBPROTOCOL, WIRE_LIMITS } from "@holdfast/protocol";
import { WebSocketServer } from "ws";
import { Session, type SessionParts } from "./session.ts";

export interface SocketServerOptions extends SessionParts {
  readonly maxSockets: number;
  /** Origins of browsers that may connect; agents send none. */
  readonly allowedOrigins: readonly string[];
}

/** Takes upgrades of any number of HTTP servers. */
export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #server: WebSocketServer;
  readonly #sessions = new Set<Session>();
  #draining = false;
  #onEmpty: (() => void) | null = null;

  constructor(options: SocketServerOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: WIRE_LIMITS.maxFrameBytes,
      perMessageDeflate: false,
      clientTracking: false,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
  }

  get size(): number {
    return this.#sessions.size;
  }

  listenOn(server: Server): void {
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
  }

  /** Tells every agent to go elsewhere. Resolves when all sockets are closed, or after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    for (const session of this.#sessions) session.drain();
    if (this.#sessions.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#options.timers.set(timeoutMs, resolve);
      this.#onEmpty = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  close(): void {
    this.#draining = true;
    for (const session of this.#sessions) session.terminate();
    this.#server.close();
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    const refusal = this.#refusal(request);
    if (refusal) {
      socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const session = new Session(webSocket, socket, this.#options);
      this.#sessions.add(session);
      webSocket.on("close", () => {
        this.#sessions.delete(session);
        if (this.#sessions.size === 0) this.#onEmpty?.();
      });
      if (this.#draining) session.drain();
    });
  }

  #refusal(request: IncomingMessage): string | undefined {
    const path = (request.url ?? "").split("?")[0];
    if (path !== CONNECT_PATH) return "404 Not Found";
    const { origin } = request.headers;
    if (origin !== undefined && !this.#options.allowedOrigins.includes(origin)) return "403 Forbidden";
    const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
    if (!offered.includes(SUBPROTOCOL)) return "400 Bad Request";
    if (this.#sessions.size >= this.#options.maxSockets) return "503 Service Unavailable";
    return undefined;
  }
}
