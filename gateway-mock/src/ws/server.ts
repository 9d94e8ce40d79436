/**
 * Accepts WebSocket upgrades: who may, how many, how large their frames. Each socket becomes a `Session`. The protocol's
 * implementation is loaded with the first one (docs/decisions/0046).
 */
import { type IncomingHttpHeaders, type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { CONNECT_PATH, SUBPROTOCOL } from "@holdfast/protocol";
import type { WebSocketServer } from "ws";
import { EndsInTurns } from "./ends-in-turns.ts";
import { type PendingLimits, PendingSockets } from "./pending-sockets.ts";
import type { SessionSocket } from "./session-parts.ts";
import type { Sessions } from "./sessions.ts";

export interface SocketServerOptions {
  readonly sessions: Sessions;
  readonly maxSockets: number;
  readonly maxMessageBytes: number;
  /** Sockets whose worker is not accepted yet. */
  readonly pending: PendingLimits;
  /** Why a caller may not even ask, judged by its headers. */
  readonly refusal: (headers: IncomingHttpHeaders) => UpgradeRefusal | undefined;
  /** Stands between a socket and its session. */
  readonly tap?: (socket: SessionSocket, stream: Duplex) => SessionSocket;
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
  /** Null until the first upgrade. */
  #server: WebSocketServer | null = null;
  #isClosed = false;
  readonly #pending: PendingSockets;
  readonly #ends = new EndsInTurns(setImmediate);

  constructor(options: SocketServerOptions) {
    this.#options = options;
    this.#pending = new PendingSockets(options.pending);
  }

  pending(): ReturnType<PendingSockets["status"]> {
    return this.#pending.status();
  }

  listenOn(server: Server): void {
    server.on("upgrade", (request, socket, head) => {
      socket.on("error", () => socket.destroy());
      const refusal = this.#refusal(request);
      if (refusal) return refuse(socket, refusal);
      const upgrade = (opened: WebSocketServer): void => this.#upgrade(opened, request, socket, head);
      if (this.#server) upgrade(this.#server);
      else void this.#open().then(upgrade);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#options.sessions.close();
    this.#server?.close();
  }

  /** Nothing reads the sockets that wait for it. */
  async #open(): Promise<WebSocketServer> {
    const { WebSocketServer } = await import("ws");
    const limits = {
      maxPayload: this.#options.maxMessageBytes,
      maxFragments: MAX_FRAGMENTS,
      maxBufferedChunks: MAX_PIECES,
      closeTimeout: CLOSE_TIMEOUT_MS,
    };
    this.#server ??= new WebSocketServer({
      ...limits,
      noServer: true,
      perMessageDeflate: false,
      clientTracking: false,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
    return this.#server;
  }

  #upgrade(server: WebSocketServer, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // While the first ones waited, the gateway may have closed, and so may they.
    if (this.#isClosed || socket.destroyed) return void socket.destroy();
    const pending = this.#pending.admit(socket);
    if (!pending) return refuse(socket, CROWDED);
    // The answer and the first frame leave in one write.
    socket.cork();
    process.nextTick(() => socket.uncork());
    server.handleUpgrade(request, socket, head, (webSocket) => {
      this.#ends.take(socket);
      const tapped = this.#options.tap?.(webSocket, socket) ?? webSocket;
      const session = this.#options.sessions.accept(tapped, socket, () => pending.release());
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
