import type { Store, StoredRun } from "../store/index.ts";
import { foldRun } from "./run/fold.ts";
import type { RunState } from "./run/run-state.ts";
import { RunReads } from "./run-reads.ts";

interface Box {
  state: RunState | null;
  users: number;
  /** The last task queued for the run. */
  tail: Promise<unknown> | null;
  /** The mark at which rows were last added to it without a new version. */
  added: number;
}

/**
 * The runs that this gateway is busy with: their state, and one mailbox each, so that decisions on a run are made one
 * after the other. A state is kept while somebody uses the run. It may be behind the store; then the compare-and-set of
 * the next decision says so. What makes that safe: rows are added to a run without raising its version only by the
 * gateway that dispatched the request and still has its state (and by claims, which only count losses); what a run would
 * undo raises the version, since whoever fails the run must have seen it. So that it has
 * them all, what was read while it added some is not kept: the store may have been read before them.
 */
export class Runs {
  readonly #reads: RunReads;
  readonly #boxes = new Map<string, Box>();
  #mark = 0;

  constructor(store: Store) {
    this.#reads = new RunReads(store, () => this.#mark);
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

  /** Grows with all that is added here; to be noted before the store is read. */
  get mark(): number {
    return this.#mark;
  }

  /** This gateway has added rows to the run, or may have, without raising its version. */
  added(runId: string): void {
    this.#mark += 1;
    const box = this.#boxes.get(runId);
    if (box) box.added = this.#mark;
  }

  /** Keeps the state of a run that was just made. The run must be retained. */
  start(state: RunState): void {
    this.#box(state.runId).state ??= state;
  }

  /**
   * Keeps what came with a claim, unless a newer state is here, and returns the newer one. With `isWork` an agent is to
   * get it: another gateway may have added rows under the same version until then, so what was read counts for more than
   * what is here. Null: rows were added meanwhile, and more may be on their way, so neither of the two is known to have all;
   * what is read after the claim has. The run must be retained.
   */
  offer(stored: StoredRun, mark: number, isWork: boolean): RunState | null {
    const { id, version } = stored.head;
    const { state, added } = this.#box(id);
    const isSame = isWork && state?.version === version;
    if (isSame && added > mark) return null;
    if (state === null || isSame || state.version < version) return this.#keep(stored, mark);
    for (const [jobId, losses] of lossesAtEnd(stored)) {
      state.losses.set(jobId, Math.max(state.losses.get(jobId) ?? 0, losses));
    }
    return state;
  }

  /** Forgets the state: the next decision reads it anew. */
  forget(runId: string): void {
    const box = this.#boxes.get(runId);
    if (box) box.state = null;
  }

  /** The state at hand, else the store's; null when there is no such run. The run must be retained. */
  async load(runId: string): Promise<RunState | null> {
    for (;;) {
      const known = this.peek(runId);
      if (known) return known;
      const { stored, mark } = await this.#reads.read(runId);
      if (!stored) return null;
      // Again at most for what was under way: as long as no state is here, rows come with a new version.
      if (!this.peek(runId)) this.#keep(stored, mark);
    }
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

  #keep(stored: StoredRun, mark: number): RunState {
    const box = this.#box(stored.head.id);
    const state = foldRun(stored);
    if (box.added <= mark) box.state = state;
    return state;
  }

  #box(runId: string): Box {
    const known = this.#boxes.get(runId);
    if (known) return known;
    const box: Box = { state: null, users: 0, tail: null, added: 0 };
    this.#boxes.set(runId, box);
    return box;
  }
}

function lossesAtEnd({ log }: StoredRun): Map<string, number> {
  const losses = new Map<string, number>();
  for (const { kind, key } of log.toReversed()) {
    if (kind === "LEASE_LOST") losses.set(key, (losses.get(key) ?? 0) + 1);
    else if (kind !== "STALLED") break;
  }
  return losses;
}
