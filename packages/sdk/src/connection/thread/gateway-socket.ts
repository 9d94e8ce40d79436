/**
 * One WebSocket as the link driver sees it: frames in and out, corked so that a turn's frames leave as one write. All
 * use of `ws` is here.
 */
import type { Duplex } from "node:stream";
import { messageOf, type Timers } from "@holdfast/core";
import { SUBPROTOCOL, WIRE_LIMITS } from "@holdfast/protocol";
import WebSocket, { type ClientOptions } from "ws";

/** How long a peer may take to answer our close frame. */
const CLOSE_MS = 2_000;

export interface SocketHandlers {
  /** The bytes are a view that is only good during the call. */
  onFrame(bytes: Uint8Array): void;
  onBadFrame(message: string): void;
  /** Exactly once, always, and never during the call that opened it. */
  onClosed(code: number, reason: string): void;
}

/** One WebSocket to a gateway. What is sent within one turn of the event loop leaves as one write. */
export interface GatewaySocket {
  send(bytes: Uint8Array): void;
  /** Lets what was sent go; the owner calls it at the end of the turn. */
  flush(): void;
  close(code: number, reason: string): void;
  destroy(): void;
}

/** What one socket takes of `ws`. */
export type WorkerWebSocket = Pick<
  WebSocket,
  "binaryType" | "readyState" | "on" | "once" | "send" | "close" | "terminate"
>;

/** @throws Error for a URL that cannot be used */
export type OpenWebSocket = (url: string, subprotocol: string, options: ClientOptions) => WorkerWebSocket;

export const openWebSocket: OpenWebSocket = (url, subprotocol, options) => new WebSocket(url, subprotocol, options);

export interface SocketPorts {
  readonly timers: Timers;
  readonly openWebSocket: OpenWebSocket;
}

export function openGatewaySocket(
  url: string,
  handlers: SocketHandlers,
  { timers, openWebSocket }: SocketPorts,
  openMs: number,
): GatewaySocket {
  let stream: Duplex | undefined;
  let corked = false;
  let failure = "";
  let socket: WorkerWebSocket;
  try {
    socket = openWebSocket(url, SUBPROTOCOL, {
      perMessageDeflate: false,
      maxPayload: WIRE_LIMITS.maxFrameBytes,
      handshakeTimeout: openMs,
      skipUTF8Validation: true,
    });
  } catch (error) {
    timers.set(0, () => handlers.onClosed(1006, messageOf(error)));
    return { send: () => {}, flush: () => {}, close: () => {}, destroy: () => {} };
  }

  socket.binaryType = "nodebuffer";
  socket.on("upgrade", (response) => {
    stream = response.socket;
    response.socket.setNoDelay(true);
  });
  socket.on("message", (data, isBinary) => {
    if (isBinary) handlers.onFrame(data as Buffer);
    else handlers.onBadFrame("a text frame");
  });
  socket.on("error", (error) => {
    failure = messageOf(error);
  });
  socket.on("close", (code, reason) => handlers.onClosed(code, reason.toString("utf8") || failure));

  const flush = (): void => {
    if (!corked) return;
    corked = false;
    stream?.uncork();
  };

  return {
    send: (bytes) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      if (!corked && stream) {
        corked = true;
        stream.cork();
      }
      socket.send(bytes, { binary: true, compress: false });
    },
    flush,
    close: (code, reason) => {
      if (socket.readyState === WebSocket.CLOSED) return;
      socket.close(code, reason);
      flush();
      const timer = timers.set(CLOSE_MS, () => socket.terminate());
      socket.once("close", () => timer.cancel());
    },
    destroy: () => {
      flush();
      socket.terminate();
    },
  };
}
