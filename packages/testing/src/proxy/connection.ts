/** One connection through the proxy: both directions, faults included. */
import { connect, type Socket } from "node:net";
import type { Clock, Timers } from "@holdfast/core";
import { START_PATH } from "@holdfast/protocol";
import type { Direction, TappedRequest } from "./frames.ts";
import { createHttpParser, type HttpHead, requestFraming, responseFraming, statusOf } from "./http-parser.ts";
import { createMessageTap } from "./message-tap.ts";
import { OneWayStream, resetSocket } from "./one-way-stream.ts";
import { type Address, headWithLength, rewriteStartResponse } from "./start-response.ts";
import type { TapRecord } from "./tap-record.ts";

export interface ConnectionOptions {
  readonly id: number;
  readonly client: Socket;
  readonly record: TapRecord;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly delayMs: (direction: Direction) => number;
  /** Where a connection goes that begins with this request. */
  readonly route: (upgrade: boolean) => Address;
  /** Ours, to be put into start responses; undefined: they stay as they are. */
  readonly rewriteTo: () => Address | undefined;
  readonly onEndpoint: (gateway: Address) => void;
  readonly onClosed: () => void;
}

interface PendingRequest {
  readonly tapped: TappedRequest;
  readonly isStart: boolean;
}

/** A response that is kept until it is complete, because it will be changed. */
interface KeptResponse {
  readonly head: HttpHead;
  readonly raw: Uint8Array[];
  readonly content: Uint8Array[];
  size: number;
}

const MAX_KEPT_BYTES = 1024 * 1024;

/** One connection from a worker, and the one to the gateway that belongs to it. */
export class ProxiedConnection {
  readonly #options: ConnectionOptions;
  readonly #requests = createHttpParser(requestFraming);
  readonly #responses = createHttpParser((head) => this.#framingOf(head));
  readonly #pending: PendingRequest[] = [];
  /** Whose response head was read and is handled next; undefined for an interim response. */
  readonly #answered: (PendingRequest | undefined)[] = [];
  #upstream: Socket | undefined;
  #toGateway: OneWayStream | undefined;
  #toWorker: OneWayStream | undefined;
  #kept: KeptResponse | undefined;
  #held = false;
  #closed = false;
  isWebSocket = false;

