/**
 * Owns the runs in memory: their folded state, and the order of everything that is done to one run. Commits go through
 * it, so that what is in memory is what was stored; all of it may be lost at any moment, since the store has the truth.
 */
import { applyRow, foldRun, isEnded, type RunState, type StepMeta } from "@holdfast/engine";
import {
  type CommitOutcome,
  type LogRow,
  movesOn,
  type NewJob,
  type Store,
  type StoredRun,
  type Transition,
} from "@holdfast/store";

import type { DatabaseTime } from "./database-time.ts";

import { FunctionCounts } from "./function-counts.ts";
import { Notices } from "./notices.ts";
import { ParkedRuns } from "./parked-runs.ts";
import { RunReads } from "./run-reads.ts";
import { Spans } from "./spans.ts";

interface CachedRun {
  state: RunState | null;
  users: number;
  /** The last task queued for the run. */
  tail: Promise<unknown> | null;
  /** What was read at an earlier mark may lack rows. */
  outdated: number;
  /** Writes to its log that are under way here, and the `seq` of those that were stored since one was. */
  writing: number;
  stored: number[];
}

/** Of a decision: what is written under the version of the state that it was made on. */
export type DecidedTransition = Omit<Transition, "runId" | "cas" | "seen">;
/** Rows beside whatever is decided at the same time. */
export interface AddedRows extends Pick<Transition, "fence" | "log"> {
  /**
   * Who fails the run at the same time must find them: the version rises, whatever it is, unless the log has them all.
   */
  readonly raisesVersion: boolean;
  /** By the place of a row, where it is known without its text: what it says of its step. */
  readonly metas?: readonly (StepMeta | undefined)[];
}

export interface CommitResult {
  readonly outcome: CommitOutcome;
  /** As it is stored, if the decision was: a request that is made of it lacks no finished step. */
  readonly state: RunState;
}

/** Of rows that were added: what became of them; null: it is not known, for this error. */
export type Ended = (outcome: CommitOutcome | null, error?: unknown) => void;

interface Observers {
  readonly counts: FunctionCounts;
  readonly notices: Notices;
  readonly spans: Spans;
}

/**
 * The runs that this gateway is busy with: their state, and one mailbox each, so that decisions on a run are made one
 * after the other. A state is kept while someone uses the run, and for a while after that. All that is written to a
 * run's state is written here:
 *
 * CACHE-1. The cached state is the stored one, or older; what was not stored is never in it. If it is older, the
 *     compare-and-set of the next decision fails.
 * CACHE-2. A decision that lost, and what may or may not have been stored, leave no state behind: the next decision
 *     reads the store.
 * CACHE-3. Rows are added to a run without raising its version only by the gateway that dispatched the request and
 *     still has its state (and by claims, which only count losses); rows of steps that can be undone raise the version,
 *     since the gateway that fails the run must have seen them. To have them all, a state read while rows were being
 *     added is not kept: the store may have been read before them.
 * CACHE-4. A write says what its state had seen of the log, and gets what was added since. What this gateway has not
 *     written itself is missing in the state, which then is read again before anything is made of it: a request would
 *     have the worker do finished steps again.
 * CACHE-5. A run that has not ended and that nothing here uses any more is kept as it was, in a bounded store: a state
 *     may be older than the stored one however long it was used, and is found to be by CACHE-1 and CACHE-4. So a timer may
 *     be decided on without a look at the store (docs/decisions/0161).
 */
export class RunCache {
  readonly #store: Store;
  readonly #time: DatabaseTime;
  readonly #counts: FunctionCounts;
  readonly #notices: Notices;
  readonly #spans: Spans;
  readonly #reads: RunReads;
  readonly #runs = new Map<string, CachedRun>();
  readonly #parked = new ParkedRuns<CachedRun>();
  #mark = 0;

  /** `time` gets the times that the store gives for its commits, the observers what they have stored. */
  constructor(store: Store, time: DatabaseTime, observers: Partial<Observers> = {}) {
    this.#store = store;
    this.#time = time;
    this.#counts = observers.counts ?? new FunctionCounts();
    this.#notices = observers.notices ?? new Notices();
    this.#spans = observers.spans ?? new Spans();
    this.#reads = new RunReads(store, () => this.#mark);
  }

  /** Runs that someone here is busy with. */
  get size(): number {
    return this.#runs.size;
  }

  retain(runId: string): void {
    this.#run(runId).users += 1;
  }

  release(runId: string): void {
    const run = this.#runs.get(runId);
    if (!run) return;
    run.users -= 1;
    if (run.users > 0) return;
    this.#runs.delete(runId);
    if (run.state && !isEnded(run.state.status)) this.#parked.put(runId, run);
  }

  /** The cached state, if any. */
  peek(runId: string): RunState | null {
    return this.#runs.get(runId)?.state ?? null;
  }

