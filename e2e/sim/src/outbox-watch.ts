/**
 * Counts what waits for an acknowledgement in a connection thread, from its messages. `process-watch.ts` compares it
 * with the limits.
 */
import type { AnyMessage } from "../../../packages/sdk/src/connection/shared/messages.ts";

/** What waits for an acknowledgement in the connection thread of a process, as its messages say. */
export class OutboxWatch {
  readonly #limit: number;
  /** Whose request each is about, by what it is. */
  #items = new Map<string, string>();
  /** Requests that main has. What comes about others is not kept. */
  #held = new Set<string>();
  /** Requests that were taken on before, and wait for the word that they are still its worker's. */
  readonly #inDoubt = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#items.size >= this.#limit;
  }

  get count(): number {
    return this.#items.size;
  }

  /** The thread asks whether a request is its worker's, before it posts it to main or after. */
  asks(requestId: string): void {
    if (!this.#held.has(requestId)) this.#inDoubt.add(requestId);
  }

  /** The thread hands a message to its port. False: it takes on work although it may not. */
  posted(message: AnyMessage): boolean {
    switch (message.type) {
      case "EXECUTION_REQUEST":
      case "ISOLATED_REQUEST": {
        this.#held.add(message.requestId);
        const wasTakenBefore = this.#inDoubt.delete(message.requestId);
        return wasTakenBefore || !this.isFull;
      }
      case "REPLY_ACKED":
      case "LEASE_LOST":
      case "ISOLATED_ENDED":
        this.#forget(message.requestId);
        return true;
      case "CHECKPOINT_ACKED":
        this.#items.delete(checkpointKey(message.requestId, message.sequence));
        return true;
      default:
        return true;
    }
  }

  /** A message arrives, in main or in the thread. */
  arrived(message: AnyMessage): void {
    switch (message.type) {
      case "INIT":
        this.#items = new Map();
        this.#held = new Set(message.adopted.map(({ identity }) => identity.requestId));
        this.#inDoubt.clear();
        for (const { identity, outcome, checkpoints } of message.adopted) {
          const { requestId } = identity;
          if (outcome) this.#add(replyKey(requestId), requestId);
          for (const { sequence } of checkpoints) this.#add(checkpointKey(requestId, sequence), requestId);
        }
        return;
      case "EXECUTION_RESPONSE":
      case "EXECUTION_ERROR":
        return this.#add(replyKey(message.requestId), message.requestId);
      case "CHECKPOINT":
        return this.#add(checkpointKey(message.requestId, message.sequence), message.requestId);
      case "EXECUTION_DROPPED":
        return this.#forget(message.requestId);
      default:
        return;
    }
  }

  #add(key: string, requestId: string): void {
    if (this.#held.has(requestId)) this.#items.set(key, requestId);
  }

  #forget(requestId: string): void {
    this.#held.delete(requestId);
    for (const [key, owner] of this.#items) if (owner === requestId) this.#items.delete(key);
  }
}

const replyKey = (requestId: string): string => `reply ${requestId}`;
const checkpointKey = (requestId: string, sequence: number): string => `checkpoint ${requestId} ${sequence}`;
