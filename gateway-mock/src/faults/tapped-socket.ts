/**
 * A worker's socket between `ws` and its session: faults happen here, and what is watched is read here. While no fault is
 * there and nothing is watched, frames pass untouched and unread.
 */
import type { Duplex } from "node:stream";
import { type Clock, type Timers, unreachable } from "@holdfast/core";
import {
  decodeGatewayFrame,
  decodeWorkerFrame,
  encodeGatewayFrame,
  type GatewayFrame,
  type WorkerConnect,
} from "@holdfast/protocol";
import type { WebSocket } from "ws";
import { type AnyFrame, type RequestNames, SeenFrame } from "./frame-facts.ts";
import { Lane } from "./lane.ts";
import type { AboutRequest, FaultDecision } from "./rules/fault-book.ts";
import type { Direction } from "./rules/fault-rule.ts";

/** What is tapped of a socket of `ws`; the session's part of it. */
export type InnerSocket = Pick<
  WebSocket,
  "on" | "send" | "close" | "terminate" | "readyState" | "OPEN" | "bufferedAmount"
> &
  Partial<Pick<WebSocket, "ping">>;

export interface TapParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly names: RequestNames;
  /** Frames are to be read: a fault may happen to them, or they are watched. */
  readonly isReading: () => boolean;
  /** What happens to a frame. Called once for each, in order. */
  readonly decide: (frame: SeenFrame) => FaultDecision<"frame"> | null;
  /** A frame came by; with what happened to it. */
  readonly onFrame: (frame: SeenFrame, fault: FaultDecision<"frame"> | null) => void;
  /** The worker is to lose this request, as if its process had ended. */
  readonly expire: (requestId: string) => void;
  readonly onClosed: (socket: TappedSocket) => void;
}

interface Message {
  readonly data: Buffer;
  readonly isBinary: boolean;
}

type OnMessage = (data: Buffer, isBinary: boolean) => void;
type OnClose = (code: number, reason: Buffer) => void;

export class TappedSocket {
  readonly #socket: InnerSocket;
  readonly #raw: Duplex;
  readonly #parts: TapParts;
  readonly #in: Lane<Message>;
  readonly #out: Lane<Uint8Array>;
  readonly #onMessage: OnMessage[] = [];
  readonly #onClose: OnClose[] = [];
  #connection: { readonly connectionId: string; readonly instanceId: string } | null = null;
  #hello: WorkerConnect | null = null;
  /** Nothing passes, and neither side hears of it. */
  #isSilent = false;
  /** The peer has gone meanwhile. */
  #unsaid: (() => void) | null = null;
  /** Checkpoints whose worker is ended once they are committed, by request and sequence. */
  readonly #doomed = new Map<string, FaultDecision<"frame">>();

