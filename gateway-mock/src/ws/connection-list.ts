/** Keeps the store's list of connections equal to this gateway's sessions, one write after the other for each. */
import { type Log, messageOf } from "@holdfast/core";
import type { ConnectionMark, PartitionRecord, Store } from "@holdfast/store";

/** A connection as it is listed. */
export interface SessionInfo {
  readonly connectionId: string;
  readonly instanceId: string;
  readonly appIds: readonly string[];
  /** `app@version` of each. */
  readonly versions: readonly string[];
  readonly functionIds: readonly string[];
  /** `["*"]`: every one. */
  readonly queues: readonly string[];
  readonly partitions: readonly PartitionRecord[];
  readonly capacity: number;
  readonly connectedMs: number;
  /** The worker said that it ends; only of one that is `DISCONNECTED`. */
  readonly left?: boolean;
}

export type ConnectionStatus = "CONNECTING" | "READY" | "DRAINING" | "DISCONNECTED";

export interface ConnectionListParts {
  readonly store: Pick<Store, "saveConnection" | "removeConnections">;
  readonly gatewayId: string;
  readonly log: Log;
  /** A connection with these functions is no longer listed. */
  onGone(functionIds: readonly string[]): void;
}

interface Waiting {
  info: SessionInfo;
  status: ConnectionStatus;
  done: Promise<void>;
}

/**
 * This gateway's part of the list of connections, by which the others know which versions are there. What is written of
 * one connection is written in turn, so that one that is gone does not come back.
 */
export class ConnectionList {
  readonly #parts: ConnectionListParts;
  readonly #last = new Map<string, Promise<void>>();
  /** What is written when the write under way is over: only the newest, however often a peer changes its mind. */
  readonly #waiting = new Map<string, Waiting>();
  /** As they were written last, of connections that are there. */
  readonly #listed = new Map<string, { readonly info: SessionInfo; readonly status: ConnectionStatus }>();
  /** What is to be seen of them, where there is something. */
  readonly #marks = new Map<string, ConnectionMark>();
  /** Gone, but still listed, with their functions. */
  readonly #left = new Map<string, readonly string[]>();
  /** Those of them whose workers said that they end. */
  readonly #said = new Set<string>();
  /** The removal of what has left since the last one began. */
  #removal: Promise<void> | null = null;
  #lastRemoval: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(parts: ConnectionListParts) {
    this.#parts = parts;
  }

  /** Resolves when it is listed so, or could not be. */
  set(info: SessionInfo, status: ConnectionStatus): Promise<void> {
    const id = info.connectionId;
    const waiting = this.#waiting.get(id);
    if (waiting) {
      Object.assign(waiting, { info, status });
      return waiting.done;
    }
    const next: Waiting = { info, status, done: Promise.resolve() };
    const before = this.#last.get(id) ?? Promise.resolve();
    const mine = before
      .then(() => {
        this.#waiting.delete(id);
        return this.#write(next.info, next.status);
      })
      .catch((error: unknown) => {
        this.#parts.log("debug", `The list of connections was not updated: ${messageOf(error)}`);
      })
      .finally(() => {
        if (this.#last.get(id) === mine) this.#last.delete(id);
      });
    next.done = mine;
    this.#waiting.set(id, next);
    this.#last.set(id, mine);
    return mine;
  }

  /** Marks a connection, or takes the mark away; false: it is so already, or another write of it is under way. */
  mark(id: string, mark: ConnectionMark | null): boolean {
    const listed = this.#listed.get(id);
    if (listed === undefined || this.#last.has(id) || (this.#marks.get(id) ?? null) === mark) return false;
    if (mark === null) this.#marks.delete(id);
    else this.#marks.set(id, mark);
    void this.set(listed.info, listed.status);
    return true;
  }

  /** Writes all of them again: the database may have forgotten some. */
  async listAgain(): Promise<void> {
    // What waits to be written is newer.
    const settled = [...this.#listed].filter(([id]) => !this.#waiting.has(id));
    await Promise.all(settled.map(([, { info, status }]) => this.set(info, status)));
  }

  /**
   * What could not be removed, as while the database was away, is removed now: this gateway's signs of life keep all that
   * is listed of it, and other gateways would leave work to workers that are gone.
   * @throws HoldfastError `STORE_FAILED`
   */
  async removeAgain(): Promise<void> {
    if (this.#left.size === 0 || this.#ended) return;
    const functionIds = [...new Set([...this.#left.values()].flat())];
    await this.#removeLeft();
    this.#parts.onGone(functionIds);
  }

  /**
   * The gateway ends, and nothing is listed any more. Its sockets are closed without waiting for what each of them
   * writes; what was left behind would look like workers of a gateway that died.
   */
  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#last.values());
    for (const [id, { info }] of this.#listed) this.#left.set(id, info.functionIds);
    this.#listed.clear();
    if (this.#left.size > 0) await this.#removeLeft();
  }

  async #write(info: SessionInfo, status: ConnectionStatus): Promise<void> {
    if (this.#ended && status !== "DISCONNECTED") return;
    const { connectionId: id, functionIds, left, ...about } = info;
    const { store, gatewayId } = this.#parts;
    const mark = this.#marks.get(id);
    if (status !== "DISCONNECTED") {
      this.#listed.set(id, { info, status });
      return store.saveConnection({ id, gatewayId, ...about, status, ...(mark === undefined ? {} : { mark }) });
    }
    this.#listed.delete(id);
    this.#marks.delete(id);
    this.#left.set(id, functionIds);
    if (left) this.#said.add(id);
    await this.#removeLeft();
    this.#parts.onGone(functionIds);
  }

  /** Of thousands that leave at once each would otherwise remove all that left before it. */
  #removeLeft(): Promise<void> {
    if (this.#removal) return this.#removal;
    const removal = this.#lastRemoval.then(async () => {
      this.#removal = null;
      const ids = [...this.#left.keys()];
      const said = ids.filter((id) => this.#said.has(id));
      await this.#parts.store.removeConnections(ids, said);
      for (const one of ids) {
        this.#left.delete(one);
        this.#said.delete(one);
      }
    });
    this.#removal = removal;
    this.#lastRemoval = removal.catch(() => {});
    return removal;
  }
}