  /**
   * Whether a run is here that waits for this timer and nothing else: then nothing can have gone on elsewhere, and the
   * timer is decided on without another look at the store. Of other runs this may be behind the store, and a decision
   * that loses costs more than a look.
   */
  readonly waitsForTimer = ({ id, runId }: { readonly id: string; readonly runId: string }): boolean => {
    const state = (this.#runs.get(runId) ?? this.#parked.peek(runId))?.state;
    if (!state) return false;
    let isHere = false;
    for (const job of state.jobs.values()) {
      if (job.id === id) isHere = true;
      else if (movesOn(job)) return false;
    }
    return isHere;
  };

  /** Grows with all that is added or forgotten here; to be noted before the store is read. */
  get mark(): number {
    return this.#mark;
  }

  /**
   * Writes what was decided on `state`. The run must be retained.
   * @throws HoldfastError `STORE_FAILED`; the decision may have been stored
   */
  async commit(state: RunState, transition: DecidedTransition): Promise<CommitResult> {
    const { runId, version, seq: seen } = state;
    const run = this.#beginWrite(runId);
    let outcome: CommitOutcome | null = null;
    let isBehind = false;
    try {
      try {
        outcome = await this.#store.commit({ runId, cas: version, seen, ...transition });
      } finally {
        isBehind = endWrite(run, outcome);
      }
      if (outcome.won) this.#applyStored(state, transition.log, outcome);
      if (outcome.won && !isBehind) return { outcome, state };
      this.forget(runId);
      const stored = outcome.won ? await this.load(runId) : null;
      return { outcome, state: stored ?? state };
    } catch (error) {
      this.forget(runId);
      throw error;
    }
  }

  /**
   * Adds rows to a run that this gateway has given out and has the state of. Every checkpoint comes through here, so what
   * it came to is told by a call: each promise more that waits for the commit is made, kept and collected.
   * @param ended with what became of it, or with the `HoldfastError` `STORE_FAILED`
   */
  add(runId: string, rows: AddedRows, ended: Ended): void {
    const run = this.#beginWrite(runId);
    const fail = (error: unknown): void => {
      this.forget(runId);
      ended(null, error);
    };
    this.#store.commit(transitionOf(runId, rows, run.state?.seq)).then(
      (outcome) => {
        let isWhole: boolean;
        try {
          isWhole = this.#applyAdded(runId, run, rows, outcome);
        } catch (error) {
          return fail(error);
        }
        if (isWhole) return ended(outcome);
        // What we have in memory is behind the store: a request made of it would run a stored step again.
        this.#reload(runId).then(() => ended(outcome), fail);
      },
      (error: unknown) => {
        this.#endAdding(runId, run, null);
        fail(error);
      },
    );
  }

