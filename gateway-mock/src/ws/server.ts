/** Accepts WebSocket upgrades: who may, how many, how large their frames. Each socket becomes a `Session`. */
import { type IncomingHttpHeaders, type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { CONNECT_PATH, SUBPROTOCOL, WIRE_LIMITS } from "@holdfast/protocol";
import { WebSocketServer } from "ws";
import { type PendingLimits, PendingSockets } from "./pending-sockets.ts";
import type { Sessions } from "./sessions.ts";

export interface SocketServerOptions {
  readonly sessions: Sessions;
  readonly maxSockets: number;
  /** Sockets whose worker is not accepted yet. */
  readonly pending: PendingLimits;
  /** Why a caller may not even ask, judged by its headers. */
  readonly refusal: (headers: IncomingHttpHeaders) => UpgradeRefusal | undefined;
}

/** How an upgrade is refused. */
export interface UpgradeRefusal {
  readonly status: number;
  readonly message: string;
}

const CROWDED: UpgradeRefusal = { status: 503, message: "There are too many connections." };

/** Workers send a message in one piece, or a few: of thousands of tiny ones each would cost more than its bytes. */
const MAX_FRAGMENTS = 1024;
const MAX_PIECES = 64 * 1024;
const CLOSE_TIMEOUT_MS = 5_000;

/** Takes upgrades of any number of HTTP servers. */
export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #server: WebSocketServer;
  readonly #pending: PendingSockets;

  constructor(options: SocketServerOptions) {
    this.#options = options;
    this.#pending = new PendingSockets(options.pending);
    const limits = {
      maxPayload: WIRE_LIMITS.maxFrameBytes,
      maxFragments: MAX_FRAGMENTS,
      maxBufferedChunks: MAX_PIECES,
      closeTimeout: CLOSE_TIMEOUT_MS,
    };
    this.#server = new WebSocketServer({
      ...limits,
      noServer: true,
      perMessageDeflate: false,
      clientTracking: false,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
  }

  pending(): ReturnType<PendingSockets["status"]> {
    return this.#pending.status();
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
    if (refusal) return refuse(socket, refusal);
    const pending = this.#pending.admit(socket);
    if (!pending) return refuse(socket, CROWDED);
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const session = this.#options.sessions.accept(webSocket, socket, () => pending.release());
      pending.onEvicted = (why) => {
        session.evict(why);
        // Its last words, then the end: whatever else it sends is not read.
        socket.end(() => socket.destroy());
      };
    });
  }

  #refusal(request: IncomingMessage): UpgradeRefusal | undefined {
    const path = (request.url ?? "").split("?")[0];
    if (path !== CONNECT_PATH) return { status: 404, message: `WebSockets are at ${CONNECT_PATH}.` };
    const refusal = this.#options.refusal(request.headers);
    if (refusal) return refusal;
    const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
    if (!offered.includes(SUBPROTOCOL)) return { status: 400, message: `The subprotocol ${SUBPROTOCOL} is required.` };
    if (this.#options.sessions.size >= this.#options.maxSockets) return CROWDED;
    return undefined;
  }
}

function refuse(socket: Duplex, { status, message }: UpgradeRefusal): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: text/plain`;
  socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(message)}\r\n\r\n${message}`);
}
