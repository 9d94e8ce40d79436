/**
 * Replies and checkpoints from the moment main has them until the gateway acknowledges each, over the socket or by
 * HTTP. It owns the bytes; when to send what is decided in `machines/outbox.ts`.
 */
import { type Clock, type Log, Semaphore, type TimerHandle, type Timers, unreachable } from "@holdfast/core";
import { allocatePooled, encodeWorkerFrame, wrapReply } from "@holdfast/protocol";
import { MAX_SENT_BYTES, Outbox, type OutboxAction, type OutboxItem } from "../machines/outbox.ts";
import type { SerializableConfig } from "../shared/serializable-config.ts";
import type { GatewayHttp } from "./gateway-http.ts";
import type { InFlightRequests } from "./in-flight-requests.ts";

export interface ReplyDeliveryDeps {
  readonly config: SerializableConfig;
  readonly http: Pick<GatewayHttp, "flush">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly inFlight: InFlightRequests;
  readonly send: (bytes: Uint8Array) => void;
  /** The gateway has the reply, by whichever way. */
  readonly onDelivered: (requestId: string) => void;
}

/** The outbox knows it as this object: a name made of request and number would cost each step more than the sending. */
interface PendingMessage {
  readonly requestId: string;
  /** Null: it is the reply. */
  readonly sequence: number | null;
  readonly bytes: Uint8Array;
}

/** Flushes under way at once; more would only make each of them slower, and cost a socket each. */
const MAX_FLUSHES = 16;

export class ReplyDelivery {
  readonly #deps: ReplyDeliveryDeps;
  readonly #outbox: Outbox<PendingMessage>;
  readonly #replies = new Map<string, PendingMessage>();
  /** Open ones by request: mostly one of each. */
  readonly #checkpoints = new Map<string, readonly PendingMessage[]>();
  #alarm: TimerHandle | undefined;
  #urgent = false;
  #stopped = false;
  #wasFull = false;
  readonly #flushes = new Semaphore(MAX_FLUSHES);

  constructor(deps: ReplyDeliveryDeps) {
    this.#deps = deps;
    this.#outbox = new Outbox({ ...deps.config.outbox, maxSentBytes: MAX_SENT_BYTES });
  }

  get count(): number {
    return this.#outbox.count;
  }

  get bytes(): number {
    return this.#outbox.bytes;
  }

  get full(): boolean {
    return this.#outbox.full;
  }

