import type { Store, StoredRun } from "../store/index.ts";
import { foldRun } from "./fold.ts";
import type { RunState } from "./run-state.ts";

interface Box {
  state: RunState | null;
  users: number;
  /** The last task queued for the run. */
  tail: Promise<unknown> | null;
}

/**
 * The runs that this gateway is busy with: their state, and one mailbox each, so that decisions on a run are made one
 * after the other. A state is kept while somebody uses the run. It may be behind the store; then the compare-and-set of
 * the next decision says so. What makes that safe: rows are added to a run without raising its version only by the
 * gateway that dispatched the request and still has its state (and by claims, which only count losses).
 */
export class Runs {
  readonly #store: Store;
  readonly #boxes = new Map<string, Box>();

  constructor(store: Store) {
    this.#store = store;
  }

  get size(): number {
    return this.#boxes.size;
  }

  retain(runId: string): void {
    this.#box(runId).users += 1;
  }

  release(runId: string): void {
    const box = this.#boxes.get(runId);
    if (!box) return;
    box.users -= 1;
    if (box.users <= 0) this.#boxes.delete(runId);
  }

  /** The state that is at hand, if any. */
  peek(runId: string): RunState | null {
    return this.#boxes.get(runId)?.state ?? null;
  }

  /** Keeps a state that was just read or made, unless a newer one is here. The run must be retained. */
  offer(stored: StoredRun | RunState): RunState {
    const runId = "head" in stored ? stored.head.id : stored.runId;
    const version = "head" in stored ? stored.head.version : stored.version;
    const box = this.#box(runId);
    if (box.state && box.state.version >= version) {
      if ("head" in stored) box.state.losses = Math.max(box.state.losses, lossesAtEnd(stored));
      return box.state;
    }
    box.state = "head" in stored ? foldRun(stored) : stored;
    return box.state;
  }

  /** Forgets the state: the next decision reads it anew. */
  forget(runId: string): void {
    const box = this.#boxes.get(runId);
    if (box) box.state = null;
  }

  /** The state at hand, else the store's; null when there is no such run. The run must be retained. */
  async load(runId: string): Promise<RunState | null> {
    const known = this.peek(runId);
    if (known) return known;
    const [stored] = await this.#store.loadRuns([runId]);
    return stored ? this.offer(stored) : null;
  }

  /** Runs `task` when all earlier tasks of this run are done. */
  async serial<T>(runId: string, task: () => Promise<T>): Promise<T> {
    const box = this.#box(runId);
    box.users += 1;
    const before = box.tail;
    const mine = before === null ? task() : before.then(task, task);
    box.tail = mine;
    try {
      return await mine;
    } finally {
      if (box.tail === mine) box.tail = null;
      this.release(runId);
    }
  }

  #box(runId: string): Box {
    const known = this.#boxes.get(runId);
    if (known) return known;
    const box: Box = { state: null, users: 0, tail: null };
    this.#boxes.set(runId, box);
    return box;
  }
}

function lossesAtEnd({ log }: StoredRun): number {
  const telling = log.filter(({ kind }) => kind !== "STALLED");
  return telling.length - 1 - telling.findLastIndex(({ kind }) => kind !== "LEASE_LOST");
}