  readonly #tapUp = createMessageTap(this.#tap("to-gateway"));
  readonly #tapDown = createMessageTap(this.#tap("to-worker"));

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { client } = options;
    client.setNoDelay(true);
    client.on("data", (bytes) => this.#fromWorker(bytes));
    client.on("end", () => (this.#toGateway ? this.#toGateway.end() : client.end()));
    client.on("error", () => this.#toGateway?.reset());
    client.on("close", () => {
      this.#toGateway?.close();
      this.#sideClosed();
    });
  }

  /** Breaks both sides off at once, without a goodbye. */
  cut(): void {
    this.#toGateway?.dispose();
    this.#toWorker?.dispose();
    for (const socket of [this.#options.client, this.#upstream]) if (socket) resetSocket(socket);
  }

  /** Neither side hears anything of the other any more, and both stay open. */
  hold(): void {
    this.#held = true;
    this.#toGateway?.hold();
    this.#toWorker?.hold();
  }

  release(): void {
    this.#held = false;
    this.#toGateway?.release();
    this.#toWorker?.release();
  }

  #tap(direction: Direction): Parameters<typeof createMessageTap>[0] {
    return {
      direction,
      onMessage: (message) =>
        this.#options.record.message({ ...message, connection: this.#options.id, direction }, this.#held),
      forward: (raw) => (direction === "to-gateway" ? this.#toGateway : this.#toWorker)?.send(raw),
    };
  }

  #fromWorker(bytes: Uint8Array): void {
    for (const piece of this.#requests.push(bytes)) {
      switch (piece.kind) {
        case "head":
          this.#requestBegins(piece.head);
          break;
        case "body":
          this.#toGateway?.send(piece.raw);
          break;
        case "end":
          break;
        case "rest":
          if (this.#upstream) this.#tapUp.push(piece.raw);
          else this.#open(this.#options.route(false)).send(piece.raw);
          break;
      }
    }
  }

  #requestBegins(head: HttpHead): void {
    const [method = "", target = ""] = head.startLine.split(" ");
    const path = target.split("?")[0] ?? "";
    const upgrade = requestFraming(head).kind === "switch";
    const tapped = this.#options.record.request({ connection: this.#options.id, method, path });
    this.#pending.push({ tapped, isStart: method === "POST" && path === START_PATH });
    const lane = this.#toGateway ?? this.#open(this.#options.route(upgrade));
    lane.send(head.raw);
  }

  #open(target: Address): OneWayStream {
    const { client, clock, timers, delayMs } = this.#options;
    const upstream = connect({ host: target.host, port: target.port, allowHalfOpen: true });
    upstream.setNoDelay(true);
    const lane = new OneWayStream({
      source: client,
      destination: upstream,
      clock,
      timers,
      delayMs: () => delayMs("to-gateway"),
    });
    const back = new OneWayStream({
      source: upstream,
      destination: client,
      clock,
      timers,
      delayMs: () => delayMs("to-worker"),
    });
    this.#upstream = upstream;
    this.#toGateway = lane;
    this.#toWorker = back;
    if (this.#held) this.hold();
    upstream.on("data", (bytes) => this.#fromGateway(bytes));
    upstream.on("end", () => {
      this.#finishKept();
      back.end();
    });
    upstream.on("error", () => back.reset());
    upstream.on("close", () => {
      back.close();
      this.#sideClosed();
    });
    return lane;
  }

  #framingOf(head: HttpHead): ReturnType<typeof responseFraming> {
    const status = statusOf(head.startLine);
    const interim = status < 200 && status !== 101;
    const request = interim ? undefined : this.#pending.shift();
    this.#answered.push(request);
    return responseFraming(head, request?.tapped.method ?? "");
  }

  #fromGateway(bytes: Uint8Array): void {
    for (const piece of this.#responses.push(bytes)) {
      switch (piece.kind) {
        case "head":
          this.#responseBegins(piece.head);
          break;
        case "body":
          this.#responseGoesOn(piece.raw, piece.content);
          break;
        case "end":
          this.#finishKept();
          break;
        case "rest":
          if (this.isWebSocket) this.#tapDown.push(piece.raw);
          else this.#toWorker?.send(piece.raw);
          break;
      }
    }
  }

  #responseBegins(head: HttpHead): void {
    const request = this.#answered.shift();
    const status = statusOf(head.startLine);
    if (request) request.tapped.status = status;
    if (status === 101) this.isWebSocket = true;
    if (request?.isStart && status === 200 && this.#options.rewriteTo()) {
      this.#kept = { head, raw: [], content: [], size: 0 };
      return;
    }
    this.#toWorker?.send(head.raw);
  }

  #responseGoesOn(raw: Uint8Array, content: Uint8Array): void {
    const kept = this.#kept;
    if (!kept) {
      this.#toWorker?.send(raw);
      return;
    }
    kept.raw.push(raw);
    kept.content.push(content);
    kept.size += raw.length;
    if (kept.size > MAX_KEPT_BYTES) this.#passUnchanged(kept);
  }

  #finishKept(): void {
    const kept = this.#kept;
    if (!kept) return;
    const proxy = this.#options.rewriteTo();
    const rewritten = proxy && rewriteStartResponse(Buffer.concat(kept.content), proxy);
    if (!rewritten) {
      this.#passUnchanged(kept);
      return;
    }
    this.#kept = undefined;
    this.#options.onEndpoint(rewritten.endpoint);
    this.#toWorker?.send(headWithLength(kept.head.raw, rewritten.body.length));
    this.#toWorker?.send(rewritten.body);
  }

  #passUnchanged(kept: KeptResponse): void {
    this.#kept = undefined;
    for (const bytes of [kept.head.raw, ...kept.raw]) this.#toWorker?.send(bytes);
  }

  #sideClosed(): void {
    const sides = [this.#options.client, this.#upstream];
    if (this.#closed || sides.some((socket) => socket && !socket.destroyed)) return;
    this.#closed = true;
    this.#toGateway?.dispose();
    this.#toWorker?.dispose();
    this.#options.onClosed();
  }
}
