import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { type ProxyOptions, startProxy, type WireProxy } from "../src/index.ts";

/** A stand-in for a gateway: HTTP answers as asked, and a WebSocket that says what it is told to. */
export interface Peer {
  readonly port: number;
  readonly http: Server;
  /** Sockets of workers, in the order in which they came. */
  readonly sockets: WebSocket[];
  /** Messages from workers. */
  readonly received: Uint8Array[];
}

export async function startPeer(
  answer: (request: IncomingMessage, response: ServerResponse, body: Buffer) => void = (_, response) => response.end(),
  options: { perMessageDeflate?: boolean; port?: number } = {},
): Promise<Peer> {
  const http = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => answer(request, response, Buffer.concat(parts)));
  });
  const sockets: WebSocket[] = [];
  const received: Uint8Array[] = [];
  const wss = new WebSocketServer({ server: http, perMessageDeflate: options.perMessageDeflate ?? false });
  wss.on("connection", (socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("message", (data) => received.push(new Uint8Array(data as Buffer)));
  });
  await new Promise<void>((resolve) => http.listen(options.port ?? 0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.terminate();
    wss.close();
    http.closeAllConnections();
    await new Promise<void>((resolve) => http.close(() => resolve()));
  });
  return { port: (http.address() as AddressInfo).port, http, sockets, received };
}

export async function proxyTo(options: ProxyOptions): Promise<WireProxy> {
  const proxy = await startProxy(options);
  onTestFinished(() => proxy.stop());
  return proxy;
}

export interface Worker {
  readonly socket: WebSocket;
  readonly received: Uint8Array[];
  /** Settles with the close code. */
  readonly closed: Promise<number>;
}

/** A worker's socket, open. */
export async function connectWorker(port: number, options: { perMessageDeflate?: boolean } = {}): Promise<Worker> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v0/connect`, { perMessageDeflate: false, ...options });
  const received: Uint8Array[] = [];
  socket.on("message", (data) => received.push(new Uint8Array(data as Buffer)));
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  const opened = new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  onTestFinished(async () => {
    socket.terminate();
    await closed;
  });
  await opened;
  socket.on("error", () => {});
  return { socket, received, closed };
}