  /** Whether the state here, if there is one, has all that the log has. */
  #applyAdded(runId: string, run: CachedRun, { log, metas }: AddedRows, outcome: CommitOutcome): boolean {
    const isBehind = this.#endAdding(runId, run, outcome);
    if (!outcome.won) return true;
    const state = this.peek(runId);
    if (state) this.#applyStored(state, log, outcome, metas);
    else this.#time.observe(outcome.atMs);
    return !isBehind && !outcome.inserted.includes(false);
  }

  /** What was read meanwhile may lack the rows, whether they were stored or not. */
  #endAdding(runId: string, run: CachedRun, outcome: CommitOutcome | null): boolean {
    const isBehind = endWrite(run, outcome);
    this.#outdate(runId);
    return isBehind;
  }

  /**
   * Adds rows to a run that another gateway has given out: its version rises, so that what they have in memory is found
   * to be old. They were made of `state`.
   * @throws HoldfastError `STORE_FAILED`
   */
  async addElsewhere(state: RunState, rows: Omit<AddedRows, "raisesVersion">): Promise<CommitOutcome> {
    const { runId, seq } = state;
    this.forget(runId);
    const outcome = await this.#store.commit(transitionOf(runId, { ...rows, raisesVersion: true }, seq));
    const spans = outcome.won ? this.#spans.ofCommit(state) : undefined;
    if (!spans || !outcome.won) return outcome;
    for (const [index, row] of rows.log.entries()) if (outcome.inserted[index]) spans.before(row, outcome.atMs);
    return outcome;
  }

  #beginWrite(runId: string): CachedRun {
    const run = this.#run(runId);
    run.writing += 1;
    return run;
  }

  /** Keeps the state of a run that was just made. The run must be retained. */
  keepNew(state: RunState): void {
    this.#run(state.runId).state ??= state;
  }

  /**
   * Keeps what came with a claim, unless a newer state is here, and returns the newer one. With `isWork` a worker is to
   * get it: another gateway may have added rows under the same version until then, so what was read counts for more
   * than what is here. Null: rows were added meanwhile, and more may be on their way, so neither of the two is known to
   * have all; what is read after the claim has. The run must be retained.
   */
  mergeClaimed(stored: StoredRun, mark: number, isWork: boolean): RunState | null {
    const { id, version } = stored.head;
    const { state, outdated } = this.#run(id);
    const isSame = isWork && (state === null || state.version === version);
    if (isSame && outdated > mark) return null;
    if (state === null || isSame || state.version < version) return this.#keep(stored, mark);
    for (const [jobId, losses] of lossesAtEnd(stored)) {
      state.losses.set(jobId, Math.max(state.losses.get(jobId) ?? 0, losses));
    }
    return state;
  }

  /** Forgets the state, and what is being read: the next decision reads it anew. */
  forget(runId: string): void {
    const run = this.#runs.get(runId);
    if (run) run.state = null;
    else this.#parked.take(runId);
    this.#outdate(runId);
  }

  /** All of them: what is here may be ahead of the store. */
  forgetAll(): void {
    this.#parked.clear();
    for (const runId of this.#runs.keys()) this.forget(runId);
  }

  /** The cached state, else the store's; null when there is no such run. The run must be retained. */
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

  /**
   * As `load`, but the store's state where the cached one does not have what `isIn` asks for: it may be older (CACHE-1),
   * and what was stored by another gateway is missing in it.
   */
  async loadWith(runId: string, isIn: (state: RunState) => boolean): Promise<RunState | null> {
    const known = this.peek(runId);
    if (known && !isIn(known)) this.forget(runId);
    return this.load(runId);
  }

  /** Runs `task` when all earlier tasks of this run are done. */
  serial<T>(runId: string, task: () => Promise<T>): Promise<T> {
    const run = this.#run(runId);
    run.users += 1;
    const mine = run.tail === null ? task() : run.tail.then(task, task);
    run.tail = mine;
    const over = (): void => {
      if (run.tail === mine) run.tail = null;
      this.release(runId);
    };
    mine.then(over, over);
    return mine;
  }

  #keep(stored: StoredRun, mark: number): RunState {
    const run = this.#run(stored.head.id);
    const state = foldRun(stored);
    if (run.outdated <= mark) run.state = state;
    return state;
  }

  #applyStored(
    state: RunState,
    log: readonly LogRow[],
    outcome: Extract<CommitOutcome, { won: true }>,
    metas: AddedRows["metas"] = [],
  ): void {
    const { inserted, version, atMs, seq } = outcome;
    this.#time.observe(atMs);
    state.seq = Math.max(state.seq, seq ?? 0);
    const spans = this.#spans.ofCommit(state);
    for (const [index, row] of log.entries()) {
      if (!inserted[index]) continue;
      spans?.before(row, atMs);
      applyRow(state, row, atMs, metas[index]);
      this.#counts.stored(state, row.kind, atMs);
      this.#notices.stored(state, row, atMs);
    }
    spans?.after(atMs);
    // A higher one is of decisions that this state does not have.
    if (version === state.version + 1) state.version = version;
  }

  /** What is being read of the run may lack rows: some were added here, or may have been, without a new version. */
  #outdate(runId: string): void {
    this.#mark += 1;
    const run = this.#runs.get(runId);
    if (run) run.outdated = this.#mark;
  }

  async #reload(runId: string): Promise<void> {
    this.forget(runId);
    this.retain(runId);
    try {
      await this.load(runId);
    } finally {
      this.release(runId);
    }
  }

  #run(runId: string): CachedRun {
    const known = this.#runs.get(runId);
    if (known) return known;
    const parked = this.#parked.take(runId);
    const run = parked ?? { state: null, users: 0, tail: null, outdated: 0, writing: 0, stored: [] };
    this.#runs.set(runId, run);
    return run;
  }
}

/** Whether the log has rows that the state in memory does not have. Null: what became of the write is not known. */
function endWrite(run: CachedRun, outcome: CommitOutcome | null): boolean {
  let isBehind = false;
  if (outcome?.won) {
    const { newer, seq } = outcome;
    if (seq !== null) run.stored.push(seq);
    isBehind = newer === null || newer.some((row) => !run.stored.includes(row));
  }
  run.writing -= 1;
  if (run.writing === 0 && run.stored.length > 0) run.stored = [];
  return isBehind;
}

function transitionOf(runId: string, { fence, log, raisesVersion }: AddedRows, seen: number | undefined): Transition {
  const [removeJobs, addJobs] = [NO_IDS, NO_JOBS];
  // By name, where it is a checkpoint: `docs/decisions/0148`.
  if (!raisesVersion && seen !== undefined) return { runId, fence, cas: null, log, seen, removeJobs, addJobs };
  const version = raisesVersion ? LIVE : UNVERSIONED;
  return { runId, fence, log, removeJobs, addJobs, ...version, ...(seen === undefined ? {} : { seen }) };
}

const NO_IDS: readonly string[] = [];
const NO_JOBS: readonly NewJob[] = [];

const LIVE = { cas: "live", head: { status: "RUNNING" } } as const;
const UNVERSIONED = { cas: null } as const;

function lossesAtEnd({ log }: StoredRun): Map<string, number> {
  const losses = new Map<string, number>();
  for (const { kind, key } of log.toReversed()) {
    if (kind === "LEASE_LOST") losses.set(key, (losses.get(key) ?? 0) + 1);
    else if (kind !== "STALLED") break;
  }
  return losses;
}
