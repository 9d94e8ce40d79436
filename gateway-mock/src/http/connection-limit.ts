/**
 * Bounds the HTTP connections beside the workers' sockets; when all are taken the one that has been idle longest is
 * closed.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export interface ConnectionStatus {
  readonly open: number;
  /** Ended for others, while no request of theirs was under way. */
  readonly evicted: number;
  readonly refused: number;
}

/**
 * Bounds the HTTP connections of all servers together; sockets of workers are counted elsewhere. When all places are
 * taken, the one that has been without a request for longest gives its place away, be it kept alive or slow to say what
 * it wants; where each has a request under way, the newcomer is refused.
 */
export class ConnectionLimit {
  readonly #max: number;
  /** With the number of their requests under way; who has been quiet for longest comes first. */
  readonly #open = new Map<Socket, number>();
  #evicted = 0;
  #refused = 0;

  constructor(max: number) {
    this.#max = max;
  }

  status(): ConnectionStatus {
    return { open: this.#open.size, evicted: this.#evicted, refused: this.#refused };
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#admit(socket));
    server.on("request", (request, response) => this.#busy(request, response));
    server.on("upgrade", ({ socket }: IncomingMessage) => this.#open.delete(socket));
  }

  /** It takes no place until what comes back is called: its request waits for long, and is counted elsewhere. */
  excuse(socket: Socket): () => void {
    const requests = this.#open.get(socket);
    if (requests === undefined) return () => {};
    this.#open.delete(socket);
    return () => {
      if (!socket.destroyed) this.#open.set(socket, requests);
    };
  }

  #admit(socket: Socket): void {
    if (this.#open.size >= this.#max && !this.#evict()) {
      this.#refused += 1;
      socket.destroy();
      return;
    }
    this.#open.set(socket, 0);
    socket.once("close", () => this.#open.delete(socket));
  }

  #evict(): boolean {
    for (const [socket, requests] of this.#open) {
      if (requests > 0) continue;
      this.#open.delete(socket);
      this.#evicted += 1;
      socket.destroy();
      return true;
    }
    return false;
  }

  #busy({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#change(socket, 1);
    response.once("close", () => this.#change(socket, -1));
  }

  #change(socket: Socket, by: 1 | -1): void {
    const requests = this.#open.get(socket);
    if (requests === undefined) return;
    this.#open.delete(socket);
    this.#open.set(socket, requests + by);
  }
}
