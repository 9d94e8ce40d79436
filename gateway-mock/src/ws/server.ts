import { type IncomingHttpHeaders, type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { CONNECT_PATH, SUBPROTOCOL, WIRE_LIMITS } from "@holdfast/protocol";
import { WebSocketServer } from "ws";
import type { Sessions } from "./sessions.ts";

export interface SocketServerOptions {
  readonly sessions: Sessions;
  readonly maxSockets: number;
  /** Why a caller may not even ask, judged by its headers. */
  readonly refusal: (headers: IncomingHttpHeaders) => UpgradeRefusal | undefined;
}

/** How an upgrade is refused. */
export interface UpgradeRefusal {
  readonly status: number;
  readonly message: string;
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
      const { status, message } = refusal;
      const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: text/plain`;
      socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(message)}\r\n\r\n${message}`);
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      this.#options.sessions.accept(webSocket, socket);
    });
  }

  #refusal(request: IncomingMessage): UpgradeRefusal | undefined {
    const path = (request.url ?? "").split("?")[0];
    if (path !== CONNECT_PATH) return { status: 404, message: `WebSockets are at ${CONNECT_PATH}.` };
    const refusal = this.#options.refusal(request.headers);
    if (refusal) return refusal;
    const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
    if (!offered.includes(SUBPROTOCOL)) return { status: 400, message: `The subprotocol ${SUBPROTOCOL} is needed.` };
    if (this.#options.sessions.size >= this.#options.maxSockets)
      return { status: 503, message: "There are too many connections." };
    return undefined;
  }
}