  addReply(requestId: string, response: Uint8Array): void {
    if (this.#replies.has(requestId)) return;
    const reply = { requestId, sequence: null, bytes: response };
    this.#replies.set(requestId, reply);
    this.#add(reply);
  }

  addCheckpoint(requestId: string, sequence: number, ops: Uint8Array): void {
    const open = this.#checkpoints.get(requestId);
    if (open?.some((one) => one.sequence === sequence)) return;
    const checkpoint = { requestId, sequence, bytes: ops };
    this.#checkpoints.set(requestId, open ? [...open, checkpoint] : [checkpoint]);
    this.#add(checkpoint);
  }

  /** False when there was none, or it was settled before. */
  settleCheckpoint(requestId: string, sequence: number): boolean {
    const open = this.#checkpoints.get(requestId);
    const checkpoint = open?.find((one) => one.sequence === sequence);
    if (open === undefined || checkpoint === undefined) return false;
    const left = open.length === 1 ? [] : open.filter((one) => one !== checkpoint);
    if (left.length === 0) this.#checkpoints.delete(requestId);
    else this.#checkpoints.set(requestId, left);
    this.#settle(checkpoint);
    this.#runActions(this.#outbox.next(this.#now()));
    return true;
  }

  /** Forgets everything about a request. */
  withdraw(requestId: string): void {
    const reply = this.#replies.get(requestId);
    if (reply !== undefined) this.#settle(reply);
    this.#replies.delete(requestId);
    for (const checkpoint of this.#checkpoints.get(requestId) ?? []) this.#settle(checkpoint);
    this.#checkpoints.delete(requestId);
    this.#runActions(this.#outbox.next(this.#now()));
  }

  openCheckpoints(): readonly { readonly requestId: string; readonly sequence: number }[] {
    return [...this.#checkpoints.values()].flatMap((open) =>
      open.flatMap(({ requestId, sequence }) => (sequence === null ? [] : [{ requestId, sequence }])),
    );
  }

  /** Requests whose reply has not been acknowledged. */
  undelivered(): readonly string[] {
    return [...this.#replies.keys()];
  }

  onLinkUp(): void {
    this.#runActions(this.#outbox.linkUp(this.#now()));
  }

  onLinkDown(): void {
    this.#outbox.linkDown(this.#now());
    if (this.#urgent) this.#runActions(this.#outbox.due(this.#now(), true));
  }

  /** From now on nothing waits for a link that is not there. */
  beginUrgency(): void {
    this.#urgent = true;
    this.#runActions(this.#outbox.due(this.#now(), true));
  }

  /** Time runs out: every reply without acknowledgement goes by HTTP now, also while there is a link. */
  flushReplies(): void {
    this.#runActions(this.#outbox.flushAll(this.#now()));
  }

  stop(): void {
    this.#stopped = true;
    this.#alarm?.cancel();
  }

  #now(): number {
    return this.#deps.clock.monotonicMs();
  }

  #add(key: PendingMessage): void {
    const { requestId, sequence, bytes } = key;
    const kind = sequence === null ? "reply" : "checkpoint";
    this.#runActions(this.#outbox.add({ key, requestId, kind, bytes: bytes.byteLength }, this.#now()));
    if (this.#urgent) this.#runActions(this.#outbox.due(this.#now(), true));
    if (!this.#outbox.full || this.#wasFull) return;
    this.#wasFull = true;
    const { count } = this.#outbox;
    const message = `${count} replies and checkpoints (${this.#outbox.bytes} bytes) are waiting for an acknowledgement; no new work is accepted.`;
    this.#deps.log("warn", message, { code: "OUTBOX_FULL" });
  }

  #settle(message: PendingMessage): void {
    this.#outbox.settle(message);
    if (this.#wasFull && !this.#outbox.full) {
      this.#wasFull = false;
      this.#deps.log("info", "Replies and checkpoints are acknowledged again; accepting new work.");
    }
  }

  #runActions(actions: readonly OutboxAction<PendingMessage>[]): void {
    for (const { do: what, item } of actions) {
      if (!this.#outbox.has(item.key)) continue;
      switch (what) {
        case "SEND":
          this.#deps.send(this.#encode(item.key));
          break;
        case "FLUSH":
          void this.#flush(item);
          break;
        default:
          unreachable(what);
      }
    }
    this.#armTimer();
  }

  #encode({ requestId, sequence, bytes }: PendingMessage): Uint8Array {
    if (sequence === null) return wrapReply(bytes, allocatePooled);
    const { inFlight } = this.#deps;
    const frame = {
      kind: "WORKER_CHECKPOINT" as const,
      requestId,
      runId: inFlight.get(requestId)?.identity.runId ?? "",
      leaseId: inFlight.leases.get(requestId)?.leaseId ?? "",
      sequence,
      ops: bytes,
    };
    return encodeWorkerFrame(frame, allocatePooled);
  }

  async #flush(item: OutboxItem<PendingMessage>): Promise<void> {
    const result = await this.#flushes.run(() => this.#deps.http.flush(item.key.bytes));
    if (this.#stopped || !this.#outbox.has(item.key)) return;
    if (result.ok) {
      this.#deps.onDelivered(item.requestId);
      return;
    }
    this.#deps.log("warn", `A reply could not be flushed and will be retried: ${result.message}`, {
      code: "FLUSH_FAILED",
      requestId: item.requestId,
    });
    this.#outbox.flushFailed(item.key, this.#now());
    this.#armTimer();
  }

  /** One timer, for the oldest deadline; it is left alone when that one is settled meanwhile. */
  #armTimer(): void {
    const dueMs = this.#outbox.nextDueMs();
    if (this.#alarm !== undefined || dueMs === null || this.#stopped) return;
    this.#alarm = this.#deps.timers.set(Math.max(1, dueMs - this.#now()), () => {
      this.#alarm = undefined;
      this.#runActions(this.#outbox.due(this.#now(), this.#urgent));
    });
  }
}