  constructor(socket: InnerSocket, raw: Duplex, parts: TapParts) {
    this.#socket = socket;
    this.#raw = raw;
    this.#parts = parts;
    const { clock, timers } = parts;
    const toSession = ({ data, isBinary }: Message): void => {
      for (const listener of this.#onMessage) listener(data, isBinary);
    };
    this.#in = new Lane({ clock, timers, deliver: toSession });
    this.#out = new Lane({ clock, timers, deliver: (bytes) => this.#send(bytes) });
    socket.on("message", (data, isBinary) => this.#receive(data as Buffer, isBinary));
    socket.on("close", (code, reason) => this.#closed(code, reason));
  }

  readonly on: InnerSocket["on"] = ((event: string, listener: unknown) => {
    if (event === "message") this.#onMessage.push(listener as OnMessage);
    else if (event === "close") this.#onClose.push(listener as OnClose);
    else this.#socket.on(event as "error", listener as (error: Error) => void);
    return this.#socket;
  }) as InnerSocket["on"];

  get readyState(): InnerSocket["readyState"] {
    return this.#socket.readyState;
  }

  get OPEN(): InnerSocket["OPEN"] {
    return this.#socket.OPEN;
  }

  get bufferedAmount(): number {
    return this.#socket.bufferedAmount;
  }

  /** Null until the worker has said who it is. */
  get connection(): AboutRequest["connection"] {
    return this.#connection;
  }

  readonly send = ((bytes: Uint8Array): void => {
    if (this.#isSilent) return;
    // A fault that is over may still have an acknowledgement to wait for.
    const isRead = this.#doomed.size > 0 || this.#parts.isReading();
    if (!isRead && this.#out.isEmpty) return this.#send(bytes);
    const frame = read(() => decodeGatewayFrame(bytes));
    // Its memory is its sender's again when this returns.
    const copy = Buffer.from(bytes);
    if (frame === null) return this.#out.pass(copy);
    this.#pass(frame, "to-worker", copy.byteLength, this.#out, () => copy);
  }) as InnerSocket["send"];

  close(code?: number, reason?: string | Buffer): void {
    if (this.#isSilent) return this.terminate();
    this.#out.flush();
    this.#socket.close(code, reason);
  }

  /** No frame of the protocol: faults happen to none of these, but a silent link has none. */
  ping(): void {
    if (!this.#isSilent) this.#socket.ping?.();
  }

  terminate(): void {
    this.#isSilent = false;
    this.#in.stop();
    this.#out.stop();
    this.#socket.terminate();
    this.#tellClosed();
  }

  /** A reset, as when a cable is pulled and a router says so. */
  cut(): void {
    this.#in.stop();
    this.#out.stop();
    const raw = this.#raw as Partial<{ resetAndDestroy(): unknown }> & Duplex;
    if (raw.resetAndDestroy) raw.resetAndDestroy();
    else raw.destroy();
  }

  /** Nothing comes through in either direction; null = until the socket ends. */
  silence(forMs: number | null): void {
    this.#isSilent = true;
    this.#in.stop();
    this.#out.stop();
    if (forMs === null) return;
    const hear = (): void => {
      this.#isSilent = false;
      this.#tellClosed();
    };
    this.#parts.timers.set(forMs, hear, { unref: true });
  }

  #receive(data: Buffer, isBinary: boolean): void {
    if (this.#isSilent) return;
    if (this.#connection === null) this.#identify(data, isBinary);
    const passesBy = !this.#parts.isReading() && this.#in.isEmpty;
    if (passesBy) {
      for (const listener of this.#onMessage) listener(data, isBinary);
      return;
    }
    const frame = isBinary ? read(() => decodeWorkerFrame(data)) : null;
    if (frame === null) return this.#in.pass({ data, isBinary });
    this.#pass(frame, "to-gateway", data.byteLength, this.#in, () => ({ data: Buffer.from(data), isBinary }));
  }

  #identify(data: Buffer, isBinary: boolean): void {
    if (!isBinary || this.#hello !== null) return;
    const frame = read(() => decodeWorkerFrame(data));
    if (frame?.kind !== "WORKER_CONNECT") return;
    this.#hello = frame;
    this.#connection = { connectionId: frame.connectionId, instanceId: frame.instanceId };
  }

  #pass<T>(frame: AnyFrame, direction: Direction, sizeBytes: number, lane: Lane<T>, item: () => T): void {
    const { names, decide, onFrame } = this.#parts;
    names.note(frame);
    const seen = new SeenFrame(frame, { direction, sizeBytes, connection: this.#connection }, names);
    if (this.#endsAfterCommit(seen)) return;
    const fault = decide(seen);
    onFrame(seen, fault);
    if (fault === null) return lane.pass(item());
    this.#happen(fault, frame, lane, item);
  }

  #happen<T>(fault: FaultDecision<"frame">, frame: AnyFrame, lane: Lane<T>, item: () => T): void {
    const { rule, chance } = fault;
    switch (rule.what) {
      case "drop":
      case "withhold-acks":
        return;
      case "delay":
        return lane.pass(item(), rule.delayMs + chance * rule.jitterMs);
      case "duplicate":
        for (let copies = 0; copies <= rule.copies; copies += 1) lane.pass(item());
        return;
      case "reorder":
        return lane.hold(item(), rule.delayMs);
      case "cut":
        return this.cut();
      case "half-open":
        return this.silence(rule.delayMs);
      case "close":
        this.#out.flush();
        return this.#socket.close(rule.code, rule.reason);
      case "kill":
        return this.#kill(fault, rule.moment === "before-commit", frame, () => lane.pass(item()));
      default:
        return unreachable(rule);
    }
  }

  /** The pass ends as with its process; what it says afterwards is late. */
  #kill(fault: FaultDecision<"frame">, isBefore: boolean, frame: AnyFrame, pass: () => void): void {
    if (frame.kind !== "WORKER_CHECKPOINT" && frame.kind !== "WORKER_REPLY") return pass();
    const { requestId } = frame;
    if (!isBefore) {
      if (frame.kind === "WORKER_CHECKPOINT") this.#doomed.set(`${requestId}#${frame.sequence}`, fault);
      return pass();
    }
    this.#parts.expire(requestId);
    // A process that has ended does not repeat itself; this one is made to believe that it need not.
    this.#out.pass(
      encodeGatewayFrame(
        frame.kind === "WORKER_REPLY" ? { kind: "WORKER_REPLY_ACK", requestId } : staleAck(requestId, frame.sequence),
      ),
    );
  }

  /** The acknowledgement of a commit after which the pass is to end. */
  #endsAfterCommit(seen: SeenFrame): boolean {
    const { frame } = seen;
    if (frame.kind !== "GATEWAY_CHECKPOINT_ACK" || this.#doomed.size === 0) return false;
    const name = `${frame.requestId}#${frame.sequence}`;
    const fault = this.#doomed.get(name);
    if (!fault) return false;
    this.#doomed.delete(name);
    if (frame.outcome !== "stored") return false;
    this.#parts.onFrame(seen, fault);
    this.#parts.expire(frame.requestId);
    this.#out.pass(encodeGatewayFrame(staleAck(frame.requestId, frame.sequence)));
    return true;
  }

  #send(bytes: Uint8Array): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(bytes);
  }

  #closed(code: number, reason: Buffer): void {
    this.#unsaid = () => {
      for (const listener of this.#onClose) listener(code, reason);
    };
    if (!this.#isSilent) this.#tellClosed();
  }

  #tellClosed(): void {
    const say = this.#unsaid;
    if (!say) return;
    this.#unsaid = null;
    // What had left the worker before its socket closed is there before.
    this.#in.flush();
    this.#out.stop();
    say();
    this.#parts.onClosed(this);
  }
}

const staleAck = (requestId: string, sequence: number): GatewayFrame => ({
  kind: "GATEWAY_CHECKPOINT_ACK",
  requestId,
  sequence,
  outcome: "stale",
  message: "A fault that was asked for has ended this pass.",
});

/** Null: the session says what is wrong with it. */
function read<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch {
    return null;
  }
}
