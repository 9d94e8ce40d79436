import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { CONNECT_PATH, SUBPROTOCOL, WIRE_LIMITS } from "@holdfast/protocol";
import { WebSocketServer } from "ws";
import type { Sessions } from "./sessions.ts";

export interface SocketServerOptions {
  readonly sessions: Sessions;
  readonly maxSockets: number;
  /** Origins of browsers that may connect; agents send none. */
  readonly allowedOrigins: readonly string[];
}

/** Takes upgrades of any number of HTTP servers. */
export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #server: WebSocketServer;

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

  listenOn(server: Server): void {
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
  }

  close(): void {
    this.#options.sessions.close();
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
      this.#options.sessions.accept(webSocket, socket);
    });
  }

  #refusal(request: IncomingMessage): string | undefined {
    const path = (request.url ?? "").split("?")[0];
    if (path !== CONNECT_PATH) return "404 Not Found";
    const { origin } = request.headers;
    if (origin !== undefined && !this.#options.allowedOrigins.includes(origin)) return "403 Forbidden";
    const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
    if (!offered.includes(SUBPROTOCOL)) return "400 Bad Request";
    if (this.#options.sessions.size >= this.#options.maxSockets) return "503 Service Unavailable";
    return undefined;
  }
}
